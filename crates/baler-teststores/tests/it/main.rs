//! The journal on real stores, and on stores that misbehave through a real client.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod conformance;
mod fault_matrix;
mod kills;
mod probe;
mod servers;
mod sites;
mod synthetic;
