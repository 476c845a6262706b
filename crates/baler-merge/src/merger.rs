//! The k-way merge: finds the order, stretch by stretch, and copies nothing.
//!
//! Lanes stand in a heap by the place (key, ordinal) of their next row. The first lane gives all rows up to the place of the
//! runner-up at once, so inputs that come in long runs cost a few comparisons a run. A lane whose smallest key is known
//! is opened only when its turn comes: files that follow each other are never open together.

use crate::batch::{Batch, Chunk};
use crate::error::MergeError;
use crate::source::Source;
use std::sync::Arc;

/// One sorted source among those merged.
pub(crate) struct Lane<'a> {
    source: Box<dyn Source + 'a>,
    head: Head,
}

enum Head {
    /// Not opened yet; its first row's place is known, or none is (empty: before everything).
    Ahead { key: Vec<u8>, ordinal: u64 },
    /// The next row. `slot` is the batch's number in the chunk with number `chunk`.
    At {
        batch: Arc<Batch>,
        row: usize,
        chunk: u64,
        slot: usize,
    },
}

impl<'a> Lane<'a> {
    /// `first_key` is the key of the source's first row, or empty if unknown.
    pub(crate) fn new(source: Box<dyn Source + 'a>, first_key: Vec<u8>) -> Self {
        Self {
            source,
            head: Head::Ahead {
                key: first_key,
                ordinal: 0,
            },
        }
    }

    fn place(&self) -> (&[u8], u64) {
        match &self.head {
            Head::Ahead { key, ordinal } => (key, *ordinal),
            Head::At { batch, row, .. } => batch.place(*row),
        }
    }
}

/// Merges sorted lanes into chunks.
pub(crate) struct Merger<'a> {
    lanes: Vec<Lane<'a>>,
    /// Numbers of lanes that are not at their end, least place first.
    heap: Vec<usize>,
    chunks: u64,
}

/// When a chunk is full.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ChunkSize {
    pub(crate) rows: usize,
    pub(crate) bytes: usize,
}

impl<'a> Merger<'a> {
    pub(crate) fn new(lanes: Vec<Lane<'a>>) -> Self {
        let mut merger = Self {
            heap: (0..lanes.len()).collect(),
            lanes,
            chunks: 0,
        };
        (0..merger.heap.len() / 2)
            .rev()
            .for_each(|at| merger.sift_down(at));
        merger
    }

    /// The next rows in order, or nothing at the end.
    pub(crate) fn next(&mut self, size: ChunkSize) -> Result<Option<Chunk>, MergeError> {
        self.chunks += 1;
        let mut chunk = Chunk::default();
        while chunk.rows < size.rows && chunk.bytes < size.bytes {
            let Some(&first) = self.heap.first() else { break };
            if matches!(self.lanes[first].head, Head::Ahead { .. }) {
                self.load(first)?;
                continue;
            }
            let exhausted = self.take_stretch(first, size.rows - chunk.rows, &mut chunk);
            match exhausted {
                true => self.load(first)?,
                false => self.sift_down(0),
            }
        }
        Ok((chunk.rows > 0).then_some(chunk))
    }

    /// Moves rows of the first lane that come before all others; says whether its batch is used up.
    fn take_stretch(&mut self, first: usize, rows_max: usize, chunk: &mut Chunk) -> bool {
        let runner_up = self.runner_up();
        let bound = runner_up.map(|lane| self.lanes[lane].place());
        let Head::At { batch, row, .. } = &self.lanes[first].head else {
            return true;
        };
        let (start, end) = (*row, batch.len().min(row.saturating_add(rows_max)));
        let end = match bound {
            Some(bound) => start + 1 + gallop(end - start - 1, |step| batch.place(start + 1 + step) <= bound),
            None => end,
        };
        let chunks = self.chunks;
        let Head::At {
            batch,
            row,
            chunk: seen_in,
            slot,
        } = &mut self.lanes[first].head
        else {
            return true;
        };
        if *seen_in != chunks {
            chunk.batches.push(Arc::clone(batch));
            (*seen_in, *slot) = (chunks, chunk.batches.len() - 1);
        }
        chunk.push(*slot, start, end - start);
        *row = end;
        end == batch.len()
    }

    fn runner_up(&self) -> Option<usize> {
        let (left, right) = (self.heap.get(1).copied(), self.heap.get(2).copied());
        match (left, right) {
            (Some(left), Some(right)) if self.lanes[right].place() < self.lanes[left].place() => Some(right),
            (left, _) => left,
        }
    }

    /// Gives the first lane its next batch, or takes it off the heap.
    fn load(&mut self, first: usize) -> Result<(), MergeError> {
        let lane = &mut self.lanes[first];
        // The old batch goes first: only the chunk may keep it.
        lane.head = Head::Ahead {
            key: Vec::new(),
            ordinal: 0,
        };
        match lane.source.next()? {
            Some(batch) => {
                lane.head = Head::At {
                    batch: Arc::new(batch),
                    row: 0,
                    chunk: 0,
                    slot: 0,
                }
            }
            None => {
                self.heap.swap_remove(0);
            }
        }
        self.sift_down(0);
        Ok(())
    }

    fn sift_down(&mut self, mut at: usize) {
        loop {
            let mut least = at;
            for child in [2 * at + 1, 2 * at + 2] {
                if child < self.heap.len() && self.before(child, least) {
                    least = child;
                }
            }
            if least == at {
                return;
            }
            self.heap.swap(at, least);
            at = least;
        }
    }

    fn before(&self, a: usize, b: usize) -> bool {
        self.lanes[self.heap[a]].place() < self.lanes[self.heap[b]].place()
    }
}

/// How many of `length` steps hold, where all that hold come first: by doubling, then by halving.
fn gallop(length: usize, holds: impl Fn(usize) -> bool) -> usize {
    let mut reach = 1;
    while reach <= length && holds(reach - 1) {
        reach *= 2;
    }
    let (mut low, mut high) = (reach / 2, length.min(reach - 1));
    while low < high {
        let middle = low + (high - low) / 2;
        match holds(middle) {
            true => low = middle + 1,
            false => high = middle,
        }
    }
    low
}

#[cfg(test)]
mod tests {
    use super::gallop;

    #[test]
    fn galloping_finds_the_first_step_that_fails() {
        for length in 0..40 {
            for holding in 0..=length {
                assert_eq!(
                    gallop(length, |step| step < holding),
                    holding,
                    "{holding} of {length}"
                );
            }
        }
    }
}
