//! Opens a Parquet file after all checks; what is decoded of it comes in batches.

mod batches;
mod describe;

pub(crate) use batches::Reading;

use crate::descriptions::{Description, Descriptions};
use crate::error::FileError;
use crate::footer::read_footer;
use crate::held::HeldInput;
use crate::io::Input;
use crate::limits::SMALL_FILE_BYTES;
use crate::page_places::GroupPages;
use arrow::datatypes::{Schema, SchemaRef};
use describe::describe;
use parquet::arrow::ARROW_SCHEMA_META_KEY;
use parquet::file::metadata::{
    FileMetaData, KeyValue, ParquetMetaData, ParquetMetaDataOptions, RowGroupMetaData,
};
use std::ops::Range;
use std::sync::Arc;

/// A file whose footer was found sound.
#[derive(Clone)]
pub(crate) struct OpenFile {
    input: Arc<HeldInput>,
    /// Without what is in the description; many inputs are open at once.
    footer: Arc<ParquetMetaData>,
    description: Arc<Description>,
    /// What all row groups take, those that are not shown too.
    data_bytes: u64,
    /// For each row group how many rows lie before it in the file, those that are not shown too.
    starts: Vec<u64>,
    /// For each row group of which not all pages are to be read which those are; may be shorter than the row groups are many.
    pages: Vec<Option<Arc<GroupPages>>>,
}

impl OpenFile {
    /// Reads and checks the footer, statistics included. With `hold` the whole file is read, in one read, and held until
    /// released. Files that are opened with the same `known` share what they say alike.
    pub(crate) fn open(input: &Arc<dyn Input>, hold: bool, known: &Descriptions) -> Result<Self, FileError> {
        let options = ParquetMetaDataOptions::new().with_encoding_stats_as_mask(false);
        let input = HeldInput::new(input);
        if hold {
            input.hold()?;
        }
        Self::open_as(input, &options, known)
    }

    /// Reads and checks the footer, statistics included.
    pub(crate) fn open_with_statistics(input: &Arc<dyn Input>) -> Result<Self, FileError> {
        let (options, known) = (ParquetMetaDataOptions::new(), Descriptions::default());
        Self::open_as(HeldInput::new(input), &options, &known)
    }

    fn open_as(
        input: HeldInput,
        options: &ParquetMetaDataOptions,
        known: &Descriptions,
    ) -> Result<Self, FileError> {
        let found = read_footer(&input, options, known)?;
        let pairs = found.metadata.file_metadata().key_value_metadata();
        let description = match known.find(&found.schema, pairs) {
            Some(description) => description,
            None => known.add(describe(&found)?),
        };
        let mut rest = found.metadata.into_builder();
        let groups = rest.take_row_groups();
        let footer = footer_of(rest.build().file_metadata(), groups, None);
        Ok(Self {
            input: Arc::new(input),
            data_bytes: data_bytes(&footer),
            starts: starts(&footer),
            footer: Arc::new(footer),
            description,
            pages: Vec::new(),
        })
    }

    /// The columns, in plain layout.
    pub(crate) fn schema(&self) -> &SchemaRef {
        &self.description.schema
    }

    /// The columns, and all that the file says about itself: beside its Arrow schema or in it.
    pub(crate) fn described_schema(&self) -> SchemaRef {
        let mut schema = Schema::clone(self.schema());
        for pair in self.description.pairs.iter().flatten() {
            if let Some(value) = pair.value.clone().filter(|_| pair.key != ARROW_SCHEMA_META_KEY) {
                schema.metadata.insert(pair.key.clone(), value);
            }
        }
        Arc::new(schema)
    }

    pub(crate) fn footer(&self) -> &ParquetMetaData {
        &self.footer
    }

    pub(crate) fn rows(&self) -> u64 {
        self.footer().file_metadata().num_rows().unsigned_abs()
    }

    /// Leaf columns.
    pub(crate) fn leaves(&self) -> usize {
        self.footer().file_metadata().schema_descr().num_columns()
    }

    /// Reads all of a small file, in one read, and holds it until it is released.
    pub(crate) fn hold_if_small(&self) -> Result<(), FileError> {
        match self.input.len() <= SMALL_FILE_BYTES && self.shows_most() {
            true => self.input.hold(),
            false => Ok(()),
        }
    }

    /// Whether its row groups are most of the file's: else reading all of it would be a waste.
    fn shows_most(&self) -> bool {
        data_bytes(self.footer()) >= self.data_bytes / 2
    }

    /// Whether reads of it cost nothing.
    pub(crate) fn is_held(&self) -> bool {
        self.input.is_held()
    }

    /// Lets go of the bytes that are held.
    pub(crate) fn release(&self) {
        self.input.release();
    }

    /// Whether to hold the file while it is read with windows of this size: it is small, and they would hold as much.
    pub(crate) fn is_worth_holding(&self, window_bytes: usize) -> bool {
        let small = self.input.len() <= SMALL_FILE_BYTES.min((window_bytes * self.leaves()) as u64);
        small && self.shows_most()
    }

    /// The file's bytes.
    pub(crate) fn input(&self) -> &dyn Input {
        self.input.as_ref()
    }

    /// The same file, as if it had these row groups only.
    pub(crate) fn with_groups(&self, groups: &[usize]) -> Self {
        let pages = groups.iter().map(|group| self.pages_of(*group).cloned());
        let pages = pages.collect();
        let starts = groups.iter().map(|group| self.starts[*group]).collect();
        let groups: Vec<_> = groups
            .iter()
            .map(|group| self.footer.row_group(*group).clone())
            .collect();
        let footer = footer_of(self.footer.file_metadata(), groups, None);
        Self {
            input: Arc::clone(&self.input),
            footer: Arc::new(footer),
            description: Arc::clone(&self.description),
            data_bytes: self.data_bytes,
            starts,
            pages,
        }
    }

    /// The same file, of which row groups are read as far as these say.
    pub(crate) fn with_pages(self, pages: Vec<Option<Arc<GroupPages>>>) -> Self {
        Self { pages, ..self }
    }

    fn pages_of(&self, group: usize) -> Option<&Arc<GroupPages>> {
        self.pages.get(group)?.as_ref()
    }

    /// The positions in the file of a row group's rows.
    pub(crate) fn positions_of(&self, group: usize) -> Range<u64> {
        let start = self.starts[group];
        start..start.saturating_add(self.footer.row_group(group).num_rows().unsigned_abs())
    }

    /// The positions in the file of all rows that are read, in order.
    pub(crate) fn positions(&self) -> Vec<Range<u64>> {
        let mut positions = Vec::with_capacity(self.starts.len());
        for (group, start) in self.starts.iter().enumerate() {
            match self.pages_of(group) {
                Some(pages) => {
                    positions.extend(pages.rows.iter().map(|rows| start + rows.start..start + rows.end))
                }
                None => positions.push(self.positions_of(group)),
            }
        }
        positions.retain(|rows| !rows.is_empty());
        positions
    }
}

/// The footer of a file that has these row groups only.
fn footer_of(
    file: &FileMetaData,
    groups: Vec<RowGroupMetaData>,
    pairs: Option<Vec<KeyValue>>,
) -> ParquetMetaData {
    let file = FileMetaData::new(
        file.version(),
        groups.iter().map(|group| group.num_rows()).sum(),
        file.created_by().map(str::to_owned),
        pairs,
        file.schema_descr_ptr(),
        file.column_orders().cloned(),
    );
    ParquetMetaData::new(file, groups)
}

fn data_bytes(footer: &ParquetMetaData) -> u64 {
    let groups = footer.row_groups().iter();
    groups.map(|group| group.compressed_size().unsigned_abs()).sum()
}

fn starts(footer: &ParquetMetaData) -> Vec<u64> {
    let rows = footer
        .row_groups()
        .iter()
        .map(|group| group.num_rows().unsigned_abs());
    let starts = rows.scan(0u64, |before, rows| {
        let start = *before;
        *before = before.saturating_add(rows);
        Some(start)
    });
    starts.collect()
}
