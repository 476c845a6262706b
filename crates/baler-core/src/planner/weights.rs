//! What the files of a cluster weigh against each other. See `overlap` for what light and heavy mean.

use std::ops::Range;

use super::Verdict;
use super::draft::Draft;
use super::span::Span;

/// The files of a cluster, in its order.
pub(super) struct Weights {
    files: Vec<Weight>,
}

struct Weight {
    bytes: u64,
    /// The bytes of those that it overlaps.
    over: u64,
    light: bool,
}

impl Weights {
    pub(super) fn of(cluster: &[Span], draft: &Draft<'_>) -> Self {
        let over = bytes_overlapped(cluster, draft);
        let weigh = |(span, over): (&Span, u64)| {
            let bytes = draft.bytes(span.file);
            let light = !draft.is_rewritten(span.file) || over >= bytes;
            Weight { bytes, over, light }
        };
        Self {
            files: cluster.iter().zip(over).map(weigh).collect(),
        }
    }

    pub(super) fn over(&self, at: usize) -> u64 {
        self.files[at].over
    }

    pub(super) fn is_light(&self, at: usize) -> bool {
        self.files[at].light
    }

    /// The sums over a part of the cluster.
    pub(super) fn balance(&self, part: Range<usize>) -> Balance {
        let mut balance = Balance::default();
        for file in &self.files[part] {
            let sum = if file.light {
                &mut balance.light
            } else {
                &mut balance.heavy
            };
            *sum = sum.saturating_add(file.bytes);
        }
        balance
    }
}

/// Light bytes, and the heavy ones that would be rewritten for them.
#[derive(Default)]
pub(super) struct Balance {
    light: u64,
    heavy: u64,
}

impl Balance {
    pub(super) fn is_worth_it(&self, draft: &Draft<'_>) -> bool {
        draft.is_worth(self.heavy, self.light)
    }

    pub(super) fn verdict(&self, draft: &Draft<'_>) -> Verdict {
        Verdict::WaitsForWeight {
            rewritten: self.heavy,
            wanted: self.heavy.div_ceil(u64::from(draft.settings.fan_out.max(1))),
        }
    }
}

/// For each file of a cluster, the bytes of the others that it overlaps: of all that start before its end, those
/// that do not end before its start.
fn bytes_overlapped(cluster: &[Span], draft: &Draft<'_>) -> Vec<u64> {
    let mut by_end: Vec<Span> = cluster.to_vec();
    by_end.sort_unstable_by_key(|span| (span.end, span.start));
    let started = running_sums(cluster, draft);
    let ended = running_sums(&by_end, draft);
    let overlapped = |span: &Span| {
        let starts = cluster.partition_point(|other| other.start < span.end);
        // The second part of the comparison keeps a file of a single key from counting others of that same key.
        let ends = by_end.partition_point(|other| (other.end, other.start) < (span.start, span.end));
        let itself = if span.start < span.end {
            draft.bytes(span.file)
        } else {
            0
        };
        started[starts].saturating_sub(ended[ends]).saturating_sub(itself)
    };
    cluster.iter().map(overlapped).collect()
}

fn running_sums(spans: &[Span], draft: &Draft<'_>) -> Vec<u64> {
    let mut sum = 0u64;
    let sums = spans.iter().map(|span| {
        sum = sum.saturating_add(draft.bytes(span.file));
        sum
    });
    std::iter::once(0).chain(sums).collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::simulator::{World, file, keyed, sorted};
    use super::super::span::spans;
    use super::*;
    use crate::table::Leveled;

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn bytes_overlapped_are_those_of_every_file_that_overlaps(
            files in prop::collection::vec((1u64..100, 0u64..12, 0u64..5), 1..20),
            is_keyed: bool,
        ) {
            let named = |(at, (bytes, min, width)): (usize, (u64, u64, u64))| {
                file(&format!("f{at}"), bytes, Some((min, min + width)))
            };
            let merge = if is_keyed { keyed() } else { sorted() };
            let world = World::new(merge, files.into_iter().enumerate().map(named).collect());
            let (view, settings) = (world.view(), Leveled::default());
            let draft = Draft::new(&settings, &view);
            let spans = spans(&view.files, is_keyed, |at| at);
            for (span, bytes) in spans.iter().zip(bytes_overlapped(&spans, &draft)) {
                let this = view.files[span.file as usize];
                let others = view.files.iter().filter(|other| other.path != this.path);
                let expected = others.filter(|other| world.overlap(this, other)).map(|other| other.bytes());
                prop_assert_eq!(bytes, expected.sum::<u64>());
            }
        }
    }
}
