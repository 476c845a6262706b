//! A policy of the owner's: which files are merged.

use std::fmt;
use std::sync::Arc;

use baler_core::file::{FilePath, Level};
use baler_core::planner::PartitionView;

/// Chooses which files of a table are merged. It should depend on what it is shown and on nothing else: several processes may ask
/// theirs, and what one wants that another has begun already is refused and forgotten. What it says is held to the state
/// at the moment it is decided, so a policy that is wrong costs a merge, and no row.
pub trait Policy: fmt::Debug + Send + Sync {
    /// Jobs for a partition, the most urgent first. `files` may be taken; `busy` ones are in jobs now.
    fn choose(&self, view: &PartitionView<'_>) -> Vec<Wanted>;
}

/// A job that a policy wants.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wanted {
    /// What to merge, oldest first.
    pub inputs: Vec<FilePath>,
    /// The level of the outputs.
    pub output_level: Level,
    /// Why, in words.
    pub reason: Arc<str>,
}
