//! What is fed with bytes that nobody made sense of: one function for each door through which strangers' bytes come in. None may
//! panic, hang, or take more memory than its input is worth; what is accepted must mean the same when it is written and read again.
//!
//! The functions are here and nowhere else. `fuzz/` hands them to libFuzzer, `drive` mutates the corpus by itself, and the tests
//! of this crate run them over what lies in `fuzz/corpus`.

mod api;
mod drive;
mod journal;
mod names;
mod parquet;
pub mod words_about_a_job;

pub use api::api;
pub use drive::{Driven, drive, files_of};
pub use journal::{journal, snapshot};
pub use names::names;
pub use parquet::parquet;

/// A door.
#[derive(Clone, Copy, Debug)]
pub struct Target {
    /// Its name, and that of its folder in the corpus.
    pub name: &'static str,
    /// What comes through it.
    pub run: fn(&[u8]),
}

/// All of them.
pub const TARGETS: [Target; 5] = [
    Target {
        name: "journal",
        run: journal,
    },
    Target {
        name: "snapshot",
        run: snapshot,
    },
    Target {
        name: "parquet",
        run: parquet,
    },
    Target {
        name: "names",
        run: names,
    },
    Target {
        name: "api",
        run: api,
    },
];
