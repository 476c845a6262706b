//! Hashes of the rows of a window, summed over its columns, which are encoded side by side.

use super::picks::Piece;
use crate::digest::Digest;
use crate::row_hash::seal;
use baler_hash::Sum;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// A sum for each row, piece by piece: columns in work are seldom at the same one, and none waits for a whole window.
pub(crate) struct Sums(Vec<Mutex<Vec<Sum>>>);

impl Sums {
    /// Nothing added yet.
    pub(crate) fn over(pieces: &[Piece]) -> Self {
        let zeros = |piece: &Piece| Mutex::new(vec![Sum::ZERO; piece.rows]);
        Self(pieces.iter().map(zeros).collect())
    }

    /// The sums of a piece's rows, to add to.
    pub(super) fn of_piece(&self, piece: usize) -> MutexGuard<'_, Vec<Sum>> {
        self.0[piece].lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The digest of the rows, once all columns were added.
    pub(crate) fn seal(&self) -> Digest {
        let mut digest = Digest::EMPTY;
        for piece in 0..self.0.len() {
            digest += seal(&mut self.of_piece(piece));
        }
        digest
    }
}
