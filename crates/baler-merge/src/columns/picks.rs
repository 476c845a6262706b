//! Which rows make a window, and in which order. Pure.

use crate::limits::PAGE_ROWS;

/// Rows of a lane that a window looks at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Span {
    pub(crate) lane: usize,
    pub(crate) first: u64,
    pub(crate) rows: usize,
}

/// Consecutive rows of a span that come out together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Run {
    pub(crate) span: u32,
    pub(crate) start: u32,
    pub(crate) rows: u32,
}

/// Runs that are gathered at once.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Piece {
    pub(crate) runs: std::ops::Range<usize>,
    pub(crate) rows: usize,
}

/// The rows of a window in the order in which they shall be written.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Picks {
    pub(crate) spans: Vec<Span>,
    pub(crate) runs: Vec<Run>,
    pub(crate) pieces: Vec<Piece>,
    pub(crate) rows: usize,
}

/// Rows gathered at once: what is made of them stays in the cache. A page each.
const PIECE_ROWS: usize = PAGE_ROWS;

/// As many rows tell how a column packs; one run more at most is taken with them.
const SAMPLE_ROWS: usize = PIECE_ROWS / 4;

impl Picks {
    /// Appends rows. Runs are cut where a piece is full.
    pub(crate) fn push(&mut self, span: u32, start: u32, rows: u32) {
        let (mut start, mut rows) = (start, rows);
        while rows > 0 {
            if self.pieces.last().is_none_or(|piece| piece.rows == PIECE_ROWS) {
                let at = self.runs.len();
                self.pieces.push(Piece {
                    runs: at..at,
                    rows: 0,
                });
            }
            let Some(piece) = self.pieces.last_mut() else {
                return;
            };
            let now = rows.min((PIECE_ROWS - piece.rows) as u32);
            match self.runs[piece.runs.clone()].last_mut() {
                Some(last) if last.span == span && last.start + last.rows == start => last.rows += now,
                _ => {
                    self.runs.push(Run {
                        span,
                        start,
                        rows: now,
                    });
                    piece.runs.end += 1;
                }
            }
            piece.rows += now as usize;
            self.rows += now as usize;
            (start, rows) = (start + now, rows - now);
        }
    }

    /// Some rows from the middle, to try encodings on.
    pub(crate) fn sample(&self) -> Option<Piece> {
        let middle = self.pieces.get(self.pieces.len() / 2)?;
        let (mut runs, mut rows) = (middle.runs.start..middle.runs.start, 0);
        while rows < SAMPLE_ROWS && runs.end < middle.runs.end {
            rows += self.runs[runs.end].rows as usize;
            runs.end += 1;
        }
        Some(Piece { runs, rows })
    }

    /// The runs of a piece.
    pub(crate) fn runs_of(&self, piece: &Piece) -> &[Run] {
        &self.runs[piece.runs.clone()]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_grow_and_are_cut_at_the_ends_of_pieces() {
        let mut picks = Picks::default();
        picks.push(0, 0, 5);
        picks.push(0, 5, 3);
        picks.push(1, 0, 2 * PIECE_ROWS as u32);
        assert_eq!(picks.rows, 8 + 2 * PIECE_ROWS);
        let rows: Vec<usize> = picks.pieces.iter().map(|piece| piece.rows).collect();
        assert_eq!(rows, [PIECE_ROWS, PIECE_ROWS, 8]);
        assert_eq!(picks.runs_of(&picks.pieces[0]).len(), 2);
        let sample = picks.sample().unwrap();
        assert_eq!(
            (sample.runs.len(), sample.rows),
            (1, PIECE_ROWS),
            "runs are not cut for it"
        );
        for piece in &picks.pieces {
            let of_runs: u32 = picks.runs_of(piece).iter().map(|run| run.rows).sum();
            assert_eq!(of_runs as usize, piece.rows);
        }
    }
}
