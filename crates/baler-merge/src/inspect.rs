//! What a file says about itself, from its footer alone; and its digest, from all of it.

use crate::decode::{OpenFile, Reading};
use crate::descriptions::Descriptions;
use crate::digest::Digest;
use crate::error::{FileError, refused};
use crate::io::{Input, Progress};
use crate::key_range::KeyRange;
use crate::limits::SMALL_FILE_BYTES;
use crate::memory::memory_of;
use crate::plan::{batch_rows, row_bytes};
use crate::row_hash::RowHash;
use crate::row_time::{RowTimes, TimeColumn};
use crate::spec::{Budget, SortColumn};
use crate::statistics::{constant, key_range, row_times};
use std::sync::Arc;

/// What is asked of a footer beside its size and columns.
#[derive(Debug, Clone, Copy, Default)]
pub struct Asked<'a> {
    /// Bounds of this key.
    pub sort: &'a [SortColumn],
    /// Bounds of this column of times.
    pub row_time: Option<&'a TimeColumn>,
    /// Whether these columns have one value in every row, and which.
    pub constants: &'a [String],
}

/// What a footer says. Order and bounds are claims until a merge has read the rows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Facts {
    /// Rows.
    pub rows: u64,
    /// Row groups.
    pub row_groups: usize,
    /// All pages before compression.
    pub uncompressed_bytes: u64,
    /// Bounds of the sort key; none if the statistics do not tell, there are no rows, or no key was asked for.
    pub keys: Option<KeyRange>,
    /// Bounds of the row times; none if the statistics do not tell, a row has no time, or no column was asked for. Such a file
    /// is never past any time.
    pub times: Option<RowTimes>,
    /// Columns that were asked for and have one value in every row, with that value as text.
    pub constants: Vec<(String, String)>,
    /// The order that every row group declares; not to be trusted.
    pub declared_sort: Vec<SortColumn>,
    /// Top-level columns, in file order.
    pub columns: Vec<ColumnFacts>,
    /// The program that wrote the file, in its own words.
    pub created_by: Option<String>,
}

impl Facts {
    /// The value that a column has in every row, if it was asked for and the statistics prove it.
    pub fn constant_of(&self, column: &str) -> Option<&str> {
        let mut constants = self.constants.iter();
        constants
            .find(|(name, _)| name == column)
            .map(|(_, value)| value.as_str())
    }
}

/// A top-level column.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ColumnFacts {
    /// Its name.
    pub name: String,
    /// Its type in Arrow's words, dictionaries and views as the values they stand for.
    pub data_type: String,
    /// Whether it may hold nulls.
    pub nullable: bool,
}

/// Checks a file's footer and says what is in it: in one read, or in two if the footer is longer than most.
pub fn inspect(input: &Arc<dyn Input>, asked: &Asked<'_>) -> Result<Facts, FileError> {
    let file = OpenFile::open_with_statistics(input)?;
    let footer = file.footer();
    let columns = file.schema().fields().iter().map(|field| ColumnFacts {
        name: field.name().clone(),
        data_type: field.data_type().to_string(),
        nullable: field.is_nullable(),
    });
    let uncompressed: i64 = footer
        .row_groups()
        .iter()
        .flat_map(|g| g.columns())
        .map(|c| c.uncompressed_size())
        .sum();
    let constants = asked.constants.iter();
    Ok(Facts {
        rows: file.rows(),
        row_groups: footer.num_row_groups(),
        uncompressed_bytes: uncompressed.unsigned_abs(),
        keys: key_range(&file, asked.sort),
        times: asked.row_time.and_then(|column| row_times(&file, column)),
        constants: constants
            .filter_map(|name| Some((name.clone(), constant(&file, name)?)))
            .collect(),
        declared_sort: declared_sort(&file),
        columns: columns.collect(),
        created_by: footer.file_metadata().created_by().map(str::to_owned),
    })
}

/// Reads a whole file: its rows and their digest.
pub fn digest_of(
    input: &Arc<dyn Input>,
    hash: RowHash,
    budget: Budget,
    progress: &dyn Progress,
) -> Result<(u64, Digest), FileError> {
    let batch_bytes = (budget.memory_bytes as usize / 8).clamp(64 << 10, 8 << 20);
    let file = OpenFile::open(
        input,
        input.len() <= SMALL_FILE_BYTES.min(batch_bytes as u64),
        &Descriptions::default(),
    )?;
    let reading = Reading {
        columns: None,
        coded: true,
        batch_rows: batch_rows(batch_bytes, row_bytes(&file)),
        window_bytes: 1 << 20,
    };
    let mut batches = file.read(&reading)?;
    let (mut rows, mut digest) = (0, Digest::EMPTY);
    while let Some(batch) = batches.next()? {
        if progress.cancelled() {
            return Err(FileError::Cancelled);
        }
        digest += hash.digest_of_batch(&batch).or_else(refused)?;
        rows += batch.num_rows() as u64;
        progress.advanced(batch.num_rows() as u64, memory_of(&batch) as u64);
    }
    Ok((rows, digest))
}

/// The order that all row groups declare, as far as it is by top-level columns.
pub(crate) fn declared_sort(file: &OpenFile) -> Vec<SortColumn> {
    let footer = file.footer();
    let mut groups = footer.row_groups().iter().map(|group| group.sorting_columns());
    let Some(Some(first)) = groups.next() else {
        return Vec::new();
    };
    if groups.any(|other| other != Some(first)) {
        return Vec::new();
    }
    let parquet = footer.file_metadata().schema_descr();
    let columns = first.iter().map_while(|column| {
        let leaf = usize::try_from(column.column_idx)
            .ok()
            .filter(|leaf| *leaf < parquet.num_columns())?;
        match parquet.column(leaf).path().parts() {
            [name] => Some(SortColumn {
                name: name.clone(),
                descending: column.descending,
                nulls_first: column.nulls_first,
            }),
            _ => None,
        }
    });
    columns.collect()
}
