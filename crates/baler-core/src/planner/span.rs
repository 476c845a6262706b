//! Key ranges as pairs of integers. Keys are ranked once; from then on the sweep compares numbers.
//!
//! A span is half open. With a keyed rule, two files that share one key overlap, so a span ends behind its last
//! key; otherwise it ends at it, and edges that touch do not overlap. Then a file of a single key has an empty
//! span: it overlaps what lies on both sides of that key, and no other file of the same single key.

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

/// The spans of `files`, by start, then end, then as `tie` says.
pub(super) fn spans(files: &[&File], keyed: bool, tie: impl Fn(u32) -> u32) -> Vec<Span> {
    let mut spans: Vec<Span> = (0u32..).zip(files).map(|(at, _)| Span::unknown(at)).collect();
    for (bound, rank) in ranked(files) {
        let span = &mut spans[bound.file as usize];
        if bound.is_max {
            span.end = 2 * rank + u32::from(keyed);
        } else {
            span.start = 2 * rank;
        }
    }
    spans.sort_unstable_by(|a, b| {
        let ends = (a.start, a.end).cmp(&(b.start, b.end));
        ends.then_with(|| tie(a.file).cmp(&tie(b.file)))
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

/// Every known bound with its rank among all of them, from 1 on. Ranges whose ends are swapped count as unknown.
fn ranked(files: &[&File]) -> impl Iterator<Item = (Bound, u32)> {
    let mut bounds = Vec::with_capacity(files.len() * 2);
    for (file, &read) in (0u32..).zip(files) {
        if let Some(keys) = read.keys.as_ref().filter(|keys| keys.min <= keys.max) {
            bounds.push(Bound::new(&keys.min, file, false));
            bounds.push(Bound::new(&keys.max, file, true));
        }
    }
    bounds.sort_unstable_by(|a, b| a.head.cmp(&b.head).then_with(|| a.key(files).cmp(b.key(files))));
    let mut rank = 0;
    let mut last: Option<Bound> = None;
    bounds.into_iter().map(move |bound| {
        let is_last = |last: Bound| last.head == bound.head && last.key(files) == bound.key(files);
        if !last.is_some_and(is_last) {
            rank += 1;
            last = Some(bound);
        }
        (bound, rank)
    })
}

/// One end of a file's keys.
#[derive(Clone, Copy)]
struct Bound {
    /// The first bytes, so that most comparisons need not look the key up.
    head: [u64; 2],
    file: u32,
    is_max: bool,
}

impl Bound {
    fn new(key: &[u8], file: u32, is_max: bool) -> Self {
        let mut bytes = [0; 16];
        let length = key.len().min(bytes.len());
        bytes[..length].copy_from_slice(&key[..length]);
        let head = u128::from_be_bytes(bytes);
        Self {
            head: [(head >> 64) as u64, head as u64],
            file,
            is_max,
        }
    }

    fn key<'f>(&self, files: &[&'f File]) -> &'f [u8] {
        let keys = files[self.file as usize]
            .keys
            .as_ref()
            .expect("only known keys have bounds");
        if self.is_max { &keys.max } else { &keys.min }
    }
}
