//! Every door, over what lies in the corpus and over mutations of it.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

mod corpus;
mod seeds;
