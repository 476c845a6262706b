//! Policy `leveled`: few, large files that do not overlap, without rewriting for nothing.
//!
//! ```text
//!  key order  ──[healthy]──[small][small]╶[ cluster ]╶[small]──[healthy]──[small]──[healthy]──▶
//!                          ╰────────── one row: one job ─────╯           ╰ alone ╯
//! ```
//!
//! Files whose keys overlap form clusters; see `overlap`. Clusters and small files that lie side by side form rows;
//! see `company`. A large file that overlaps nothing is healthy: it stays, and ends a row, because a merge across it
//! would overlap it. Without a sort key there is nothing to overlap, and all small files are one row.
//!
//! Level 0 is what Baler has not written: it is merged without asking what that costs, so a first compaction is one
//! job over all that overlaps or is small, as far as a job may hold it. Above, a rewrite must be paid for by the bytes
//! that join, or by the age of a file that has waited.

use std::collections::BTreeMap;

use super::company::{Row, merge_unsorted};
use super::draft::Draft;
use super::span::{Span, clusters, spans};
use super::{Choice, PartitionView, Policy, Verdict, next_age, overlap};
use crate::file::File;
use crate::ids::JobId;
use crate::table::Leveled;
use crate::time::StoreTime;

/// Policy `leveled`.
#[derive(Clone, Debug)]
pub struct LeveledPolicy<'a> {
    settings: &'a Leveled,
}

impl<'a> LeveledPolicy<'a> {
    /// With these settings.
    pub fn new(settings: &'a Leveled) -> Self {
        Self { settings }
    }

    fn choose_with(&self, view: &PartitionView<'_>, apart: &Apart) -> Choice {
        let mut draft = Draft::new(self.settings, view);
        apart.excluded().for_each(|at| draft.say(at, Verdict::KeptApart));
        if view.merge.sort.is_empty() {
            choose_unsorted(view, &mut draft);
        } else {
            choose_sorted(view, &mut draft);
        }
        draft.finish()
    }
}

impl Policy for LeveledPolicy<'_> {
    fn choose(&self, view: &PartitionView<'_>) -> Choice {
        let mut apart = Apart::of(&view.files);
        loop {
            let choice = self.choose_with(view, &apart);
            if !choice.jobs.is_empty() || !apart.turn() {
                return choice;
            }
        }
    }

    fn due(&self, view: &PartitionView<'_>, choice: &Choice) -> Option<StoreTime> {
        next_age(view, choice, self.settings.age)
    }
}

fn choose_unsorted(view: &PartitionView<'_>, draft: &mut Draft<'_>) {
    let mut small = Vec::new();
    for (at, _) in (0u32..).zip(&view.files) {
        if draft.is_small(at) && !draft.is_decided(at) {
            small.push(at);
        } else {
            draft.say(at, Verdict::Healthy);
        }
    }
    small.sort_unstable_by_key(|&at| draft.age_rank(at));
    merge_unsorted(small, draft);
}

fn choose_sorted(view: &PartitionView<'_>, draft: &mut Draft<'_>) {
    let spans = spans_with_busy(view, draft);
    let line: Vec<u32> = spans.iter().map(|span| span.file).collect();
    let mut row = Row::new(&line);
    let mut to = 0;
    for cluster in clusters(&spans) {
        let from = to;
        to += cluster.len();
        if is_unit(cluster, draft) {
            row.push(from..to);
        } else {
            row.merge(draft);
            leave_or_work_down(cluster, draft);
        }
    }
    row.merge(draft);
}

/// Spans of all files, the busy ones too: no merge may reach across those. If their keys are not known, they are
/// left out, as nothing else could be planned until they are free again.
fn spans_with_busy(view: &PartitionView<'_>, draft: &Draft<'_>) -> Vec<Span> {
    let all: Vec<&File> = view.files.iter().chain(&view.busy).copied().collect();
    let mut spans = spans(&all, view.merge.is_keyed(), |at| draft.age_rank(at));
    spans.retain(|span| span.is_known() || !draft.is_busy(span.file));
    spans
}

/// Whether a cluster can be part of a row: a small file, or a job by itself.
fn is_unit(cluster: &[Span], draft: &Draft<'_>) -> bool {
    match cluster {
        [only] => draft.is_free(only.file) && draft.is_small(only.file),
        _ => cluster.iter().all(|span| draft.is_free(span.file)) && overlap::is_one_job(cluster, draft),
    }
}

fn leave_or_work_down(cluster: &[Span], draft: &mut Draft<'_>) {
    let free: Vec<Span> = cluster
        .iter()
        .copied()
        .filter(|span| draft.is_free(span.file))
        .collect();
    overlap::work_down(&free, draft);
    let busy = cluster.iter().any(|span| draft.is_busy(span.file));
    let verdict = match (cluster.len(), busy) {
        (1, _) => Verdict::Healthy,
        (_, true) => Verdict::WaitsForBusy,
        (_, false) => Verdict::KeptApart,
    };
    free.iter().for_each(|span| draft.say(span.file, verdict));
}

/// Files that failed only together. Of each group one at a time may be taken: the oldest, unless there is nothing to
/// do with it; then the next.
struct Apart {
    groups: BTreeMap<JobId, Vec<u32>>,
    turn: usize,
}

impl Apart {
    fn of(files: &[&File]) -> Self {
        let mut groups: BTreeMap<JobId, Vec<u32>> = BTreeMap::new();
        for (at, file) in (0u32..).zip(files) {
            if let Some(mark) = file.apart {
                groups.entry(mark).or_default().push(at);
            }
        }
        for group in groups.values_mut() {
            group.sort_by_key(|&at| {
                let file = files[at as usize];
                (file.added, file.identity.modified, &file.path)
            });
        }
        Self { groups, turn: 0 }
    }

    fn excluded(&self) -> impl Iterator<Item = u32> + '_ {
        let others = |group: &Vec<u32>| {
            let chosen = group[self.turn % group.len()];
            group.clone().into_iter().filter(move |&at| at != chosen)
        };
        self.groups.values().flat_map(others)
    }

    /// Moves on to the next of each group; false once every one has had its turn.
    fn turn(&mut self) -> bool {
        self.turn += 1;
        self.groups.values().any(|group| self.turn < group.len())
    }
}
