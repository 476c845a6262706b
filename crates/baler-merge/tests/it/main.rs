//! Stories about merging, through the public functions only.

mod digests;
mod hostile;
mod last_write_wins;
mod order;
mod outputs;
mod peak;
mod random;
mod schemas;
mod support;
mod types;
