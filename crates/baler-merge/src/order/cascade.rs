//! Merges many short sorted slices two by two, pass by pass, without a branch that depends on a key.
//!
//! Where keys come in no runs a loser tree mispredicts half of its comparisons; here each costs a few cycles, and a chunk
//! of rows stays in the cache for all passes.

use super::forms::Word;

/// Buffers of one chunk: twice `rows × (bytes of a key + 8)`.
#[derive(Debug, Default)]
pub(super) struct Cascade<W> {
    keys: Vec<W>,
    /// What goes with each key, and is not looked at.
    tags: Vec<u64>,
    /// Where the slices begin, and where the last ends.
    edges: Vec<usize>,
    next_keys: Vec<W>,
    next_tags: Vec<u64>,
}

impl<W: Word> Cascade<W> {
    pub(super) fn clear(&mut self) {
        self.keys.clear();
        self.tags.clear();
        self.edges.clear();
        self.edges.push(0);
    }

    /// Adds the next slice, with a tag for each key; slices come in lane order.
    pub(super) fn push(&mut self, keys: &[W], tags: impl Iterator<Item = u64>) {
        self.keys.extend_from_slice(keys);
        self.tags.extend(tags);
        self.edges.push(self.keys.len());
    }

    /// The keys of all slices in order, and the tag of each; among equal ones the earlier slice first.
    pub(super) fn merge(&mut self) -> (&[W], &mut [u64]) {
        assert_eq!(self.keys.len(), self.tags.len(), "one tag for each key");
        self.next_keys.resize(self.keys.len(), W::default());
        self.next_tags.resize(self.keys.len(), 0);
        while self.edges.len() > 2 {
            self.pass();
        }
        (&self.keys, &mut self.tags)
    }

    /// Makes one slice of every two.
    fn pass(&mut self) {
        let slices = self.edges.len() - 1;
        for pair in 0..slices.div_ceil(2) {
            let start = self.edges[2 * pair];
            let middle = self.edges[2 * pair + 1];
            let end = *self.edges.get(2 * pair + 2).unwrap_or(&middle);
            let from = (&self.keys[start..end], &self.tags[start..end]);
            let into = (&mut self.next_keys[start..end], &mut self.next_tags[start..end]);
            merge_two(from, middle - start, into);
            self.edges[pair] = start;
        }
        self.edges[slices.div_ceil(2)] = self.keys.len();
        self.edges.truncate(slices.div_ceil(2) + 1);
        std::mem::swap(&mut self.keys, &mut self.next_keys);
        std::mem::swap(&mut self.tags, &mut self.next_tags);
    }
}

/// Merges two slices that lie one after the other and meet at `middle`.
fn merge_two<W: Word>(from: (&[W], &[u64]), middle: usize, into: (&mut [W], &mut [u64])) {
    let ((keys, tags), (out_keys, out_tags)) = (from, into);
    let end = keys.len();
    let (tags, out_keys, out_tags) = (&tags[..end], &mut out_keys[..end], &mut out_tags[..end]);
    let (mut left, mut right, mut out) = (0, middle, 0);
    while left < middle && right < end {
        // Arithmetic, because a choice between the two is made a branch again by the compiler.
        let second = usize::from(keys[right] < keys[left]);
        let from = left + (right - left) * second;
        out_keys[out] = keys[from];
        out_tags[out] = tags[from];
        out += 1;
        right += second;
        left += 1 - second;
    }
    let rest = if left < middle { left..middle } else { right..end };
    out_keys[out..].copy_from_slice(&keys[rest.clone()]);
    out_tags[out..].copy_from_slice(&tags[rest]);
}
