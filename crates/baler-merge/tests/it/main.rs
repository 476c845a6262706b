//! Stories about merging, through the public functions only.

#![expect(
    clippy::unwrap_used,
    clippy::needless_pass_by_value,
    reason = "a test that cannot go on should stop"
)]

mod digests;
mod hostile;
mod last_write_wins;
mod order;
mod outputs;
mod peak;
mod random;
mod reads;
mod schemas;
mod support;
mod times;
mod tombstones;
mod types;
