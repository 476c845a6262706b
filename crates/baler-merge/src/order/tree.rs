//! A tree of losers: knows which of many lanes comes next, and replays one path when that lane has moved.
//!
//! Lanes are the leaves. Each inner node holds the lane that lost there; the winner of all stands above the root.

/// Lanes by number; what comes first is asked of the caller each time.
#[derive(Debug, Default)]
pub(super) struct Tree {
    /// `[0]` is the winner; node `n` has children `2n` and `2n + 1`; the leaf of lane `l` would be node `lanes + l`.
    losers: Vec<u32>,
}

impl Tree {
    /// Plays all lanes against each other. `before` must be a strict total order.
    pub(super) fn build(&mut self, lanes: usize, before: impl Fn(u32, u32) -> bool) {
        self.losers.clear();
        self.losers.resize(lanes.max(1), 0);
        let mut winners: Vec<u32> = vec![0; lanes];
        winners.extend(0..lanes as u32);
        for node in (1..lanes).rev() {
            let (a, b) = (winners[2 * node], winners[2 * node + 1]);
            (winners[node], self.losers[node]) = if before(a, b) { (a, b) } else { (b, a) };
        }
        self.losers[0] = winners.get(1).copied().unwrap_or(0);
    }

    pub(super) fn winner(&self) -> u32 {
        self.losers[0]
    }

    /// The lane that would win if the winner were not there: it lost against the winner, so it is on its path.
    pub(super) fn runner_up(&self, before: impl Fn(u32, u32) -> bool) -> Option<u32> {
        let mut best: Option<u32> = None;
        let mut node = (self.losers.len() + self.winner() as usize) / 2;
        while node > 0 {
            let loser = self.losers[node];
            best = match best {
                Some(held) if before(held, loser) => Some(held),
                _ => Some(loser),
            };
            node /= 2;
        }
        best
    }

    /// Plays the winner's path again, after it has moved.
    pub(super) fn replay(&mut self, before: impl Fn(u32, u32) -> bool) {
        let mut winner = self.winner();
        let mut node = (self.losers.len() + winner as usize) / 2;
        while node > 0 {
            if before(self.losers[node], winner) {
                std::mem::swap(&mut self.losers[node], &mut winner);
            }
            node /= 2;
        }
        self.losers[0] = winner;
    }
}
