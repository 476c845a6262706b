//! Shares out the memory budget, and estimates from footers what reading a file costs. Pure.

use crate::decode::OpenFile;
use crate::limits::MEMORY_BYTES_MIN;
use crate::merger::ChunkSize;
use crate::spec::Budget;
use parquet::basic::{PageType, Type};
use parquet::file::metadata::ColumnChunkMetaData;

/// Who may hold how much at one time. The rest, about an eighth, is for what passes between them.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Shares {
    /// Threads to work on.
    pub(crate) threads: usize,
    /// Small inputs held whole from when they are opened. Later they count among the sources; before, nothing else is there.
    pub(crate) held: usize,
    /// Open inputs and runs: pages, windows, batches.
    pub(crate) sources: usize,
    /// The row group in work.
    pub(crate) writer: usize,
    /// Rows gathered for a run; nothing else is open then but one input.
    pub(crate) sorter: usize,
    /// Merged rows on their way to the encoder.
    pub(crate) chunk: ChunkSize,
    /// Merged rows on their way into a run: small, because each open run holds one such chunk.
    pub(crate) run_chunk: ChunkSize,
}

impl Shares {
    pub(crate) fn of(budget: Budget) -> Self {
        let memory = usize::try_from(budget.memory_bytes.max(MEMORY_BYTES_MIN)).unwrap_or(usize::MAX);
        let eighth = memory / 8;
        Self {
            threads: budget.threads,
            held: eighth * 2,
            sources: eighth * 4,
            writer: eighth * 2,
            sorter: eighth * 4,
            chunk: ChunkSize {
                rows: 32 << 10,
                bytes: (memory / 32).clamp(64 << 10, 8 << 20),
            },
            run_chunk: ChunkSize {
                rows: 32 << 10,
                bytes: (memory / 1024).clamp(16 << 10, 1 << 20),
            },
        }
    }

    /// What an open run holds: a chunk as read, unpacked and with keys, and one that the merge has not let go yet.
    pub(crate) fn run_bytes(&self) -> usize {
        self.run_chunk.bytes * 3 + (64 << 10)
    }

    /// What a batch of an input may hold while `open` of them are merged.
    pub(crate) fn batch_bytes(&self, open: usize) -> usize {
        (self.sources / open.max(1) / 6).clamp(32 << 10, 4 << 20)
    }

    /// What may be kept of a column chunk while `open` inputs with `columns` columns are merged.
    pub(crate) fn window_bytes(&self, open: usize, columns: usize) -> usize {
        (self.sources / open.max(1) / columns.max(1) / 6).clamp(8 << 10, 1 << 20)
    }
}

/// Rows that fit into a batch of so many bytes.
pub(crate) fn batch_rows(batch_bytes: usize, row_bytes: usize) -> usize {
    (batch_bytes / row_bytes.max(1)).clamp(64, 32 << 10)
}

/// Bytes of a decoded row, on average.
pub(crate) fn row_bytes(file: &OpenFile) -> usize {
    let bytes: u64 = file
        .footer()
        .row_groups()
        .iter()
        .flat_map(|group| group.columns())
        .map(decoded_bytes)
        .sum();
    (bytes / file.rows().max(1)) as usize + 1
}

fn decoded_bytes(chunk: &ColumnChunkMetaData) -> u64 {
    let values = chunk.num_values().unsigned_abs();
    let each = match chunk.column_type() {
        Type::BOOLEAN => 1,
        Type::INT32 | Type::FLOAT => 4,
        Type::INT64 | Type::INT96 | Type::DOUBLE => 8,
        Type::FIXED_LEN_BYTE_ARRAY => chunk.column_descr().type_length().unsigned_abs().max(16).into(),
        Type::BYTE_ARRAY => {
            // A dictionary hides how long its values are; where the footer does not tell, take them for medium.
            let told = chunk.unencoded_byte_array_data_bytes().map(i64::unsigned_abs);
            let bytes = told.unwrap_or_else(|| chunk.uncompressed_size().unsigned_abs().max(values * 24));
            return bytes + values * 5;
        }
    };
    values * each + values / 8
}

/// What an open file that is not held keeps packed: all of it if it is small, else for each column a window, or a page if
/// that is longer.
pub(crate) fn packed_bytes(file: &OpenFile, window_bytes: usize) -> usize {
    if file.is_worth_holding(window_bytes) {
        return file.bytes() as usize;
    }
    sum_over_columns(file, |chunk| {
        let packed = chunk.compressed_size().unsigned_abs();
        packed.min(page_bytes(chunk).max(window_bytes as u64))
    })
}

/// What an open file keeps unpacked beside its batches: for each column a page and a dictionary.
pub(crate) fn unpacked_bytes(file: &OpenFile) -> usize {
    sum_over_columns(file, |chunk| {
        let page = page_bytes(chunk);
        let unpacked = chunk.uncompressed_size().unsigned_abs();
        // The decoder's own state for a column costs a few kilobytes however little is in it.
        unpacked.min(page + dictionary_bytes(chunk, page)) + (4 << 10)
    })
}

/// The greatest of each column's chunks, added up.
fn sum_over_columns(file: &OpenFile, bytes: impl Fn(&ColumnChunkMetaData) -> u64) -> usize {
    let groups = file.footer().row_groups();
    let columns = groups.first().map_or(0, |group| group.num_columns());
    let most = |column: usize| {
        let chunks = groups.iter().filter_map(|group| group.columns().get(column));
        chunks.map(&bytes).max().unwrap_or(0)
    };
    (0..columns).map(most).sum::<u64>() as usize
}

/// The largest page, about: where the footer counts pages, twice their mean, because the last is shorter; else all may be one.
fn page_bytes(chunk: &ColumnChunkMetaData) -> u64 {
    let unpacked = chunk.uncompressed_size().unsigned_abs();
    let counts = chunk
        .page_encoding_stats()
        .into_iter()
        .flatten()
        .filter(|pages| is_data(pages.page_type));
    let pages: u64 = counts.map(|pages| u64::from(pages.count.unsigned_abs())).sum();
    if pages < 2 {
        unpacked
    } else {
        (unpacked / pages * 2).min(unpacked)
    }
}

fn is_data(page_type: PageType) -> bool {
    matches!(page_type, PageType::DATA_PAGE | PageType::DATA_PAGE_V2)
}

/// The footer tells where the dictionary begins and ends, so how long it is packed; values seldom pack tighter than this.
fn dictionary_bytes(chunk: &ColumnChunkMetaData, page: u64) -> u64 {
    let Some(start) = chunk.dictionary_page_offset() else {
        return 0;
    };
    let packed = chunk
        .data_page_offset()
        .saturating_sub(start)
        .max(0)
        .unsigned_abs();
    (packed * 4).min(page.max(1 << 20))
}
