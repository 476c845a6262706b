//! A choice in the making: which files are taken, what became of the others, and the bounds of a job.

use super::span::by_age;
use super::{Choice, PartitionView, Proposal, SMALL_BELOW_TARGET_OVER, Verdict};
use crate::file::{File, Level, Origin};
use crate::job::Why;
use crate::limits::{JOB_INPUTS_MAX, JOB_TARGETS_MAX, LEVEL_MAX};
use crate::table::Leveled;
use crate::time::StoreTime;

/// A choice in the making. Files are named by their position in `PartitionView::files`.
pub(super) struct Draft<'a> {
    pub(super) settings: &'a Leveled,
    files: &'a [&'a File],
    target_bytes: u64,
    now: StoreTime,
    verdicts: Vec<Option<Verdict>>,
    jobs: Vec<(Vec<u32>, Why)>,
}

impl<'a> Draft<'a> {
    pub(super) fn new(settings: &'a Leveled, view: &'a PartitionView<'_>) -> Self {
        Self {
            settings,
            files: &view.files,
            target_bytes: view.merge.target_bytes.max(1),
            now: view.now,
            verdicts: vec![None; view.files.len()],
            jobs: Vec::new(),
        }
    }

    pub(super) fn file(&self, at: u32) -> &'a File {
        self.files[at as usize]
    }

    pub(super) fn bytes(&self, at: u32) -> u64 {
        self.file(at).bytes()
    }

    /// Whether Baler wrote it: what it did not write costs nothing to rewrite for the first time.
    pub(super) fn is_rewritten(&self, at: u32) -> bool {
        self.file(at).level > Level(0)
    }

    pub(super) fn is_small(&self, at: u32) -> bool {
        self.bytes(at) < self.target_bytes.div_ceil(SMALL_BELOW_TARGET_OVER)
    }

    pub(super) fn is_old(&self, at: u32) -> bool {
        self.now.since(self.file(at).identity.modified) >= self.settings.age
    }

    pub(super) fn is_taken(&self, at: u32) -> bool {
        matches!(self.verdicts[at as usize], Some(Verdict::Chosen { .. }))
    }

    /// Whether it has been said what becomes of a file.
    pub(super) fn is_decided(&self, at: u32) -> bool {
        self.verdicts[at as usize].is_some()
    }

    /// Positions behind the view's files are those of busy ones.
    pub(super) fn is_busy(&self, at: u32) -> bool {
        at as usize >= self.files.len()
    }

    /// Whether it may be taken: it is neither busy nor kept apart.
    pub(super) fn is_free(&self, at: u32) -> bool {
        !self.is_busy(at) && self.verdicts[at as usize] != Some(Verdict::KeptApart)
    }

    pub(super) fn jobs(&self) -> usize {
        self.jobs.len()
    }

    /// Whether one job may hold so much. Two files always fit, however large: less cannot be merged, and leaving
    /// them would mean that a table of files beyond the bound is never sorted. Memory does not depend on it.
    pub(super) fn fits(&self, files: usize, bytes: u64) -> bool {
        let bytes_max = self.target_bytes.saturating_mul(JOB_TARGETS_MAX);
        files <= 2 || (files <= JOB_INPUTS_MAX && bytes <= bytes_max)
    }

    /// Whether `light` bytes are worth that `heavy` bytes are rewritten for them.
    pub(super) fn is_worth(&self, heavy: u64, light: u64) -> bool {
        u128::from(heavy) <= u128::from(light) * u128::from(self.settings.fan_out)
    }

    /// Whether merging these leaves fewer files.
    pub(super) fn lowers_count(&self, files: usize, bytes: u64) -> bool {
        bytes.div_ceil(self.target_bytes).max(1) < files as u64
    }

    /// Whether merging these would give the same again: they came out of one merge, or have all been through as
    /// many as there are levels. That is so when outputs come out smaller than was aimed at, or when keys differ only
    /// beyond what bounds hold. Every other job lifts some file by a level; so planning ends, whatever merges make.
    /// The old ones of the second kind are tried once more, as their outputs are young.
    pub(super) fn is_merged_before(&self, files: impl Iterator<Item = u32> + Clone) -> bool {
        let mut origins = files.clone().map(|at| self.file(at).origin);
        let first = origins.next();
        let by_one_job = matches!(first, Some(Origin::Job(_))) && origins.all(|origin| Some(origin) == first);
        by_one_job || self.are_young_at_the_top(files)
    }

    fn are_young_at_the_top(&self, mut files: impl Iterator<Item = u32>) -> bool {
        files.all(|at| self.file(at).level >= Level(LEVEL_MAX) && !self.is_old(at))
    }

    /// Says what becomes of a file, unless that has been said.
    pub(super) fn say(&mut self, at: u32, verdict: Verdict) {
        self.verdicts[at as usize].get_or_insert(verdict);
    }

    pub(super) fn take(&mut self, inputs: Vec<u32>, why: Why) {
        let job = self.jobs.len();
        for &at in &inputs {
            debug_assert!(!self.is_taken(at), "no file is in two jobs");
            self.verdicts[at as usize] = Some(Verdict::Chosen { job });
        }
        self.jobs.push((inputs, why));
    }

    /// The choice: jobs of the lowest level first, then the one with the oldest file.
    pub(super) fn finish(mut self) -> Choice {
        for (inputs, _) in &mut self.jobs {
            inputs.sort_by(|&a, &b| by_age(self.files[a as usize], self.files[b as usize]));
        }
        let mut order: Vec<usize> = (0..self.jobs.len()).collect();
        let lowest = |inputs: &[u32]| inputs.iter().map(|&at| self.file(at).level).min();
        order.sort_by_cached_key(|&job| {
            let inputs = &self.jobs[job].0;
            let oldest = inputs.first().map(|&at| self.file(at));
            (
                lowest(inputs),
                oldest.map(|file| (file.added, file.identity.modified, &file.path)),
            )
        });
        let mut position = vec![0; order.len()];
        for (at, &job) in order.iter().enumerate() {
            position[job] = at;
        }
        Choice {
            jobs: order.iter().map(|&job| self.proposal(&self.jobs[job])).collect(),
            verdicts: self
                .verdicts
                .iter()
                .map(|verdict| placed(*verdict, &position))
                .collect(),
        }
    }

    fn proposal(&self, (inputs, why): &(Vec<u32>, Why)) -> Proposal {
        Proposal {
            inputs: inputs.iter().map(|&at| self.file(at).path.clone()).collect(),
            output_level: self.output_level(inputs),
            why: why.clone(),
        }
    }

    /// One up, unless the inputs of the top level outweigh those from below: then they take them in and stay where
    /// they are.
    fn output_level(&self, inputs: &[u32]) -> Level {
        let top = inputs
            .iter()
            .map(|&at| self.file(at).level)
            .max()
            .unwrap_or_default();
        let (mut at_top, mut below) = (0u64, 0u64);
        for &at in inputs {
            let sum = if self.file(at).level == top {
                &mut at_top
            } else {
                &mut below
            };
            *sum = sum.saturating_add(self.bytes(at));
        }
        let has_below = inputs.iter().any(|&at| self.file(at).level < top);
        if has_below && at_top > below {
            top
        } else {
            top.up()
        }
    }
}

fn placed(verdict: Option<Verdict>, position: &[usize]) -> Verdict {
    match verdict.expect("the policy has said what becomes of every file") {
        Verdict::Chosen { job } => Verdict::Chosen { job: position[job] },
        other => other,
    }
}
