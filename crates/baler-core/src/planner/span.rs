//! Key ranges as pairs of integers. Keys are ranked once; from then on the sweep compares numbers.
//!
//! A span is half open. With a keyed rule, two files that share one key overlap, so a span ends behind its last
//! key; otherwise it ends at it, and edges that touch do not overlap. Then a file of a single key has an empty
//! span: it overlaps what lies on both sides of that key, and no other file of the same single key.

use std::cmp::Ordering;

use crate::file::File;

/// A file on the line of keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Span {
    pub(super) start: u32,
    pub(super) end: u32,
    /// Position in the list that the spans were made from.
    pub(super) file: u32,
}

impl Span {
    /// Unknown keys may lie anywhere.
    fn unknown(file: u32) -> Self {
        Self {
            start: 0,
            end: u32::MAX,
            file,
        }
    }

    pub(super) fn is_known(&self) -> bool {
        self.start > 0
    }
}

/// The order in which files break ties: oldest first.
pub(super) fn by_age(a: &File, b: &File) -> Ordering {
    (a.added, a.identity.modified)
        .cmp(&(b.added, b.identity.modified))
        .then_with(|| a.path.cmp(&b.path))
}

/// The spans of `files`, by start, then end, then age.
pub(super) fn spans(files: &[&File], keyed: bool) -> Vec<Span> {
    let mut spans: Vec<Span> = (0u32..).zip(files).map(|(at, _)| Span::unknown(at)).collect();
    for (bound, rank) in ranked(files) {
        let span = &mut spans[bound.file as usize];
        match bound.side {
            Side::Min => span.start = 2 * rank,
            Side::Max => span.end = 2 * rank + u32::from(keyed),
        }
    }
    spans.sort_by(|a, b| {
        (a.start, a.end)
            .cmp(&(b.start, b.end))
            .then_with(|| by_age(files[a.file as usize], files[b.file as usize]))
    });
    spans
}

/// Groups of spans that hang together by overlapping, in key order. `spans` are sorted by start.
pub(super) fn clusters(spans: &[Span]) -> impl Iterator<Item = &[Span]> {
    let mut end_max = 0;
    spans.chunk_by(move |before, next| {
        end_max = before.end.max(end_max);
        next.start < end_max
    })
}

#[derive(Clone, Copy)]
enum Side {
    Min,
    Max,
}

#[derive(Clone, Copy)]
struct Bound<'a> {
    /// The first bytes, so that most comparisons need not follow a pointer.
    head: u128,
    key: &'a [u8],
    file: u32,
    side: Side,
}

/// Every known bound with its rank among all of them, from 1 on. Ranges whose ends are swapped count as unknown.
fn ranked<'a>(files: &[&'a File]) -> impl Iterator<Item = (Bound<'a>, u32)> + use<'a> {
    let mut bounds = Vec::with_capacity(files.len() * 2);
    for (at, file) in (0u32..).zip(files) {
        if let Some(keys) = file.keys.as_ref().filter(|keys| keys.min <= keys.max) {
            bounds.push(bound(&keys.min, at, Side::Min));
            bounds.push(bound(&keys.max, at, Side::Max));
        }
    }
    bounds.sort_unstable_by(|a, b| (a.head, a.key).cmp(&(b.head, b.key)));
    let mut rank = 0;
    let mut last: Option<(u128, &[u8])> = None;
    bounds.into_iter().map(move |bound| {
        let key = (bound.head, bound.key);
        if last != Some(key) {
            rank += 1;
            last = Some(key);
        }
        (bound, rank)
    })
}

fn bound(key: &[u8], file: u32, side: Side) -> Bound<'_> {
    let mut head = [0; 16];
    let length = key.len().min(head.len());
    head[..length].copy_from_slice(&key[..length]);
    Bound {
        head: u128::from_be_bytes(head),
        key,
        file,
        side,
    }
}
