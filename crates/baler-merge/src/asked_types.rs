//! As which types the decoder is asked for the columns of a file: as plain values, and those in small dictionaries as such.

use crate::error::{FileError, refused};
use crate::limits::SMALL_DICTIONARY_BYTES;
use crate::promote::plain_field;
use arrow::datatypes::{DataType, Fields, Schema};
use parquet::arrow::arrow_reader::{ArrowReaderMetadata, ArrowReaderOptions};
use parquet::basic::{Encoding, PageType};
use parquet::file::metadata::{ColumnChunkMetaData, PageEncodingStats, ParquetMetaData};
use std::collections::HashSet;
use std::sync::Arc;

/// Views, dictionaries and runs are asked for as plain values, so that nothing downstream meets them.
pub(crate) fn plain_metadata(footer: &Arc<ParquetMetaData>) -> Result<ArrowReaderMetadata, FileError> {
    let odd =
        |why: parquet::errors::ParquetError| FileError::Refused(format!("its schema cannot be read: {why}"));
    let found = ArrowReaderMetadata::try_new(Arc::clone(footer), ArrowReaderOptions::new()).map_err(odd)?;
    let fields: Fields = found.schema().fields().iter().map(plain_field).collect();
    if &fields == found.schema().fields() {
        return Ok(found);
    }
    let plain = Arc::new(Schema::new_with_metadata(
        fields,
        found.schema().metadata().clone(),
    ));
    ArrowReaderMetadata::try_new(Arc::clone(footer), ArrowReaderOptions::new().with_schema(plain))
        .map_err(odd)
}

/// The same, with columns that lie in small dictionaries asked for as such. `schema` are its columns in plain layout.
pub(crate) fn coded_metadata(
    metadata: ArrowReaderMetadata,
    schema: &Schema,
) -> Result<ArrowReaderMetadata, FileError> {
    let (mut any, footer) = (false, metadata.metadata());
    let fields = schema.fields().iter().map(|field| {
        let coded = is_bytes(field.data_type()) && is_small_dictionary(footer, field.name());
        any |= coded;
        match coded {
            true => {
                let coded = DataType::Dictionary(DataType::Int32.into(), field.data_type().clone().into());
                Arc::new(field.as_ref().clone().with_data_type(coded))
            }
            false => Arc::clone(field),
        }
    });
    let schema = Schema::new_with_metadata(fields.collect::<Fields>(), schema.metadata().clone());
    if !any {
        return Ok(metadata);
    }
    let options = ArrowReaderOptions::new().with_schema(Arc::new(schema));
    ArrowReaderMetadata::try_new(Arc::clone(metadata.metadata()), options)
        .or_else(|why| refused(format!("its schema cannot be read: {why}")))
}

fn is_bytes(data_type: &DataType) -> bool {
    matches!(
        data_type,
        DataType::Utf8 | DataType::LargeUtf8 | DataType::Binary | DataType::LargeBinary
    )
}

/// Whether the footer says that all pages of a top-level column are dictionary indices, and the dictionaries are short.
fn is_small_dictionary(footer: &ParquetMetaData, name: &str) -> bool {
    let chunks = footer.row_groups().iter().filter_map(|group| {
        let mut columns = group.columns().iter();
        columns.find(|chunk| matches!(chunk.column_path().parts(), [only] if only == name))
    });
    let small = |chunk: &ColumnChunkMetaData| {
        let packed = chunk
            .dictionary_page_offset()
            .map(|start| chunk.data_page_offset().saturating_sub(start));
        let pages = chunk.page_encoding_stats().into_iter().flatten();
        let mut data =
            pages.filter(|pages| matches!(pages.page_type, PageType::DATA_PAGE | PageType::DATA_PAGE_V2));
        let indices = |pages: &PageEncodingStats| {
            matches!(
                pages.encoding,
                Encoding::RLE_DICTIONARY | Encoding::PLAIN_DICTIONARY
            )
        };
        packed.is_some_and(|packed| (0..=SMALL_DICTIONARY_BYTES).contains(&packed))
            && chunk.page_encoding_stats().is_some()
            && data.all(indices)
    };
    footer.num_row_groups() > 0 && chunks.into_iter().all(small)
}

/// A name that occurs twice in one structure: columns go by name, so one of the two would be lost.
pub(crate) fn duplicate(fields: &Fields) -> Option<String> {
    let mut seen = HashSet::new();
    fields.iter().find_map(|field| match seen.insert(field.name()) {
        false => Some(field.name().clone()),
        true => duplicate_inside(field.data_type()),
    })
}

fn duplicate_inside(data_type: &DataType) -> Option<String> {
    match data_type {
        DataType::Struct(fields) => duplicate(fields),
        DataType::List(item) | DataType::LargeList(item) | DataType::FixedSizeList(item, _) => {
            duplicate_inside(item.data_type())
        }
        DataType::Map(entries, _) => match entries.data_type() {
            // Key and value go by place.
            DataType::Struct(fields) => fields
                .iter()
                .find_map(|field| duplicate_inside(field.data_type())),
            _ => None,
        },
        _ => None,
    }
}
