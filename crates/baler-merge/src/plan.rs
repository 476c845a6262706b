//! Shares out the memory budget, and estimates from footers what a row costs. Pure.
//!
//! ```text
//! while inputs are opened:   held
//! while rows are taken in:   held (less and less) + on each thread a batch, its pages, a pile to sort + the shelf (more and more)
//! while columns are written: the shelf + key blocks of all lanes + some windows
//! while pages are copied:    held (less and less) + row groups in work, as they lie and as they will
//! ```

use crate::decode::OpenFile;
use crate::limits::{MEMORY_BYTES_MIN, THREADS_MAX, WINDOW_ROWS_MIN};
use crate::spec::Budget;
use crate::stretch::WINDOWS_AT_ONCE;
use parquet::basic::Type;
use parquet::file::metadata::ColumnChunkMetaData;

/// What a file takes beside its column chunks.
const FILE_BYTES: usize = 1 << 10;
/// What a column chunk takes beside itself: bounds and counts of pages.
const CHUNK_BYTES: usize = 256;
/// Rows that fill so many shelves are nearly all on disk, whatever the shelf keeps.
const SHELVES_MANY: u64 = 12;

/// Who may hold how much at one time.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Shares {
    /// Threads to work on.
    pub(crate) threads: usize,
    /// Small inputs held whole from when they are opened until they are taken in.
    pub(crate) held: usize,
    /// A decoded batch of one input.
    pub(crate) batch: usize,
    /// What may be kept packed of an input that is being decoded.
    windows: usize,
    /// Rows of one input that wait to be sorted.
    pub(crate) pile: usize,
    /// Rows that are laid aside in memory; the others go to disk.
    pub(crate) shelf: usize,
    /// Keys of all lanes that are being merged; of what goes past the merge, those kept since they were looked at.
    pub(crate) keys: usize,
    /// The windows in work.
    pub(crate) window: usize,
    /// What goes past the merge: nothing is on the shelf meanwhile.
    pub(crate) passing: usize,
}

impl Shares {
    pub(crate) fn of(budget: Budget) -> Self {
        let memory = usize::try_from(budget.memory_bytes.max(MEMORY_BYTES_MIN)).unwrap_or(usize::MAX);
        let threads = budget.threads.clamp(1, THREADS_MAX);
        // Some is for what nobody counts: holes between what is, the decoders' and the encoders' own, the program.
        let eighth = (memory - memory / 6) / 8;
        Self {
            threads,
            held: eighth * 2,
            batch: (eighth / 4 / threads).clamp(64 << 10, 4 << 20),
            windows: (eighth / threads).clamp(64 << 10, 16 << 20),
            pile: (eighth * 2 / threads).max(1 << 20),
            shelf: eighth * 7 / 2,
            keys: eighth,
            window: eighth * 5 / 2,
            passing: eighth * 5,
        }
    }

    /// The same while the footers of these inputs are held.
    pub(crate) fn beside(files: &[OpenFile], budget: Budget) -> Self {
        let footers: usize = files.iter().map(footer_bytes).sum();
        let shares = Self::of(Budget {
            memory_bytes: budget.memory_bytes.saturating_sub(footers as u64),
            ..budget
        });
        shares.for_rows_of(files.iter().map(unpacked_bytes).sum())
    }

    /// The same for rows that take so many bytes. Where they are far more than the shelf keeps, most of its share is for the
    /// windows: each reads a stretch of every lane, and the longer these are, the fewer reads there are of the disk.
    fn for_rows_of(self, laid_bytes: u64) -> Self {
        if laid_bytes < SHELVES_MANY * self.shelf as u64 {
            return self;
        }
        let kept = self.shelf / 8;
        Self {
            shelf: kept,
            window: self.window + self.shelf - kept,
            ..self
        }
    }

    /// What may be kept of a column chunk of an input with so many columns.
    pub(crate) fn window_bytes(&self, columns: usize) -> usize {
        (self.windows / columns.max(1)).clamp(8 << 10, 1 << 20)
    }

    /// Rows of a key block, where so many lanes are merged by keys of so many bytes: who looks on has as many again.
    pub(crate) fn block_rows(&self, lanes: usize, key_bytes: usize) -> usize {
        (self.keys / lanes.max(1) / key_bytes.max(1) / 2).clamp(32, 4 << 10)
    }

    /// Rows of a row group that goes past the merge, of which the widest column takes so many bytes a row when it is unpacked,
    /// and all together so many as they lie.
    pub(crate) fn passing_rows(&self, widest: usize, packed: usize) -> usize {
        // On each thread the dictionaries of a column; of two row groups what is read and what is made of it.
        (self.passing / (self.threads * widest + 4 * packed)).max(WINDOW_ROWS_MIN)
    }

    /// Rows of a window of which the widest column takes so many bytes a row, and all together so many.
    pub(crate) fn window_rows(&self, widest: usize, row: usize) -> usize {
        // On each thread a column as read; for each window the order and the sums; the order of one more; packed pages.
        let bytes = self.threads * widest + WINDOWS_AT_ONCE * (12 + 16) + 8 + row / 2;
        (self.window / bytes).max(WINDOW_ROWS_MIN)
    }
}

/// What is held of a file that is open, about.
fn footer_bytes(file: &OpenFile) -> usize {
    let chunks = file.footer().num_row_groups() * file.leaves();
    FILE_BYTES + chunks * (size_of::<ColumnChunkMetaData>() + CHUNK_BYTES)
}

/// Bytes of a file's pages before they were packed: about what its rows take on the shelf, where values that repeat are codes, too.
fn unpacked_bytes(file: &OpenFile) -> u64 {
    let groups = file.footer().row_groups().iter();
    groups.map(|group| group.total_byte_size().unsigned_abs()).sum()
}

/// Rows that fit into a batch of so many bytes.
pub(crate) fn batch_rows(batch_bytes: usize, row_bytes: usize) -> usize {
    (batch_bytes / row_bytes.max(1)).clamp(64, 16 << 10)
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

/// Bytes of a decoded row of the inputs, on average: of the widest leaf column, and of all together.
pub(crate) fn widths(files: &[OpenFile]) -> (usize, usize) {
    let rows: u64 = files.iter().map(OpenFile::rows).sum();
    let mut by_leaf: std::collections::HashMap<String, u64> = std::collections::HashMap::new();
    for chunk in files
        .iter()
        .flat_map(|file| file.footer().row_groups())
        .flat_map(|group| group.columns())
    {
        *by_leaf.entry(chunk.column_path().string()).or_default() += decoded_bytes(chunk);
    }
    let of_row = |bytes: u64| (bytes / rows.max(1)) as usize + 1;
    let widest = by_leaf.values().max().copied().unwrap_or(0);
    (of_row(widest), of_row(by_leaf.values().sum()))
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
