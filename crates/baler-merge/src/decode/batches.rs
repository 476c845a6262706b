//! Decodes an open file batch by batch. Nothing in a file may end the process: the decoder's panics are caught and become a refusal of
//! the file.

use super::{OpenFile, footer_of};
use crate::asked_types::{coded_metadata, plain_metadata};
use crate::error::{FileError, refused};
use crate::io::Input;
use crate::page_places::selectors;
use crate::windows::Windows;
use arrow::array::RecordBatch;
use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::{
    ArrowReaderMetadata, ArrowReaderOptions, ParquetRecordBatchReader, ParquetRecordBatchReaderBuilder,
    RowSelection, RowSelectionPolicy,
};
use parquet::file::metadata::RowGroupMetaData;
use parquet::file::metadata::page_index::PageIndexBuilder;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

/// What is kept of a column chunk that is read alone.
const COLUMN_WINDOW_BYTES: usize = 1 << 20;

/// How a file is to be read.
#[derive(Debug, Clone)]
pub(crate) struct Reading {
    /// Indices of top-level columns; all if none is given.
    pub(crate) columns: Option<Vec<usize>>,
    /// Columns that lie in small dictionaries come as such, and not as the values they stand for.
    pub(crate) coded: bool,
    pub(crate) batch_rows: usize,
    pub(crate) window_bytes: usize,
}

impl OpenFile {
    /// Begins to decode some top-level columns of one row group.
    pub(crate) fn read_columns(
        &self,
        columns: &[usize],
        group: usize,
        batch_rows: usize,
    ) -> Result<Batches, FileError> {
        let metadata = self.metadata(vec![self.footer.row_group(group).clone()])?;
        let mask = ProjectionMask::roots(metadata.parquet_schema(), columns.iter().copied());
        let input = Arc::clone(&self.input) as Arc<dyn Input>;
        let windows = Windows::new(input, metadata.metadata(), &[], &mask, COLUMN_WINDOW_BYTES);
        let builder = ParquetRecordBatchReaderBuilder::new_with_metadata(windows.clone(), metadata)
            .with_batch_size(batch_rows)
            .with_projection(mask);
        let reader = guarded(|| builder.build().map_err(|why| damaged(&windows, &why)))?;
        Ok(Batches {
            reader,
            windows,
            rows_due: self.footer().row_group(group).num_rows().unsigned_abs(),
        })
    }

    /// Begins to decode.
    pub(crate) fn read(&self, reading: &Reading) -> Result<Batches, FileError> {
        if reading.columns.is_none() && self.is_worth_holding(reading.window_bytes) {
            self.input.hold()?;
        }
        let mask = match &reading.columns {
            Some(columns) => {
                let parquet = self.footer.file_metadata().schema_descr();
                ProjectionMask::roots(parquet, columns.iter().copied())
            }
            None => ProjectionMask::all(),
        };
        let input = Arc::clone(&self.input) as Arc<dyn Input>;
        let windows = Windows::new(input, self.footer(), &self.pages, &mask, reading.window_bytes);
        let metadata = self.metadata(self.footer.row_groups().to_vec())?;
        let metadata = match reading.coded {
            true => guarded(|| coded_metadata(metadata, self.schema()))?,
            false => metadata,
        };
        let selected = self.pages.iter().any(Option::is_some);
        let metadata = match selected {
            true => guarded(|| self.paged_metadata(&metadata))?,
            false => metadata,
        };
        let mut builder = ParquetRecordBatchReaderBuilder::new_with_metadata(windows.clone(), metadata)
            .with_batch_size(reading.batch_rows)
            .with_projection(mask);
        if selected {
            builder = builder
                .with_row_selection_policy(RowSelectionPolicy::Selectors)
                .with_row_selection(self.selection());
        }
        let reader = guarded(|| builder.build().map_err(|why| damaged(&windows, &why)))?;
        Ok(Batches {
            reader,
            windows,
            rows_due: self.rows_selected(),
        })
    }

    /// How the decoder sees these row groups.
    fn metadata(&self, groups: Vec<RowGroupMetaData>) -> Result<ArrowReaderMetadata, FileError> {
        let pairs = self.description.pairs.clone();
        let footer = Arc::new(footer_of(self.footer.file_metadata(), groups, pairs));
        guarded(|| plain_metadata(&footer))
    }

    /// Rows that are read.
    fn rows_selected(&self) -> u64 {
        let groups = self.footer().row_groups().iter().enumerate();
        groups
            .map(|(number, group)| match self.pages_of(number) {
                Some(pages) => pages.count(),
                None => group.num_rows().unsigned_abs(),
            })
            .sum()
    }

    fn selection(&self) -> RowSelection {
        let groups = self.footer().row_groups().iter().enumerate();
        let rows =
            groups.flat_map(|(number, group)| selectors(group, self.pages_of(number).map(Arc::as_ref)));
        rows.collect::<Vec<_>>().into()
    }

    /// The same, with the places of pages for row groups of which some are not read.
    fn paged_metadata(&self, metadata: &ArrowReaderMetadata) -> Result<ArrowReaderMetadata, FileError> {
        let footer = self.footer();
        let mut index = PageIndexBuilder::new(footer.num_row_groups(), self.leaves());
        for (group, pages) in self.pages.iter().enumerate() {
            for (leaf, places) in pages.iter().flat_map(|pages| pages.places.iter().enumerate()) {
                index.put_offset_index(places.clone(), group, leaf);
            }
        }
        let footer = footer.clone().into_builder();
        let footer = footer.set_page_index(Some(Arc::new(index.build()))).build();
        let options = ArrowReaderOptions::new().with_schema(Arc::clone(metadata.schema()));
        ArrowReaderMetadata::try_new(Arc::new(footer), options)
            .or_else(|why| refused(format!("its schema cannot be read: {why}")))
    }
}

/// The decoded rows of a file, in file order.
pub(crate) struct Batches {
    reader: ParquetRecordBatchReader,
    windows: Windows,
    rows_due: u64,
}

impl Batches {
    /// The next batch. At the end, every row that the footer claims must have come: none is skipped in silence.
    pub(crate) fn next(&mut self) -> Result<Option<RecordBatch>, FileError> {
        let windows = &self.windows;
        let reader = &mut self.reader;
        let batch = guarded(|| reader.next().transpose().map_err(|why| damaged(windows, &why)))?;
        match &batch {
            Some(batch) => match self.rows_due.checked_sub(batch.num_rows() as u64) {
                Some(due) => self.rows_due = due,
                None => return refused("it holds more rows than its footer says"),
            },
            None if self.rows_due > 0 => {
                return refused(format!("it ends {} rows before its footer says", self.rows_due));
            }
            None => {}
        }
        Ok(batch)
    }
}

fn damaged(windows: &Windows, why: &dyn std::error::Error) -> FileError {
    match windows.take_failure() {
        Some(source) => FileError::Read(source),
        None => FileError::Refused(format!("its data is damaged: {why}")),
    }
}

/// Runs the decoder; a panic in it is a refusal.
pub(super) fn guarded<T>(decode: impl FnOnce() -> Result<T, FileError>) -> Result<T, FileError> {
    match catch_unwind(AssertUnwindSafe(decode)) {
        Ok(result) => result,
        Err(panic) => {
            let why = panic.downcast_ref::<String>().map(String::as_str);
            let why = why
                .or_else(|| panic.downcast_ref::<&str>().copied())
                .unwrap_or("no reason given");
            refused(format!("its data is damaged: the decoder gave up ({why})"))
        }
    }
}
