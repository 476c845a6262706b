//! A whole batch, some rows at a time: so few that their sums stay in the nearest cache while column after column is added to them.

use super::{RowHash, add_codes};
use crate::digest::Digest;
use arrow::array::*;
use arrow::datatypes::Int32Type;
use arrow::error::ArrowError;

/// Their sums take 32 KiB.
const BLOCK_ROWS: usize = 2_048;

/// A column that is added block by block.
enum Column<'a> {
    Values(&'a str, &'a ArrayRef),
    /// Entries of a dictionary, hashed once.
    Coded(Vec<u128>, &'a Int32Array),
}

impl RowHash {
    /// The digest of a batch's rows.
    pub(crate) fn digest_of_batch(self, batch: &RecordBatch) -> Result<Digest, ArrowError> {
        self.in_blocks(batch, |_| {})
    }

    /// The same, and the hash of each row.
    pub(crate) fn rows_of_batch(self, batch: &RecordBatch) -> Result<(Vec<u128>, Digest), ArrowError> {
        let mut rows = Vec::with_capacity(batch.num_rows());
        let digest = self.in_blocks(batch, |block| rows.extend_from_slice(block))?;
        Ok((rows, digest))
    }

    fn in_blocks(self, batch: &RecordBatch, mut take: impl FnMut(&[u128])) -> Result<Digest, ArrowError> {
        let columns = self.columns(batch)?;
        let mut sums = [0; BLOCK_ROWS];
        let mut digest = Digest::EMPTY;
        for first in (0..batch.num_rows()).step_by(BLOCK_ROWS) {
            let rows = BLOCK_ROWS.min(batch.num_rows() - first);
            let block = &mut sums[..rows];
            block.fill(0);
            for column in &columns {
                match column {
                    Column::Values(name, array) => self.add_column(block, name, &array.slice(first, rows))?,
                    Column::Coded(entries, codes) => {
                        add_codes(block, entries, &Int32Array::slice(codes, first, rows));
                    }
                }
            }
            digest += self.seal(block);
            take(block);
        }
        Ok(digest)
    }

    fn columns(self, batch: &RecordBatch) -> Result<Vec<Column<'_>>, ArrowError> {
        let fields = batch.schema_ref().fields().iter();
        let columns = fields.zip(batch.columns()).map(|(field, array)| {
            let coded = array.as_dictionary_opt::<Int32Type>();
            // A dictionary that is mostly unused is not worth hashing.
            match coded.filter(|coded| coded.values().len() <= array.len()) {
                Some(coded) => Ok(Column::Coded(
                    self.entries(field.name(), coded.values())?,
                    coded.keys(),
                )),
                None => Ok(Column::Values(field.name(), array)),
            }
        });
        columns.collect()
    }
}
