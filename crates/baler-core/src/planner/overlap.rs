//! Files whose keys overlap, and what it is worth to merge them.
//!
//! In a cluster of overlapping files a file is light if those it overlaps hold as many bytes as itself, or more: it
//! is spread thinner than what it lies on. The others are heavy, and no two of them overlap. Merging is worth it
//! while the heavy ones, which would be rewritten for the sake of the light, have at most `fan_out` bytes for each
//! light byte. A file that Baler has not written yet is always light: its first merge is owed to it.
//!
//! So whatever is rewritten is paid for by bytes that come to lie at least twice as dense, which can happen to a
//! byte only a logarithmic number of times.

use super::Verdict;
use super::draft::Draft;
use super::span::{Span, clusters};
use super::untaken::Untaken;
use super::weights::Weights;
use crate::job::Why;

/// Whether a whole cluster makes one job.
pub(super) fn is_one_job(cluster: &[Span], draft: &Draft<'_>) -> bool {
    fits(cluster, draft)
        && Weights::of(cluster, draft)
            .balance(0..cluster.len())
            .is_worth_it(draft)
        && !draft.is_merged_before(files(cluster))
}

/// Plans what can be planned for a cluster that is not one job: too large for it, not worth it as a whole, or with
/// files in it that may not be taken (these are not in `spans`). Jobs are always sets that hang together by
/// overlapping, so their outputs cover no key that the inputs did not.
pub(super) fn work_down(spans: &[Span], draft: &mut Draft<'_>) {
    for cluster in clusters(spans).filter(|cluster| cluster.len() > 1) {
        work_down_cluster(cluster, draft);
    }
}

fn work_down_cluster(cluster: &[Span], draft: &mut Draft<'_>) {
    if draft.is_merged_before(files(cluster)) {
        say_all(cluster, Verdict::MergedBefore, draft);
        return;
    }
    let jobs_before = draft.jobs();
    let weights = Weights::of(cluster, draft);
    let balance = weights.balance(0..cluster.len());
    let worth_it = balance.is_worth_it(draft);
    if worth_it {
        if fits(cluster, draft) {
            draft.take(files(cluster).collect(), Why::Overlap);
            return;
        }
        take_stretches(cluster, &weights, draft);
    }
    if draft.jobs() == jobs_before {
        take_windows(cluster, &weights, draft);
    }
    if !worth_it {
        // The light ones are less than half of the bytes, so this does not go deep.
        work_down(&untaken_light(cluster, &weights, draft), draft);
    }
    let verdict = if worth_it && draft.jobs() > jobs_before {
        Verdict::WaitsForTurn
    } else {
        balance.verdict(draft)
    };
    say_all(cluster, verdict, draft);
}

fn untaken_light(cluster: &[Span], weights: &Weights, draft: &Draft<'_>) -> Vec<Span> {
    let light = cluster.iter().enumerate().filter(|(at, _)| weights.is_light(*at));
    light
        .map(|(_, span)| *span)
        .filter(|span| !draft.is_taken(span.file))
        .collect()
}

/// Cuts a cluster that is too large into stretches of the line of keys. The next round finds what still overlaps
/// where they meet.
fn take_stretches(cluster: &[Span], weights: &Weights, draft: &mut Draft<'_>) {
    let mut from = 0;
    while from < cluster.len() {
        let mut to = from;
        let (mut bytes, mut end) = (0u64, 0);
        while let Some(span) = cluster.get(to) {
            let next = bytes.saturating_add(draft.bytes(span.file));
            let hangs_together = to == from || span.start < end;
            if !hangs_together || !draft.fits(to - from + 1, next) {
                break;
            }
            (bytes, end, to) = (next, span.end.max(end), to + 1);
        }
        let stretch = &cluster[from..to];
        let worth_it = weights.balance(from..to).is_worth_it(draft);
        if stretch.len() > 1 && worth_it && !draft.is_merged_before(files(stretch)) {
            draft.take(files(stretch).collect(), Why::Overlap);
        }
        from = to;
    }
}

/// Takes light files together with what they overlap, where that is worth it for one of them alone, or where it
/// has waited long enough.
fn take_windows(cluster: &[Span], weights: &Weights, draft: &mut Draft<'_>) {
    let mut untaken = Untaken::of(cluster);
    for (at, span) in cluster.iter().enumerate() {
        let old = draft.is_old(span.file);
        let worth_it = draft.is_worth(weights.over(at), draft.bytes(span.file));
        if !weights.is_light(at) || !(old || worth_it) || draft.is_taken(span.file) {
            continue;
        }
        let mut window = vec![at];
        let mut bytes = draft.bytes(span.file);
        untaken.for_each_over(span, |other| {
            let next = bytes.saturating_add(draft.bytes(cluster[other].file));
            let has_room = draft.fits(window.len() + 1, next);
            if other != at && has_room {
                window.push(other);
                bytes = next;
            }
            has_room || other == at
        });
        let inputs: Vec<u32> = window.iter().map(|&at| cluster[at].file).collect();
        if inputs.len() > 1 && !draft.is_merged_before(inputs.iter().copied()) {
            window.iter().for_each(|&at| untaken.remove(at));
            draft.take(inputs, if worth_it { Why::Overlap } else { Why::Age });
        }
    }
}

fn files(spans: &[Span]) -> impl Iterator<Item = u32> + Clone + '_ {
    spans.iter().map(|span| span.file)
}

fn fits(spans: &[Span], draft: &Draft<'_>) -> bool {
    let bytes = files(spans).fold(0u64, |sum, at| sum.saturating_add(draft.bytes(at)));
    draft.fits(spans.len(), bytes)
}

fn say_all(spans: &[Span], verdict: Verdict, draft: &mut Draft<'_>) {
    files(spans).for_each(|at| draft.say(at, verdict));
}
