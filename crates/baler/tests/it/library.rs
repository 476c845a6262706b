//! Baler inside another program: each shape of a deployment, and a store with a format and a manifest of its own.

mod catalogs;
mod memory;
mod own_format;
mod resume;
mod shapes;
mod tombstones;
mod wire;

/// The store of the example, as it is there.
#[path = "../../examples/own_format/format.rs"]
mod format;
#[path = "../../examples/own_format/manifest.rs"]
mod manifest;
#[path = "../../examples/own_format/store.rs"]
mod store;
