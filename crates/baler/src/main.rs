//! The `baler` binary.
fn main() {}
