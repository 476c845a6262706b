//! Stories of the binary, told through its front door: a folder goes in, a command runs, a folder comes out.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod support;

#[cfg(feature = "cloud")]
mod buckets;
#[cfg(feature = "http")]
mod caching;
mod command_line;
mod compaction;
#[cfg(feature = "http")]
mod copied;
#[cfg(feature = "http")]
mod damage;
#[cfg(feature = "http")]
mod fleet;
#[cfg(feature = "http")]
mod hostile;
#[cfg(feature = "http")]
mod isolation;
mod keys;
mod kills;
mod ledger;
mod levels;
#[cfg(feature = "http")]
mod library;
mod memory;
#[cfg(feature = "http")]
mod model;
mod native;
mod odd_files;
mod receipts;
mod refusals;
#[cfg(feature = "cloud")]
mod stores;
mod takeover;
mod ways;
