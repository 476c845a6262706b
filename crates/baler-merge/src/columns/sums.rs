//! Hashes of the rows of a window, summed over its columns, which are encoded side by side.

use super::picks::Piece;
use crate::digest::Digest;
use crate::row_hash::{RowHash, add_codes};
use arrow::array::{Array, ArrayRef, Int32Array};
use arrow::error::ArrowError;
use std::ops::Range;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// A sum for each row, piece by piece: columns in work are seldom at the same one, and none waits for a whole window.
pub(crate) struct Sums {
    hash: RowHash,
    pieces: Vec<Mutex<PieceSums>>,
    spare: Arc<Spare>,
}

/// Room for sums that earlier windows are done with: what is fresh from the system costs more than what is added to it.
#[derive(Default)]
pub(crate) struct Spare(Mutex<Vec<Vec<u128>>>);

impl Spare {
    fn take(&self) -> Vec<u128> {
        self.lock().pop().unwrap_or_default()
    }

    fn give_back(&self, rows: Vec<u128>) {
        self.lock().push(rows);
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Vec<u128>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Sums {
    /// Nothing added yet.
    pub(crate) fn over(pieces: &[Piece], hash: RowHash, spare: &Arc<Spare>) -> Self {
        let zeros = |piece: &Piece| Mutex::new(PieceSums::of(piece.rows, spare.take()));
        Self {
            hash,
            pieces: pieces.iter().map(zeros).collect(),
            spare: Arc::clone(spare),
        }
    }

    /// The sums of a piece's rows, to add to.
    pub(super) fn of_piece(&self, piece: usize) -> MutexGuard<'_, PieceSums> {
        self.pieces[piece].lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The digest of the rows, once all columns were added.
    pub(crate) fn seal(&self) -> Digest {
        let mut digest = Digest::EMPTY;
        for piece in 0..self.pieces.len() {
            let mut sums = self.of_piece(piece);
            digest += sums.seal(self.hash);
            self.spare.give_back(std::mem::take(&mut sums.rows));
        }
        digest
    }
}

/// Rows that are added to as one where a column has the same value in all of them, as those that rows are sorted by often have.
const STRETCH_ROWS: usize = 256;

/// The sums of some rows.
pub(super) struct PieceSums {
    rows: Vec<u128>,
    /// For each stretch what all its rows have beside that.
    alike: Vec<u128>,
}

impl PieceSums {
    fn of(rows: usize, mut room: Vec<u128>) -> Self {
        room.clear();
        room.resize(rows, 0);
        Self {
            rows: room,
            alike: vec![0; rows.div_ceil(STRETCH_ROWS)],
        }
    }

    /// Adds the entries of a dictionary that rows have.
    pub(super) fn add_codes(&mut self, entries: &[u128], codes: &Int32Array) {
        if codes.null_count() > 0 {
            return add_codes(&mut self.rows, entries, codes);
        }
        for (number, codes) in codes.values().chunks(STRETCH_ROWS).enumerate() {
            match all_alike(codes) {
                true => self.add_to_all(number, entries[codes[0] as usize]),
                false => {
                    let rows = self.rows[number * STRETCH_ROWS..].iter_mut().zip(codes);
                    rows.for_each(|(sum, code)| *sum = sum.wrapping_add(entries[*code as usize]));
                }
            }
        }
    }

    /// Adds the hashes of a column's values.
    pub(super) fn add_column(
        &mut self,
        hash: RowHash,
        name: &str,
        column: &ArrayRef,
    ) -> Result<(), ArrowError> {
        let mut rest = 0..0;
        for (number, is_alike) in alike_stretches(column).into_iter().enumerate() {
            let start = number * STRETCH_ROWS;
            rest.end = (start + STRETCH_ROWS).min(column.len());
            if is_alike {
                self.add_rows(hash, name, column, rest.start..start)?;
                let mut one = [0];
                hash.add_column(&mut one, name, &column.slice(start, 1))?;
                self.add_to_all(number, one[0]);
                rest.start = rest.end;
            }
        }
        self.add_rows(hash, name, column, rest.start..column.len())
    }

    fn add_rows(
        &mut self,
        hash: RowHash,
        name: &str,
        column: &ArrayRef,
        rows: Range<usize>,
    ) -> Result<(), ArrowError> {
        match rows.len() {
            0 => Ok(()),
            length => hash.add_column(
                &mut self.rows[rows.clone()],
                name,
                &column.slice(rows.start, length),
            ),
        }
    }

    fn add_to_all(&mut self, stretch: usize, hash: u128) {
        self.alike[stretch] = self.alike[stretch].wrapping_add(hash);
    }

    fn seal(&mut self, hash: RowHash) -> Digest {
        let mut digest = Digest::EMPTY;
        for (rows, alike) in self.rows.chunks_mut(STRETCH_ROWS).zip(&self.alike) {
            rows.iter_mut().for_each(|sum| *sum = sum.wrapping_add(*alike));
            digest += hash.seal(rows);
        }
        digest
    }
}

/// Which stretches of a column hold one value only. Nothing where that is not looked for.
fn alike_stretches(column: &ArrayRef) -> Vec<bool> {
    let data = column.to_data();
    match data.data_type().primitive_width() {
        _ if column.null_count() > 0 => Vec::new(),
        Some(4) => stretches_of(&data.buffer::<i32>(0)[..data.len()]),
        Some(8) => stretches_of(&data.buffer::<i64>(0)[..data.len()]),
        _ => Vec::new(),
    }
}

fn stretches_of<T: Copy + PartialEq>(values: &[T]) -> Vec<bool> {
    values.chunks(STRETCH_ROWS).map(all_alike).collect()
}

fn all_alike<T: Copy + PartialEq>(values: &[T]) -> bool {
    // Most columns differ in the first two rows.
    values.len() > 1 && values[1..] == values[..values.len() - 1]
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrow::array::{Float64Array, Int64Array, StringArray, TimestampMillisecondArray};

    /// Rows in which values stay the same for long, change in the middle of a stretch, and stay the same to the end.
    fn rows(count: usize) -> impl Iterator<Item = i64> {
        (0..count as i64).map(|row| if row % 700 < 650 { row / 700 } else { row })
    }

    #[test]
    fn rows_that_are_added_to_as_one_have_the_digest_that_each_has_alone() {
        let names: Vec<String> = rows(20_000).map(|row| format!("name {row}")).collect();
        let columns: Vec<(&str, ArrayRef)> = vec![
            ("number", Arc::new(Int64Array::from_iter_values(rows(20_000)))),
            (
                "nulls",
                Arc::new(
                    rows(20_000)
                        .map(|row| (row % 3 > 0).then_some(row))
                        .collect::<Int64Array>(),
                ),
            ),
            (
                "time",
                Arc::new(TimestampMillisecondArray::from_iter_values(rows(20_000))),
            ),
            (
                "float",
                Arc::new(Float64Array::from_iter_values(rows(20_000).map(|row| row as f64))),
            ),
            ("name", Arc::new(StringArray::from_iter_values(&names))),
        ];
        for hash in [RowHash::Xxh3, RowHash::Weighted] {
            // The last stretch is a short one, or of one row, or there is only one.
            for count in [20_000, 257, 256, 3, 1] {
                let mut sums = PieceSums::of(count, vec![7; 100]);
                let mut expected = vec![0; count];
                for (name, column) in &columns {
                    let column = column.slice(20_000 - count, count);
                    sums.add_column(hash, name, &column).unwrap();
                    hash.add_column(&mut expected, name, &column).unwrap();
                }
                let codes = Int32Array::from_iter_values((0..count as i32).map(|row| row / 600 % 3));
                let entries = [7, 1 << 100, u128::MAX];
                sums.add_codes(&entries, &codes);
                add_codes(&mut expected, &entries, &codes);
                assert_eq!(
                    sums.seal(hash),
                    hash.seal(&mut expected),
                    "{hash:?}, {count} rows"
                );
            }
        }
    }
}
