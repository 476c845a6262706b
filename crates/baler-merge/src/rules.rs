//! Rules: which rows of a sorted stream survive. A dropped row is handed on as well, because the proof counts it.

use crate::batch::{Batch, Chunk};
use crate::error::MergeError;
use std::sync::Arc;

/// The rows that stay and those that go.
pub(crate) struct Ruled {
    pub(crate) kept: Chunk,
    pub(crate) dropped: Chunk,
}

/// Of the rows with equal key, which lie together, the newest stays.
///
/// The last group of a chunk may go on in the next, so its newest row so far is held back.
#[derive(Default)]
pub(crate) struct LastWriteWins {
    newest: Option<(Arc<Batch>, usize)>,
    witness: Witness,
}

impl LastWriteWins {
    /// Judges the next rows in order.
    pub(crate) fn apply(&mut self, chunk: &Chunk) -> Result<Ruled, MergeError> {
        let mut ruled = Ruled {
            kept: Chunk::over(&chunk.batches),
            dropped: Chunk::over(&chunk.batches),
        };
        // The newest row of the group as (batch of this chunk, row), once it is one of this chunk's rows.
        let mut here: Option<(usize, usize)> = None;
        for (batch, row) in chunk.picks() {
            let rival = &chunk.batches[batch];
            let newest = match here {
                Some((batch, row)) => Some((&chunk.batches[batch], row)),
                None => self.newest.as_ref().map(|(batch, row)| (batch, *row)),
            };
            match newest {
                Some((held, held_row)) if key(held, held_row) == key(rival, row) => {
                    self.witness.saw(rival, row);
                    let newer = age(rival, row) > age(held, held_row);
                    let loser = if newer { (held, held_row) } else { (rival, row) };
                    self.witness.check_drop(loser.0, loser.1)?;
                    match (newer, here) {
                        (false, _) => ruled.dropped.push(batch, row, 1),
                        (true, Some((batch, row))) => ruled.dropped.push(batch, row, 1),
                        (true, None) => ruled.dropped.push_foreign(held, held_row),
                    }
                    if !newer {
                        continue;
                    }
                }
                Some((held, held_row)) => {
                    self.witness.check_kept(held, held_row)?;
                    match here {
                        Some((batch, row)) => ruled.kept.push(batch, row, 1),
                        None => ruled.kept.push_foreign(held, held_row),
                    }
                    self.witness.begin(rival, row)?;
                }
                None => self.witness.begin(rival, row)?,
            }
            here = Some((batch, row));
            self.newest = None;
        }
        if let Some((batch, row)) = here {
            self.newest = Some((Arc::clone(&chunk.batches[batch]), row));
        }
        Ok(ruled)
    }

    /// The row that was held back last.
    pub(crate) fn finish(mut self) -> Result<Chunk, MergeError> {
        let mut kept = Chunk::default();
        if let Some((batch, row)) = self.newest.take() {
            self.witness.check_kept(&batch, row)?;
            kept.push_foreign(&batch, row);
        }
        Ok(kept)
    }
}

fn key(batch: &Batch, row: usize) -> &[u8] {
    batch
        .versions
        .as_ref()
        .map_or(&[], |versions| versions.keys.row(row).data())
}

/// What is compared within a key: the version, then where the row came from.
fn age(batch: &Batch, row: usize) -> (&[u8], u64) {
    let version = batch
        .versions
        .as_ref()
        .map_or(&[][..], |versions| versions.versions.row(row).data());
    (version, batch.ordinals.at(row))
}

/// Looks on apart from the decision: remembers the key of the group and its greatest age over all rows seen, and checks that
/// what goes has that key and what stays has that age.
#[derive(Default)]
struct Witness {
    begun: bool,
    key: Vec<u8>,
    version: Vec<u8>,
    ordinal: u64,
}

impl Witness {
    /// A key that begins twice was ended too early: what was decided of it would not hold for the rest.
    fn begin(&mut self, batch: &Batch, row: usize) -> Result<(), MergeError> {
        if self.begun && key(batch, row) == self.key {
            return Err(MergeError::Proof(
                "a key was judged before all of its rows were seen".into(),
            ));
        }
        self.begun = true;
        self.key.clear();
        self.key.extend_from_slice(key(batch, row));
        self.note(batch, row);
        Ok(())
    }

    fn saw(&mut self, batch: &Batch, row: usize) {
        if age(batch, row) > (&self.version, self.ordinal) {
            self.note(batch, row);
        }
    }

    fn note(&mut self, batch: &Batch, row: usize) {
        let (version, ordinal) = age(batch, row);
        self.version.clear();
        self.version.extend_from_slice(version);
        self.ordinal = ordinal;
    }

    fn check_drop(&self, batch: &Batch, row: usize) -> Result<(), MergeError> {
        match key(batch, row) == self.key && age(batch, row) <= (&self.version, self.ordinal) {
            true => Ok(()),
            false => Err(MergeError::Proof(
                "a row was to be dropped for one of another key or an older one".into(),
            )),
        }
    }

    fn check_kept(&self, batch: &Batch, row: usize) -> Result<(), MergeError> {
        match key(batch, row) == self.key && age(batch, row) == (&self.version[..], self.ordinal) {
            true => Ok(()),
            false => Err(MergeError::Proof(
                "the row kept is not the newest of its key".into(),
            )),
        }
    }
}
