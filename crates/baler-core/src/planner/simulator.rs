//! A partition whose merges cost nothing: inputs are replaced by evenly cut outputs that do not overlap. Keys are
//! numbers.

use std::collections::BTreeSet;
use std::fmt;

use super::time_window::{Window, window_of};
use super::{PartitionView, Proposal, SMALL_BELOW_TARGET_OVER};
use crate::file::{File, FilePath, Identity, KeyRange, Level, Origin};
use crate::ids::{JobId, Sequence};
use crate::table::{MergeSpec, Rule, SortColumn, TimeWindow};
use crate::time::{StoreTime, TimeRange};

/// Keys are below this. What is merged with a file of unknown keys may come out anywhere below it.
pub(super) const KEY_END: u64 = 1_000;

#[derive(Clone)]
pub(super) struct World {
    pub(super) files: Vec<File>,
    /// Files that are live but may not be taken.
    pub(super) busy: Vec<File>,
    pub(super) merge: MergeSpec,
    pub(super) now: StoreTime,
    /// What a merge leaves of its bytes: less than all where a keyed rule drops rows.
    pub(super) kept_percent: u64,
    /// Whether merges do badly: outputs come out small, and all that is known of their keys is where the inputs lay.
    pub(super) sloppy: bool,
    /// Set where files are merged only within windows of their rows' times.
    pub(super) windows: Option<TimeWindow>,
    pub(super) bytes_rewritten: u64,
    pub(super) jobs_run: u64,
}

impl World {
    pub(super) fn new(merge: MergeSpec, files: Vec<File>) -> Self {
        Self {
            files,
            busy: Vec::new(),
            merge,
            now: StoreTime::default(),
            kept_percent: 100,
            sloppy: false,
            windows: None,
            bytes_rewritten: 0,
            jobs_run: 0,
        }
    }

    pub(super) fn view(&self) -> PartitionView<'_> {
        PartitionView {
            files: self.files.iter().collect(),
            busy: self.busy.iter().collect(),
            merge: &self.merge,
            now: self.now,
        }
    }

    /// Free and busy files.
    pub(super) fn live(&self) -> impl Iterator<Item = &File> {
        self.files.iter().chain(&self.busy)
    }

    pub(super) fn file(&self, path: &FilePath) -> Option<&File> {
        self.files.iter().find(|file| file.path == *path)
    }

    pub(super) fn is_sorted(&self) -> bool {
        !self.merge.sort.is_empty()
    }

    pub(super) fn is_small(&self, file: &File) -> bool {
        file.bytes() < self.merge.target_bytes.div_ceil(SMALL_BELOW_TARGET_OVER)
    }

    /// Whether both may hold keys that have to be brought into one order.
    pub(super) fn overlap(&self, a: &File, b: &File) -> bool {
        if !self.is_sorted() || self.window_of(a) != self.window_of(b) {
            return false;
        }
        let (Some(a), Some(b)) = (range(a), range(b)) else {
            return true;
        };
        match self.merge.is_keyed() {
            true => a.0 <= b.1 && b.0 <= a.1,
            false => a.0 < b.1 && b.0 < a.1,
        }
    }

    /// The group that a file is merged within.
    pub(super) fn window_of(&self, file: &File) -> Window {
        self.windows
            .as_ref()
            .and_then(|settings| window_of(file, settings.window))
    }

    /// Carries out a job and returns what it made.
    pub(super) fn run(&mut self, job: &Proposal) -> Vec<File> {
        self.jobs_run += 1;
        let inputs: BTreeSet<&FilePath> = job.inputs.iter().collect();
        let (taken, left): (Vec<File>, Vec<File>) = std::mem::take(&mut self.files)
            .into_iter()
            .partition(|file| inputs.contains(&file.path));
        let outputs = self.merged(&taken, job.output_level);
        self.files = left;
        self.files.extend(outputs.iter().cloned());
        outputs
    }

    fn merged(&mut self, inputs: &[File], level: Level) -> Vec<File> {
        let bytes_in: u64 = inputs.iter().map(File::bytes).sum();
        self.bytes_rewritten += bytes_in;
        let bytes = (bytes_in * self.kept_percent / 100).max(1);
        let known: Option<Vec<(u64, u64)>> = inputs.iter().map(range).collect();
        let (lo, hi) = known.map_or((0, KEY_END), |ranges| {
            let lo = ranges.iter().map(|range| range.0).min().unwrap_or(0);
            (lo, ranges.iter().map(|range| range.1).max().unwrap_or(0))
        });
        let times = times(inputs);
        let mut count = bytes.div_ceil(self.merge.target_bytes);
        if self.sloppy {
            count *= 3;
        } else if self.merge.is_keyed() {
            count = count.min(hi - lo + 1);
        }
        let piece = |at: u64| {
            let edge = |at: u64| match self.merge.is_keyed() {
                true => lo + (hi + 1 - lo) * at / count,
                false => lo + (hi - lo) * at / count,
            };
            match self.sloppy {
                true => (lo, hi),
                false => (edge(at), edge(at + 1) - u64::from(self.merge.is_keyed())),
            }
        };
        let output = |at: u64| File {
            level,
            times,
            origin: Origin::Job(JobId(self.jobs_run)),
            added: Sequence(1_000 + self.jobs_run),
            identity: Identity {
                tag: "".into(),
                bytes: bytes * (at + 1) / count - bytes * at / count,
                modified: self.now,
            },
            ..file(&format!("job-{:04}-{at:04}", self.jobs_run), 0, Some(piece(at)))
        };
        (0..count).map(output).collect()
    }
}

impl fmt::Debug for World {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&super::text::show_world(self))
    }
}

/// A file at level 0.
pub(super) fn file(name: &str, bytes: u64, keys: Option<(u64, u64)>) -> File {
    let identity = Identity {
        tag: "".into(),
        bytes,
        modified: StoreTime::default(),
    };
    File {
        partition: "".into(),
        keys: keys.map(|(min, max)| KeyRange {
            min: min.to_be_bytes().into(),
            max: max.to_be_bytes().into(),
        }),
        added: Sequence(1),
        ..File::found(FilePath::in_root(name), identity, bytes)
    }
}

/// What spans the rows of all of them.
pub(super) fn times(files: &[File]) -> Option<TimeRange> {
    let all: Option<Vec<TimeRange>> = files.iter().map(|file| file.times).collect();
    let all = all?;
    Some(TimeRange {
        min: all.iter().map(|times| times.min).min()?,
        max: all.iter().map(|times| times.max).max()?,
    })
}

/// A file's keys as numbers.
pub(super) fn range(file: &File) -> Option<(u64, u64)> {
    let number = |key: &[u8]| u64::from_be_bytes(key.try_into().expect("a key of the simulator"));
    file.keys
        .as_ref()
        .map(|keys| (number(&keys.min), number(&keys.max)))
}

pub(super) const TARGET_BYTES: u64 = 100;

pub(super) fn unsorted() -> MergeSpec {
    MergeSpec {
        target_bytes: TARGET_BYTES,
        ..MergeSpec::default()
    }
}

pub(super) fn sorted() -> MergeSpec {
    let column = SortColumn {
        name: "k".into(),
        descending: false,
        nulls_first: false,
    };
    MergeSpec {
        sort: vec![column],
        ..unsorted()
    }
}

pub(super) fn keyed() -> MergeSpec {
    MergeSpec {
        rule: Rule::LastWriteWins {
            key: vec!["k".into()],
            version: "v".into(),
        },
        ..sorted()
    }
}
