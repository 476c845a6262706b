//! How outputs are written: codec, encodings, statistics, sorting columns, metadata.

use crate::decode::OpenFile;
use crate::error::MergeError;
use crate::limits::PAGE_ROWS;
use crate::sort_key::SortKey;
use crate::spec::{Codec, MergeSpec};
use arrow::datatypes::SchemaRef;
use parquet::arrow::ArrowSchemaConverter;
use parquet::basic::{Compression, ZstdLevel};
use parquet::file::metadata::{ColumnChunkMetaData, KeyValue, SortingColumn};
use parquet::file::properties::{EnabledStatistics, WriterProperties};
use parquet::schema::types::{ColumnPath, SchemaDescriptor};
use std::collections::{HashMap, HashSet};

/// The settings of an output with this schema, sorted by this key, with these columns in bloom filters. How values are encoded is
/// chosen for each column of each row group; what is said here about that holds for nested columns and rare types.
pub(crate) fn properties(
    schema: &SchemaRef,
    spec: &MergeSpec,
    key: Option<&SortKey>,
    blooms: &HashSet<ColumnPath>,
) -> Result<WriterProperties, MergeError> {
    let codec = match spec.codec {
        Codec::Zstd(level) => Compression::ZSTD(
            ZstdLevel::try_new(level)
                .map_err(|_| MergeError::Spec(format!("zstd has levels 1 to 22, not {level}")))?,
        ),
        Codec::Snappy => Compression::SNAPPY,
        Codec::Lz4 => Compression::LZ4_RAW,
        Codec::None => Compression::UNCOMPRESSED,
    };
    // It is in the embedded Arrow schema too; some readers look there, some here.
    let metadata: Vec<KeyValue> = schema
        .metadata()
        .iter()
        .map(|(key, value)| KeyValue::new(key.clone(), value.clone()))
        .collect();
    let mut builder = WriterProperties::builder()
        .set_created_by(concat!("baler ", env!("CARGO_PKG_VERSION")).into())
        .set_compression(codec)
        .set_max_row_group_row_count(Some(spec.row_group_rows.max(1)))
        .set_data_page_row_count_limit(PAGE_ROWS)
        .set_statistics_enabled(EnabledStatistics::Page)
        .set_key_value_metadata((!metadata.is_empty()).then_some(metadata));
    let parquet = ArrowSchemaConverter::new()
        .convert(schema)
        .map_err(|why| MergeError::Spec(format!("Parquet cannot hold this schema: {why}")))?;
    if let Some(key) = key {
        builder = builder.set_sorting_columns(Some(sorting_columns(&parquet, key)?));
    }
    // The crate takes a page of lists for one of nulls if it has as many nulls as rows, and a reader that believes it passes over
    // rows. So pages of lists tell no bounds; where they lie is said all the same.
    for leaf in parquet.columns().iter().filter(|leaf| leaf.max_rep_level() > 0) {
        builder = builder.set_column_statistics_enabled(leaf.path().clone(), EnabledStatistics::Chunk);
    }
    for path in blooms {
        builder = builder.set_column_bloom_filter_enabled(path.clone(), true);
    }
    Ok(builder.build())
}

/// The leaf columns for which every row group that has them has a bloom filter.
pub(crate) fn bloomed(files: &[OpenFile]) -> HashSet<ColumnPath> {
    let mut all: HashMap<ColumnPath, bool> = HashMap::new();
    let groups = files.iter().flat_map(|file| file.footer().row_groups());
    for chunk in groups.flat_map(|group| group.columns()) {
        let has_one = ColumnChunkMetaData::bloom_filter_offset(chunk).is_some();
        let known = all.entry(chunk.column_path().clone()).or_insert(true);
        *known &= has_one;
    }
    let bloomed = all.into_iter().filter(|(_, bloomed)| *bloomed);
    bloomed.map(|(path, _)| path).collect()
}

/// The sort key by leaf columns of the Parquet schema.
fn sorting_columns(parquet: &SchemaDescriptor, key: &SortKey) -> Result<Vec<SortingColumn>, MergeError> {
    let leaf = |name: &str| {
        parquet
            .columns()
            .iter()
            .position(|column| matches!(column.path().parts(), [only] if only == name))
    };
    let columns = key.sort().iter().map(|column| {
        Some(SortingColumn {
            column_idx: i32::try_from(leaf(&column.name)?).ok()?,
            descending: column.descending,
            nulls_first: column.nulls_first,
        })
    });
    columns
        .collect::<Option<Vec<_>>>()
        .ok_or_else(|| MergeError::Proof("a sort column is no leaf".into()))
}
