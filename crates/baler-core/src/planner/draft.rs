//! A choice in the making: which files are taken, what became of the others, and the bounds of a job.

use super::{Choice, PartitionView, Proposal, SMALL_BELOW_TARGET_OVER, Verdict};
use crate::file::{File, Level, Origin};
use crate::job::Why;
use crate::limits::{JOB_INPUTS_MAX, JOB_TARGETS_MAX, LEVEL_MAX};
use crate::table::Leveled;

/// A choice in the making. Files are named by their position in `PartitionView::files`.
pub(super) struct Draft<'a> {
    pub(super) settings: &'a Leveled,
    files: &'a [&'a File],
    facts: Vec<Facts>,
    target_bytes: u64,
    verdicts: Vec<Option<Verdict>>,
    jobs: Vec<(Vec<u32>, Why)>,
}

/// What is asked of a file again and again, close together in memory.
#[derive(Clone, Copy)]
struct Facts {
    bytes: u64,
    /// Its place among all files of the view, oldest first.
    age_rank: u32,
    level: Level,
    old: bool,
}

impl<'a> Draft<'a> {
    pub(super) fn new(settings: &'a Leveled, view: &'a PartitionView<'_>) -> Self {
        Self {
            settings,
            files: &view.files,
            facts: facts(&view.files, |file| {
                view.now.since(file.identity.modified) >= settings.age
            }),
            target_bytes: view.merge.target_bytes.max(1),
            verdicts: vec![None; view.files.len()],
            jobs: Vec::new(),
        }
    }

    pub(super) fn bytes(&self, at: u32) -> u64 {
        self.facts[at as usize].bytes
    }

    fn level(&self, at: u32) -> Level {
        self.facts[at as usize].level
    }

    /// Sorts by age; busy files count as the youngest.
    pub(super) fn age_rank(&self, at: u32) -> u32 {
        self.facts.get(at as usize).map_or(at, |facts| facts.age_rank)
    }

    /// Whether Baler wrote it: what it did not write costs nothing to rewrite for the first time.
    pub(super) fn is_rewritten(&self, at: u32) -> bool {
        self.level(at) > Level(0)
    }

    pub(super) fn is_small(&self, at: u32) -> bool {
        self.bytes(at) < self.target_bytes.div_ceil(SMALL_BELOW_TARGET_OVER)
    }

    pub(super) fn is_old(&self, at: u32) -> bool {
        self.facts[at as usize].old
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
        u128::from(heavy) <= u128::from(light) * u128::from(self.settings.fan_out.max(1))
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
        let mut origins = files.clone().map(|at| self.files[at as usize].origin);
        let first = origins.next();
        let by_one_job = matches!(first, Some(Origin::Job(_))) && origins.all(|origin| Some(origin) == first);
        by_one_job || self.are_young_at_the_top(files)
    }

    fn are_young_at_the_top(&self, mut files: impl Iterator<Item = u32>) -> bool {
        files.all(|at| self.level(at) >= Level(LEVEL_MAX) && !self.is_old(at))
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
            inputs.sort_unstable_by_key(|&at| self.facts[at as usize].age_rank);
        }
        let urgency = |job: usize| {
            let inputs = &self.jobs[job].0;
            let lowest = inputs.iter().map(|&at| self.level(at)).min();
            (lowest, inputs.first().map(|&at| self.age_rank(at)))
        };
        let mut order: Vec<usize> = (0..self.jobs.len()).collect();
        order.sort_by_cached_key(|&job| urgency(job));
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
            inputs: inputs
                .iter()
                .map(|&at| self.files[at as usize].path.clone())
                .collect(),
            output_level: self.output_level(inputs),
            why: why.clone(),
        }
    }

    /// One up, unless the inputs of the top level outweigh those from below: then they take them in and stay where
    /// they are.
    fn output_level(&self, inputs: &[u32]) -> Level {
        let top = inputs.iter().map(|&at| self.level(at)).max().unwrap_or_default();
        let (mut at_top, mut below) = (0u64, 0u64);
        for &at in inputs {
            let sum = if self.level(at) == top {
                &mut at_top
            } else {
                &mut below
            };
            *sum = sum.saturating_add(self.bytes(at));
        }
        let has_below = inputs.iter().any(|&at| self.level(at) < top);
        if has_below && at_top > below {
            top
        } else {
            top.up()
        }
    }
}

fn facts(files: &[&File], is_old: impl Fn(&File) -> bool) -> Vec<Facts> {
    let fact = |file: &&File| Facts {
        bytes: file.bytes(),
        age_rank: 0,
        level: file.level,
        old: is_old(file),
    };
    let mut facts: Vec<Facts> = files.iter().map(fact).collect();
    for (rank, at) in (0u32..).zip(by_age(files)) {
        facts[at as usize].age_rank = rank;
    }
    facts
}

/// Positions, oldest first: the order in which ties are broken.
fn by_age(files: &[&File]) -> impl Iterator<Item = u32> {
    let aged = |(at, file): (u32, &&File)| (file.added, file.identity.modified, at);
    let mut order: Vec<_> = (0u32..).zip(files).map(aged).collect();
    order.sort_by(|a, b| {
        let path = |at: u32| &files[at as usize].path;
        (a.0, a.1).cmp(&(b.0, b.1)).then_with(|| path(a.2).cmp(path(b.2)))
    });
    order.into_iter().map(|(_, _, at)| at)
}

fn placed(verdict: Option<Verdict>, position: &[usize]) -> Verdict {
    match verdict.expect("the policy has said what becomes of every file") {
        Verdict::Chosen { job } => Verdict::Chosen { job: position[job] },
        other => other,
    }
}
