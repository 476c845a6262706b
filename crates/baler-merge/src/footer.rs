//! Reads a file's footer in one read, or two if it is long, and checks every claim in it before anything acts on it.

use crate::descriptions::Descriptions;
use crate::error::{FileError, refused};
use crate::io::Input;
use crate::limits::{FIXED_BYTES_MAX, FOOTER_BYTES_MAX, FOOTER_GUESS_BYTES, NESTED_VALUES_MAX};
use crate::thrift::check_footer;
use bytes::Bytes;
use parquet::basic::Type;
use parquet::file::metadata::{
    ParquetMetaData, ParquetMetaDataOptions, ParquetMetaDataReader, RowGroupMetaData,
};
use parquet::schema::types::{ColumnDescPtr, SchemaDescriptor};
use std::panic::{AssertUnwindSafe, catch_unwind};

const MAGIC: &[u8] = b"PAR1";
const MAGIC_ENCRYPTED: &[u8] = b"PARE";
const ENCRYPTED: &str =
    "encrypted: Baler has no keys for Parquet files; leave it out of the table, or put it there decrypted";
/// Length of the footer and the magic, at the very end.
const TAIL_BYTES: u64 = 8;

/// A footer, and the schema in it as it lies there.
pub(crate) struct FoundFooter {
    pub(crate) metadata: ParquetMetaData,
    pub(crate) schema: Bytes,
}

/// The footer of `input`, if the file can be what it says. A schema that is known is not parsed again.
pub(crate) fn read_footer(
    input: &dyn Input,
    options: &ParquetMetaDataOptions,
    known: &Descriptions,
) -> Result<FoundFooter, FileError> {
    let file_bytes = input.len();
    let bytes = read_checked(input)?;
    let shape = check_footer(&bytes).or_else(|why| refused(format!("the footer is damaged: {why}")))?;
    if shape.encrypted {
        return refused(ENCRYPTED);
    }
    let schema = bytes.slice_ref(shape.schema);
    let metadata = match known.schema(&schema) {
        Some(known) => parse(&bytes, &options.clone().with_schema(known))?,
        None => parse(&bytes, options)?,
    };
    let data_end = file_bytes - TAIL_BYTES - bytes.len() as u64;
    check_widths(metadata.file_metadata().schema_descr())?;
    check_rows(&metadata)?;
    for (number, group) in metadata.row_groups().iter().enumerate() {
        check_chunks(group, data_end).or_else(|why| refused(format!("row group {number}: {why}")))?;
    }
    Ok(FoundFooter { metadata, schema })
}

fn read_checked(input: &dyn Input) -> Result<Bytes, FileError> {
    let file_bytes = input.len();
    if file_bytes == 0 {
        return refused("the file is empty (0 bytes)");
    }
    if file_bytes < 4 + TAIL_BYTES {
        return refused(format!("not a Parquet file: {file_bytes} bytes are too few"));
    }
    let guess = file_bytes.min(FOOTER_GUESS_BYTES);
    let end = read_exactly(input, file_bytes - guess, guess as usize)?;
    let (rest, tail) = end.split_at(end.len() - TAIL_BYTES as usize);
    let (length, magic) = tail.split_at(4);
    if magic == MAGIC_ENCRYPTED {
        return refused(ENCRYPTED);
    }
    if magic != MAGIC {
        return refused("not a Parquet file, or cut off: it does not end in PAR1");
    }
    // The head is no claim that anything rests on, so it is looked at only where it costs no read.
    if guess == file_bytes && !end.starts_with(MAGIC) {
        return refused("not a Parquet file: it does not begin with PAR1");
    }
    let footer_bytes = u64::from(u32::from_le_bytes([length[0], length[1], length[2], length[3]]));
    if footer_bytes > FOOTER_BYTES_MAX {
        return refused(format!(
            "the footer claims {footer_bytes} bytes, more than {FOOTER_BYTES_MAX}"
        ));
    }
    if footer_bytes > file_bytes - 4 - TAIL_BYTES {
        return refused(format!(
            "the footer claims {footer_bytes} bytes in a file of {file_bytes}"
        ));
    }
    match rest.len().checked_sub(footer_bytes as usize) {
        Some(start) => Ok(end.slice(start..rest.len())),
        None => read_exactly(
            input,
            file_bytes - TAIL_BYTES - footer_bytes,
            footer_bytes as usize,
        ),
    }
}

/// A read that is short is a fault of the store, not of the file.
pub(crate) fn read_exactly(input: &dyn Input, offset: u64, length: usize) -> Result<Bytes, FileError> {
    match input.read_at(offset, length) {
        Ok(bytes) if bytes.len() == length => Ok(bytes),
        Ok(_) => Err(FileError::Read(std::io::ErrorKind::UnexpectedEof.into())),
        Err(error) => Err(FileError::Read(error)),
    }
}

fn parse(bytes: &[u8], options: &ParquetMetaDataOptions) -> Result<ParquetMetaData, FileError> {
    let parsed = catch_unwind(AssertUnwindSafe(|| {
        ParquetMetaDataReader::decode_metadata_with_options(bytes, Some(options))
    }));
    match parsed {
        Ok(Ok(metadata)) => Ok(metadata),
        Ok(Err(why)) => refused(format!("the footer is damaged: {why}")),
        Err(_) => refused("the footer is damaged: its parser gave up"),
    }
}

/// Nulls of a fixed length take room too, so that a few bytes in a file could ask for any amount of it.
fn check_widths(schema: &SchemaDescriptor) -> Result<(), FileError> {
    let fixed = |leaf: &&ColumnDescPtr| leaf.physical_type() == Type::FIXED_LEN_BYTE_ARRAY;
    let mut leaves = schema.columns().iter().filter(fixed);
    match leaves.find(|leaf| !(0..=FIXED_BYTES_MAX).contains(&leaf.type_length())) {
        None => Ok(()),
        Some(leaf) => refused(format!(
            "column {} has values of {} bytes, more than {FIXED_BYTES_MAX}",
            leaf.path(),
            leaf.type_length()
        )),
    }
}

fn check_rows(metadata: &ParquetMetaData) -> Result<(), FileError> {
    if metadata.file_metadata().schema_descr().num_columns() == 0 {
        return refused("the file has no columns");
    }
    let claimed = metadata.file_metadata().num_rows();
    let mut counted = 0i64;
    for group in metadata.row_groups() {
        match counted
            .checked_add(group.num_rows())
            .filter(|_| group.num_rows() >= 0)
        {
            Some(sum) => counted = sum,
            None => return refused("a row group claims an impossible number of rows"),
        }
    }
    match counted == claimed {
        true => Ok(()),
        false => refused(format!(
            "the footer claims {claimed} rows, its row groups have {counted}"
        )),
    }
}

fn check_chunks(group: &RowGroupMetaData, data_end: u64) -> Result<(), String> {
    for chunk in group.columns() {
        let path = chunk.column_path().string();
        let start = chunk
            .dictionary_page_offset()
            .unwrap_or(chunk.data_page_offset())
            .min(chunk.data_page_offset());
        let length = chunk.compressed_size();
        if chunk.uncompressed_size() < 0 || chunk.num_values() < 0 {
            return Err(format!("column {path} claims a negative size"));
        }
        let end = u64::try_from(start)
            .ok()
            .zip(u64::try_from(length).ok())
            .and_then(|(s, l)| s.checked_add(l));
        if start < 0 || end.is_none_or(|end| end > data_end) {
            return Err(format!("column {path} lies outside the file (cut off?)"));
        }
        let flat = chunk.column_descr().max_rep_level() == 0;
        if !flat && chunk.num_values() > NESTED_VALUES_MAX {
            return Err(format!(
                "column {path} has {} nested values, more than {NESTED_VALUES_MAX}",
                chunk.num_values()
            ));
        }
        if flat && chunk.num_values() != group.num_rows() {
            return Err(format!(
                "column {path} has {} values for {} rows",
                chunk.num_values(),
                group.num_rows()
            ));
        }
    }
    Ok(())
}
