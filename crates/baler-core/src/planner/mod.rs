//! Which files are merged, and why the others are not. One pure method a policy; the laws that all of them obey are
//! in `laws`.

mod leveled;

pub use leveled::LeveledPolicy;

use std::fmt;

use crate::file::{File, FilePath, Level};
use crate::job::Why;
use crate::table::{MergeSpec, Policy as PolicySpec, TableSpec};
use crate::time::StoreTime;

/// A partition as a policy sees it. Files that are held, quarantined or being published are not in it.
#[derive(Clone, Debug)]
pub struct PartitionView<'a> {
    /// The files that may be taken.
    pub files: Vec<&'a File>,
    /// How they would be merged.
    pub merge: &'a MergeSpec,
    /// The present on the store's clock, as far as it is known.
    pub now: StoreTime,
}

/// A policy: one pure decision.
pub trait Policy {
    /// Jobs for this partition, and a verdict on every file of it. See `laws` for what must hold.
    fn choose(&self, view: &PartitionView<'_>) -> Choice;
}

/// What a policy wants.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Choice {
    /// Jobs, the most urgent first. No file is in two of them.
    pub jobs: Vec<Proposal>,
    /// For each file of the view, in its order: what becomes of it.
    pub verdicts: Vec<Verdict>,
}

/// A job that a policy wants.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Proposal {
    /// What to merge, oldest first.
    pub inputs: Vec<FilePath>,
    /// The level of the outputs.
    pub output_level: Level,
    /// Why.
    pub why: Why,
}

/// What becomes of a file, and why.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It is in job number so-and-so of the choice.
    Chosen {
        /// Position in `Choice::jobs`.
        job: usize,
    },
    /// Large enough, and overlapping nothing: at rest.
    Healthy,
    /// Small, but with no neighbour it could be merged with so that fewer files result.
    Alone,
    /// Small; merged once its level has this many small files, or when it is old enough.
    WaitsForCompany {
        /// How many there are.
        files: u32,
        /// How many it takes.
        wanted: u32,
    },
    /// Overlapping others, but so few bytes that rewriting what it overlaps is not worth it yet.
    WaitsForWeight {
        /// Bytes that would be rewritten.
        rewritten: u64,
        /// Bytes that the lower level must have for that.
        wanted: u64,
    },
    /// A job of it would be larger than jobs may be.
    TooLarge,
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Chosen { job } => write!(f, "chosen for job {}", job + 1),
            Self::Healthy => f.write_str("healthy: large enough and overlapping nothing"),
            Self::Alone => f.write_str("small, but with no neighbour to be merged with"),
            Self::WaitsForCompany { files, wanted } => {
                write!(
                    f,
                    "waits for company: {files} of {wanted} small files of its level"
                )
            }
            Self::WaitsForWeight { rewritten, wanted } => {
                write!(
                    f,
                    "waits: {rewritten} bytes would be rewritten, worth it from {wanted} new bytes on"
                )
            }
            Self::TooLarge => f.write_str("too large for a job"),
        }
    }
}

/// Runs the table's policy.
pub fn choose(spec: &TableSpec, view: &PartitionView<'_>) -> Choice {
    match &spec.policy {
        PolicySpec::Leveled(settings) => LeveledPolicy::new(settings).choose(view),
    }
}
