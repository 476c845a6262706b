//! Parquet pages, written and read by ourselves, so that what is known already need not be found again.
//!
//! ```text
//! codes, values, validity ─▶ rle, plain, delta, levels ─▶ ChunkWriter ─▶ pack ▶ crc ▶ header ─▶ EncodedColumn
//! column chunk ─▶ header ▶ checks ▶ crc ─▶ RawPage ─▶ unpack ─▶ levels, rle, plain, delta
//! ```
//!
//! Only flat columns are spoken of here: definition levels 0 and 1, no repetition levels.

pub(crate) mod bits;
pub(crate) mod bounds;
pub(crate) mod chunk_writer;
pub(crate) mod codec;
pub(crate) mod delta;
pub(crate) mod dictionary;
pub(crate) mod header;
pub(crate) mod lengths;
pub(crate) mod levels;
pub(crate) mod open_page;
pub(crate) mod parse_header;
pub(crate) mod plain;
pub(crate) mod raw;
pub(crate) mod rle;
pub(crate) mod summary;

#[cfg(test)]
mod writing_tests;
