//! Laws of the merge order, each against a naive reference.

mod figures;
mod keys;
mod merges;
mod ranges;
mod values;
mod verifier;
