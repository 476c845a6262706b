//! The heaviest of a row, of what lies left of it, of what lies right of it, and so on: a Cartesian tree, made in one
//! pass. Of equal weights the first is on top.

/// No child on that side.
const NONE: usize = usize::MAX;

pub(super) struct Heaviest {
    root: usize,
    left: Vec<usize>,
    right: Vec<usize>,
}

impl Heaviest {
    pub(super) fn of(weights: &[u64]) -> Self {
        let mut left = vec![NONE; weights.len()];
        let mut right = vec![NONE; weights.len()];
        let mut spine: Vec<usize> = Vec::new();
        for (at, weight) in weights.iter().enumerate() {
            while let Some(&last) = spine.last().filter(|&&last| weights[last] < *weight) {
                left[at] = last;
                spine.pop();
            }
            if let Some(&above) = spine.last() {
                right[above] = at;
            }
            spine.push(at);
        }
        let root = spine.first().copied().unwrap_or(NONE);
        Self { root, left, right }
    }

    pub(super) fn root(&self) -> usize {
        self.root
    }

    /// The heaviest left of `at`, within what `at` is the heaviest of. Only to be used if there is something.
    pub(super) fn left(&self, at: usize) -> usize {
        self.left[at]
    }

    /// The same on the right.
    pub(super) fn right(&self, at: usize) -> usize {
        self.right[at]
    }
}
