//! Choices over parts of a view, put together into one. A part is chosen from as if it were a partition of its own;
//! what the other parts hold may stand beside it as busy, so that nothing is merged across it.

use super::{Choice, PartitionView, Policy, Proposal, Verdict};
use crate::file::{File, FilePath, Level};
use crate::ids::Sequence;
use crate::time::StoreTime;

/// A choice that grows part by part. Files are named by their position in the view.
pub(super) struct Parts<'v, 'f> {
    view: &'v PartitionView<'f>,
    verdicts: Vec<Option<Verdict>>,
    jobs: Vec<Proposal>,
}

impl<'v, 'f> Parts<'v, 'f> {
    pub(super) fn of(view: &'v PartitionView<'f>) -> Self {
        Self {
            view,
            verdicts: vec![None; view.files.len()],
            jobs: Vec::new(),
        }
    }

    pub(super) fn is_taken(&self, at: usize) -> bool {
        matches!(self.verdicts[at], Some(Verdict::Chosen { .. }))
    }

    /// What `policy` would do if there were only `free` to take, and `busy` beside it.
    pub(super) fn look(&self, policy: &dyn Policy, free: &[usize], busy: Vec<&'f File>) -> Choice {
        policy.choose(&PartitionView {
            files: free.iter().map(|&at| self.view.files[at]).collect(),
            busy,
            merge: self.view.merge,
            now: self.view.now,
        })
    }

    /// Takes over those jobs of a choice among `free` that `is_wanted`.
    pub(super) fn take(&mut self, free: &[usize], choice: &Choice, is_wanted: impl Fn(&[usize]) -> bool) {
        let mut inputs = vec![Vec::new(); choice.jobs.len()];
        for (&at, verdict) in free.iter().zip(&choice.verdicts) {
            if let Verdict::Chosen { job } = verdict {
                inputs[*job].push(at);
            }
        }
        for (inputs, job) in inputs.iter().zip(&choice.jobs) {
            if is_wanted(inputs) {
                let number = self.jobs.len();
                self.jobs.push(job.clone());
                inputs
                    .iter()
                    .for_each(|&at| self.verdicts[at] = Some(Verdict::Chosen { job: number }));
            }
        }
    }

    /// Says what becomes of a file, unless that has been said.
    pub(super) fn say(&mut self, at: usize, verdict: Verdict) {
        self.verdicts[at].get_or_insert(verdict);
    }

    /// The choice: jobs of the lowest level first, then the one with the oldest file.
    pub(super) fn finish(self) -> Choice {
        let mut lowest: Vec<Level> = vec![Level(u8::MAX); self.jobs.len()];
        let mut oldest: Vec<Option<Age<'_>>> = vec![None; self.jobs.len()];
        for (file, verdict) in self.view.files.iter().zip(&self.verdicts) {
            if let Some(Verdict::Chosen { job }) = verdict {
                lowest[*job] = lowest[*job].min(file.level);
                oldest[*job] = Some(oldest[*job].map_or(age(file), |known| known.min(age(file))));
            }
        }
        let mut order: Vec<usize> = (0..self.jobs.len()).collect();
        order.sort_by_key(|&job| (lowest[job], oldest[job]));
        let mut position = vec![0; order.len()];
        for (at, &job) in order.iter().enumerate() {
            position[job] = at;
        }
        let placed = |verdict: Option<Verdict>| match verdict {
            Some(Verdict::Chosen { job }) => Verdict::Chosen { job: position[job] },
            other => other.expect("the policy has said what becomes of every file"),
        };
        Choice {
            verdicts: self.verdicts.into_iter().map(placed).collect(),
            jobs: order.iter().map(|&job| self.jobs[job].clone()).collect(),
        }
    }
}

type Age<'f> = (Sequence, StoreTime, &'f FilePath);

fn age(file: &File) -> Age<'_> {
    (file.added, file.identity.modified, &file.path)
}
