//! The files of a cluster that no job has taken yet, and which of them overlap a given one: a tree of the greatest
//! end below each node, so that a search meets only what it finds.

use super::span::Span;

pub(super) struct Untaken {
    starts: Vec<u32>,
    /// Node `n` has the children `2n` and `2n + 1`; the leaves are the last half. A taken file ends at 0.
    end_max: Vec<u32>,
}

impl Untaken {
    /// All of a cluster, which is sorted by start.
    pub(super) fn of(cluster: &[Span]) -> Self {
        let leaves = cluster.len().next_power_of_two();
        let mut end_max = vec![0; 2 * leaves];
        for (at, span) in cluster.iter().enumerate() {
            end_max[leaves + at] = span.end;
        }
        for node in (1..leaves).rev() {
            end_max[node] = end_max[2 * node].max(end_max[2 * node + 1]);
        }
        Self {
            starts: cluster.iter().map(|span| span.start).collect(),
            end_max,
        }
    }

    pub(super) fn remove(&mut self, at: usize) {
        let mut node = self.end_max.len() / 2 + at;
        self.end_max[node] = 0;
        while node > 1 {
            node /= 2;
            self.end_max[node] = self.end_max[2 * node].max(self.end_max[2 * node + 1]);
        }
    }

    /// Visits what overlaps `span`, itself included, in order, until `visit` says that it has enough.
    pub(super) fn for_each_over(&self, span: &Span, mut visit: impl FnMut(usize) -> bool) {
        let leaves = self.end_max.len() / 2;
        let starts_before = self.starts.partition_point(|&start| start < span.end);
        let mut open = vec![(1, 0..leaves)];
        while let Some((node, below)) = open.pop() {
            if below.start >= starts_before || self.end_max[node] <= span.start {
                continue;
            }
            if node >= leaves {
                if !visit(below.start) {
                    return;
                }
                continue;
            }
            let middle = below.start.midpoint(below.end);
            open.push((2 * node + 1, middle..below.end));
            open.push((2 * node, below.start..middle));
        }
    }
}
