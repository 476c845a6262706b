//! Stories about merging, through the public functions only.

#![expect(
    clippy::unwrap_used,
    clippy::needless_pass_by_value,
    reason = "a test that cannot go on should stop"
)]

mod any_inputs;
mod claims;
mod columns;
mod crafted;
mod digests;
mod every_type;
mod hostile;
mod kept;
mod killers;
mod last_write_wins;
mod naive;
mod order;
mod outputs;
mod peak;
mod random;
mod ranges;
mod reads;
mod schemas;
mod stretches;
mod support;
mod times;
mod tombstones;
mod types;
mod writers;
