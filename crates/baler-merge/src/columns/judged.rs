//! Rows in the order of the merge whose fate is known, and that are in no window yet. Pure.

use std::collections::VecDeque;

/// What becomes of a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Fate {
    Kept,
    Older,
    Deleted,
    Expired,
}

/// Consecutive rows of one lane with one fate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct JudgedRun {
    pub(super) lane: u32,
    pub(super) rows: u32,
    pub(super) fate: Fate,
}

/// Runs that wait for their window.
#[derive(Debug, Default)]
pub(super) struct Judged {
    runs: VecDeque<JudgedRun>,
    rows: usize,
    kept: usize,
}

impl Judged {
    /// Rows that wait, dropped ones too.
    pub(super) fn rows(&self) -> usize {
        self.rows
    }

    /// Those of them that are kept.
    pub(super) fn kept(&self) -> usize {
        self.kept
    }

    /// Appends rows; they join the run before if it is of the same lane and fate.
    pub(super) fn push(&mut self, run: JudgedRun) {
        self.rows += run.rows as usize;
        self.kept += if run.fate == Fate::Kept {
            run.rows as usize
        } else {
            0
        };
        match self.runs.back_mut() {
            Some(last) if (last.lane, last.fate) == (run.lane, run.fate) => {
                match last.rows.checked_add(run.rows) {
                    Some(rows) => last.rows = rows,
                    None => self.runs.push_back(run),
                }
            }
            _ => self.runs.push_back(run),
        }
    }

    /// The next rows: until so many are kept, or so many were looked at.
    pub(super) fn take(&mut self, kept_max: usize, rows_max: usize) -> Vec<JudgedRun> {
        let (mut taken, mut kept, mut rows) = (Vec::new(), 0, 0);
        while kept < kept_max && rows < rows_max {
            let Some(next) = self.runs.front_mut() else { break };
            let is_kept = next.fate == Fate::Kept;
            let room = match is_kept {
                true => (kept_max - kept).min(rows_max - rows),
                false => rows_max - rows,
            };
            let some = JudgedRun {
                rows: next.rows.min(u32::try_from(room).unwrap_or(u32::MAX)),
                ..*next
            };
            next.rows -= some.rows;
            if next.rows == 0 {
                self.runs.pop_front();
            }
            rows += some.rows as usize;
            kept += if is_kept { some.rows as usize } else { 0 };
            taken.push(some);
        }
        self.rows -= rows;
        self.kept -= kept;
        taken
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(lane: u32, rows: u32, fate: Fate) -> JudgedRun {
        JudgedRun { lane, rows, fate }
    }

    #[test]
    fn windows_are_full_of_what_is_kept_and_look_at_no_more_than_they_may() {
        let mut judged = Judged::default();
        for (rows, fate) in [
            (3, Fate::Kept),
            (2, Fate::Kept),
            (9, Fate::Expired),
            (4, Fate::Kept),
        ] {
            judged.push(run(1, rows, fate));
        }
        assert_eq!((judged.rows(), judged.kept()), (18, 9));
        assert_eq!(judged.take(4, 100), [run(1, 4, Fate::Kept)]);
        let next = [
            run(1, 1, Fate::Kept),
            run(1, 9, Fate::Expired),
            run(1, 3, Fate::Kept),
        ];
        assert_eq!(judged.take(4, 100), next);
        assert_eq!(judged.take(4, 100), [run(1, 1, Fate::Kept)]);
        assert_eq!(judged.take(4, 100), []);
        judged.push(run(0, 9, Fate::Older));
        judged.push(run(0, 9, Fate::Kept));
        assert_eq!(judged.take(4, 5), [run(0, 5, Fate::Older)]);
        assert_eq!((judged.rows(), judged.kept()), (13, 9));
    }
}
