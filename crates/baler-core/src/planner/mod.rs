//! Which files are merged, and why the others are not. One pure method a policy; the laws that all of them obey are
//! in `laws`.

mod leveled;
mod owner;
mod size_tiered;
mod time_window;

mod parts;

mod company;
mod overlap;
mod weights;

mod draft;
mod heaviest;
mod span;
mod untaken;

#[cfg(test)]
mod laws;
#[cfg(test)]
mod leveled_tests;
#[cfg(test)]
mod naive;
#[cfg(test)]
mod scenarios;
#[cfg(test)]
mod simulator;
#[cfg(test)]
mod size_tiered_tests;
#[cfg(test)]
mod standing;
#[cfg(test)]
mod text;
#[cfg(test)]
mod time_window_tests;
#[cfg(test)]
mod worlds;

pub use leveled::LeveledPolicy;
pub use owner::OwnerPolicy;
pub use size_tiered::SizeTieredPolicy;
pub use time_window::TimeWindowPolicy;

use std::fmt;

use crate::file::{File, FilePath, Level};
use crate::job::Why;
use crate::table::{MergeSpec, Policy as PolicySpec, TableSpec};
use crate::time::{Millis, StoreTime};

/// A file is small while it is below the target size divided by this. Outputs of one merge that are cut evenly are
/// never below, so what a merge makes is not small again, but for the last and only one.
pub const SMALL_BELOW_TARGET_OVER: u64 = 2;

/// Raised whenever a policy begins to choose what it did not choose before: what an older planner found at rest is
/// then looked at again.
pub const VERSION: u32 = 1;

/// A partition as a policy sees it.
#[derive(Clone, Debug)]
pub struct PartitionView<'a> {
    /// The files that may be taken.
    pub files: Vec<&'a File>,
    /// Files that are live and will be free again: inputs of open jobs, outputs being published. They are in no
    /// job, and none is planned across their keys. Quarantined files are in neither list, as they may never come
    /// back and would hold up their neighbours.
    pub busy: Vec<&'a File>,
    /// How they would be merged.
    pub merge: &'a MergeSpec,
    /// The present on the store's clock, as far as it is known.
    pub now: StoreTime,
}

/// A policy: one pure decision.
pub trait Policy {
    /// Jobs for this partition, and a verdict on every file of it. See `laws` for what must hold.
    fn choose(&self, view: &PartitionView<'_>) -> Choice;

    /// When a partition of which nothing was chosen has to be looked at again, if nothing but time passes. `None` if
    /// time alone changes nothing.
    fn due(&self, view: &PartitionView<'_>, choice: &Choice) -> Option<StoreTime>;
}

/// What a policy wants.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Choice {
    /// Jobs, the most urgent first. No file is in two of them.
    pub jobs: Vec<Proposal>,
    /// For each of `PartitionView::files`, in its order: what becomes of it.
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
    /// Small; merged once so many small files lie together, or when it is old enough.
    WaitsForCompany {
        /// How many there are.
        files: u32,
        /// How many it takes.
        wanted: u32,
    },
    /// Merged once there are so many files of about its size, or when it is old enough.
    WaitsForTier {
        /// How many there are.
        files: u32,
        /// How many it takes.
        wanted: u32,
    },
    /// To be merged, but the others bring so few bytes that rewriting the large ones is not worth it yet.
    WaitsForWeight {
        /// Bytes that would be rewritten.
        rewritten: u64,
        /// Bytes that the others must bring for that.
        wanted: u64,
    },
    /// To be merged with what the jobs of this choice leave: together it is more than a job may hold.
    WaitsForTurn,
    /// To be merged with files of other sizes that it lies among, once it is old enough.
    WaitsForAge,
    /// Its window of time is not closed yet.
    WaitsForWindow {
        /// It is closed after this.
        until: StoreTime,
    },
    /// To be merged with files that are busy now.
    WaitsForBusy,
    /// It failed together with another file: the two share no job, and at most one of them is taken at a time.
    KeptApart,
    /// The table's owner has a policy of his own, which is asked elsewhere.
    LeftToOwner,
    /// It has been merged with all that it could be merged with: merging again would change nothing.
    MergedBefore,
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Chosen { job } => write!(f, "chosen for job {}", job + 1),
            Self::Healthy => f.write_str("healthy: large enough and overlapping nothing"),
            Self::Alone => f.write_str("small, but with no neighbour to be merged with"),
            Self::WaitsForCompany { files, wanted } => {
                write!(f, "waits for company: {files} of {wanted} small files")
            }
            Self::WaitsForTier { files, wanted } => {
                write!(f, "waits for company: {files} of {wanted} files of its size")
            }
            Self::WaitsForWeight { rewritten, wanted } => {
                write!(
                    f,
                    "waits: {rewritten} bytes would be rewritten, worth it from {wanted} new bytes on"
                )
            }
            Self::WaitsForTurn => {
                f.write_str("waits for its turn: together with these jobs it would be too large")
            }
            Self::WaitsForAge => {
                f.write_str("waits: it lies among files of other sizes, until it is old enough")
            }
            Self::WaitsForWindow { until } => {
                write!(f, "waits until its window closes, at {} ms", until.unix_ms)
            }
            Self::WaitsForBusy => f.write_str("waits for files that are being merged now"),
            Self::KeptApart => f.write_str("kept apart from a file that it failed together with"),
            Self::LeftToOwner => f.write_str("left to the policy of the table's owner"),
            Self::MergedBefore => f.write_str("merged before with all that it could be merged with"),
        }
    }
}

/// Runs the table's policy.
pub fn choose(spec: &TableSpec, view: &PartitionView<'_>) -> Choice {
    policy(spec).choose(view)
}

/// When the table's policy wants to look again at a partition of which it chose nothing.
pub fn due(spec: &TableSpec, view: &PartitionView<'_>, choice: &Choice) -> Option<StoreTime> {
    policy(spec).due(view, choice)
}

fn policy(spec: &TableSpec) -> Box<dyn Policy + '_> {
    match &spec.policy {
        PolicySpec::Leveled(settings) => Box::new(LeveledPolicy::new(settings)),
        PolicySpec::SizeTiered(settings) => Box::new(SizeTieredPolicy::new(settings)),
        PolicySpec::TimeWindow(settings) => Box::new(TimeWindowPolicy::new(settings)),
        PolicySpec::Owner => Box::new(OwnerPolicy),
    }
}

/// When the next of the files that wait for something has reached this age. Being alone is no waiting, unless others
/// wait: a file may be alone because a heavier neighbour is left out, or one that it takes turns with.
fn next_age(view: &PartitionView<'_>, choice: &Choice, age: Millis) -> Option<StoreTime> {
    let waits = |verdict: &Verdict| {
        !matches!(
            verdict,
            Verdict::Chosen { .. } | Verdict::Healthy | Verdict::Alone | Verdict::WaitsForWindow { .. }
        )
    };
    let any_waits = choice.verdicts.iter().any(waits);
    let files = view.files.iter().zip(&choice.verdicts);
    files
        .filter(|(_, verdict)| waits(verdict) || (any_waits && **verdict == Verdict::Alone))
        .map(|(file, _)| file.identity.modified + age)
        .filter(|due| *due > view.now)
        .min()
}
