//! Opens a Parquet file after all checks, and decodes it batch by batch. Nothing in a file may end the process: the
//! decoder's panics are caught and become a refusal of the file.

use crate::asked_types::{coded_metadata, duplicate, plain_metadata};
use crate::descriptions::{Description, Descriptions};
use crate::error::{FileError, refused};
use crate::footer::{FoundFooter, read_footer};
use crate::held::HeldInput;
use crate::io::Input;
use crate::limits::{FIXED_LIST_MAX, SMALL_FILE_BYTES};
use crate::page_places::{GroupPages, selectors};
use crate::windows::Windows;
use arrow::array::RecordBatch;
use arrow::datatypes::{DataType, FieldRef, Fields, Schema, SchemaRef};
use parquet::arrow::arrow_reader::{
    ArrowReaderMetadata, ArrowReaderOptions, ParquetRecordBatchReader, ParquetRecordBatchReaderBuilder,
    RowSelection, RowSelectionPolicy,
};
use parquet::arrow::{ARROW_SCHEMA_META_KEY, ProjectionMask};
use parquet::file::metadata::page_index::PageIndexBuilder;
use parquet::file::metadata::{
    FileMetaData, KeyValue, ParquetMetaData, ParquetMetaDataOptions, RowGroupMetaData,
};
use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

/// What is kept of a column chunk that is read alone.
const COLUMN_WINDOW_BYTES: usize = 1 << 20;

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

    /// How the decoder sees these row groups.
    fn metadata(&self, groups: Vec<RowGroupMetaData>) -> Result<ArrowReaderMetadata, FileError> {
        let pairs = self.description.pairs.clone();
        let footer = Arc::new(footer_of(self.footer.file_metadata(), groups, pairs));
        guarded(|| plain_metadata(&footer))
    }

    /// The same file, of which row groups are read as far as these say.
    pub(crate) fn with_pages(self, pages: Vec<Option<Arc<GroupPages>>>) -> Self {
        Self { pages, ..self }
    }

    fn pages_of(&self, group: usize) -> Option<&Arc<GroupPages>> {
        self.pages.get(group)?.as_ref()
    }

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
}

impl OpenFile {
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

/// What a file says about itself, if it makes sense.
fn describe(found: &FoundFooter) -> Result<Description, FileError> {
    let file = found.metadata.file_metadata();
    let pairs = file.key_value_metadata().cloned();
    let footer = Arc::new(footer_of(file, Vec::new(), pairs.clone()));
    let metadata = guarded(|| plain_metadata(&footer))?;
    let too_long = |field: &&FieldRef| fixed_elements(field.data_type()) > FIXED_LIST_MAX;
    if let Some(field) = metadata.schema().fields().iter().find(too_long) {
        return refused(format!(
            "column {} has lists of {} elements, more than {FIXED_LIST_MAX}",
            field.name(),
            fixed_elements(field.data_type())
        ));
    }
    if let Some(name) = duplicate(metadata.schema().fields()) {
        return refused(format!("column {name} occurs twice"));
    }
    Ok(Description {
        raw: found.schema.to_vec(),
        parquet: file.schema_descr_ptr(),
        pairs,
        schema: Arc::clone(metadata.schema()),
    })
}

/// How many elements a null of this type may take: those of its lists of fixed length, multiplied.
fn fixed_elements(data_type: &DataType) -> u64 {
    let of_fields = |fields: &Fields| {
        let fields = fields.iter();
        fields.map(|field| fixed_elements(field.data_type())).max()
    };
    match data_type {
        DataType::FixedSizeList(field, length) => {
            u64::from(length.unsigned_abs()).saturating_mul(fixed_elements(field.data_type()))
        }
        DataType::List(field) | DataType::LargeList(field) | DataType::Map(field, _) => {
            fixed_elements(field.data_type())
        }
        DataType::Struct(fields) => of_fields(fields).unwrap_or(1),
        _ => 1,
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
fn guarded<T>(decode: impl FnOnce() -> Result<T, FileError>) -> Result<T, FileError> {
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
