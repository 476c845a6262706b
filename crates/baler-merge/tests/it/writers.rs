//! Files as different writers make them: pages, dictionaries, statistics, codecs.

use crate::support::parquet_with;
use arrow::array::RecordBatch;
use bytes::Bytes;
use parquet::basic::{BrotliLevel, Compression, Encoding, GzipLevel, ZstdLevel};
use parquet::file::properties::{EnabledStatistics, WriterProperties, WriterVersion};
use parquet::schema::types::ColumnPath;
use proptest::prelude::*;

/// How a file is written.
#[derive(Debug, Clone)]
pub(crate) struct Settings {
    row_group_rows: usize,
    page_rows: usize,
    version: WriterVersion,
    dictionary: Dictionary,
    statistics: EnabledStatistics,
    page_places: bool,
    codec: Compression,
    strict_id: bool,
}

#[derive(Debug, Clone, Copy)]
enum Dictionary {
    On,
    /// Given up after a few words: the pages that follow are plain.
    Overfull,
    Off,
    /// Off, with encodings other than plain.
    Delta,
}

/// For files of about so many rows: several row groups and pages, or one.
pub(crate) fn settings(rows: usize) -> impl Strategy<Value = Settings> {
    let shape = (
        prop::sample::select(vec![rows.div_ceil(15), rows.div_ceil(3), 1 << 20]),
        prop::sample::select(vec![rows.div_ceil(30), rows.div_ceil(5), 20_000]),
        prop::sample::select(vec![WriterVersion::PARQUET_1_0, WriterVersion::PARQUET_2_0]),
        prop::sample::select(vec![
            Dictionary::On,
            Dictionary::Overfull,
            Dictionary::Off,
            Dictionary::Delta,
        ]),
    );
    let rest = (
        prop::sample::select(vec![
            EnabledStatistics::Page,
            EnabledStatistics::Chunk,
            EnabledStatistics::None,
        ]),
        any::<bool>(),
        prop::sample::select(vec![
            Compression::ZSTD(ZstdLevel::default()),
            Compression::SNAPPY,
            Compression::UNCOMPRESSED,
            Compression::LZ4_RAW,
            Compression::GZIP(GzipLevel::default()),
            Compression::BROTLI(BrotliLevel::try_new(1).unwrap()),
        ]),
        any::<bool>(),
    );
    (shape, rest).prop_map(|(shape, rest)| Settings {
        row_group_rows: shape.0,
        page_rows: shape.1,
        version: shape.2,
        dictionary: shape.3,
        statistics: rest.0,
        page_places: rest.1,
        codec: rest.2,
        strict_id: rest.3,
    })
}

pub(crate) fn write(rows: &RecordBatch, settings: &Settings) -> Bytes {
    let rows = if settings.strict_id {
        strict_id(rows)
    } else {
        rows.clone()
    };
    let column = |name: &str| ColumnPath::new(vec![name.into()]);
    let mut builder = WriterProperties::builder()
        .set_max_row_group_row_count(Some(settings.row_group_rows))
        .set_data_page_row_count_limit(settings.page_rows)
        .set_write_batch_size(settings.page_rows.min(1_024))
        .set_writer_version(settings.version)
        .set_statistics_enabled(settings.statistics)
        .set_offset_index_disabled(!settings.page_places && settings.statistics != EnabledStatistics::Page)
        .set_compression(settings.codec)
        .set_dictionary_enabled(matches!(
            settings.dictionary,
            Dictionary::On | Dictionary::Overfull
        ));
    match settings.dictionary {
        Dictionary::Overfull => builder = builder.set_dictionary_page_size_limit(48),
        Dictionary::Delta => {
            for (name, encoding) in [
                ("key", Encoding::DELTA_BINARY_PACKED),
                ("version", Encoding::DELTA_BINARY_PACKED),
                ("time", Encoding::BYTE_STREAM_SPLIT),
                ("score", Encoding::BYTE_STREAM_SPLIT),
                ("name", Encoding::DELTA_BYTE_ARRAY),
                ("payload", Encoding::DELTA_LENGTH_BYTE_ARRAY),
            ] {
                builder = builder.set_column_encoding(column(name), encoding);
            }
        }
        Dictionary::On | Dictionary::Off => {}
    }
    parquet_with(&rows, builder.build())
}

/// The same rows, their number in a column that cannot be null.
fn strict_id(rows: &RecordBatch) -> RecordBatch {
    let schema = rows.schema();
    let fields = schema.fields().iter().map(|field| {
        let nullable = field.name() != "id";
        field.as_ref().clone().with_nullable(nullable)
    });
    let schema = arrow::datatypes::Schema::new(fields.collect::<Vec<_>>());
    RecordBatch::try_new(schema.into(), rows.columns().to_vec()).unwrap()
}
