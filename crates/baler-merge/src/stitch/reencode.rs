//! Decodes a top-level column that cannot be stitched, and encodes it anew with the crate's writer. The proof is by values then:
//! a hash of each as it was decoded, and again of each as the encoder is handed it, in order.

use super::seal::Seals;
use super::source::SourceGroup;
use super::writing;
use crate::adapt::adapt_batch;
use crate::error::MergeError;
use crate::group::{EncodedColumn, FoundChunk};
use crate::limits::PAGE_ROWS;
use crate::pages::codec::compression_of;
use crate::row_hash::RowHash;
use crate::spec::Codec;
use arrow::array::{ArrayRef, RecordBatch, RecordBatchOptions, new_null_array};
use arrow::datatypes::{FieldRef, Schema, SchemaRef};
use arrow::error::ArrowError;
use bytes::Bytes;
use parquet::arrow::ArrowWriter;
use parquet::file::metadata::{PageIndexPolicy, ParquetMetaDataReader};
use parquet::file::properties::{EnabledStatistics, WriterProperties};
use parquet::schema::types::ColumnDescPtr;
use std::io;
use std::sync::Arc;
use xxhash_rust::xxh3::Xxh3;

/// Rows that are decoded at once.
const BATCH_ROWS: usize = 8 << 10;

/// The leaves of one top-level column, each as a column chunk.
pub(crate) fn reencode(
    sources: &[SourceGroup<'_>],
    field: &FieldRef,
    leaves: &[ColumnDescPtr],
    codec: Codec,
) -> Result<(Vec<EncodedColumn>, Seals), MergeError> {
    let schema: SchemaRef = Arc::new(Schema::new(vec![Arc::clone(field)]));
    let mut writer = ArrowWriter::try_new(Vec::new(), Arc::clone(&schema), Some(properties(codec)?))
        .map_err(|why| writing(io::Error::other(why)))?;
    let (mut decoded, mut handed) = (Ordered::default(), Ordered::default());
    for source in sources {
        let mut take = |found: &RecordBatch| {
            decoded.add(found).map_err(|why| proof(&why))?;
            let rows = adapt_batch(found, &schema).map_err(|why| MergeError::Input {
                culprits: vec![source.input],
                reason: format!("column {} cannot be promoted: {why}", field.name()),
            })?;
            handed.add(&rows).map_err(|why| proof(&why))?;
            writer.write(&rows).map_err(|why| writing(io::Error::other(why)))
        };
        match source.file.schema().index_of(field.name()) {
            Ok(column) => {
                let batches = source.file.read_columns(&[column], source.group, BATCH_ROWS);
                let mut batches = batches.map_err(|why| why.of_input(source.input))?;
                while let Some(rows) = batches.next().map_err(|why| why.of_input(source.input))? {
                    take(&rows)?;
                }
            }
            Err(_) => take(&nulls(&schema, source.rows() as usize).map_err(|why| proof(&why))?)?,
        }
    }
    let (decoded, handed) = (decoded.finish(), handed.finish());
    if decoded != handed {
        let why = format!("the values of column {} changed on their way", field.name());
        return Err(MergeError::Proof(why));
    }
    let bytes = writer
        .into_inner()
        .map_err(|why| writing(io::Error::other(why)))?;
    let columns = chunks_of(&bytes.into(), leaves).map_err(|why| writing(io::Error::other(why)))?;
    Ok((columns, Seals::of(decoded.0, handed.0)))
}

fn proof(why: &ArrowError) -> MergeError {
    MergeError::Proof(why.to_string())
}

fn nulls(schema: &SchemaRef, rows: usize) -> Result<RecordBatch, ArrowError> {
    let columns: Vec<ArrayRef> = schema
        .fields()
        .iter()
        .map(|field| new_null_array(field.data_type(), rows))
        .collect();
    let options = RecordBatchOptions::new().with_row_count(Some(rows));
    RecordBatch::try_new_with_options(Arc::clone(schema), columns, &options)
}

fn properties(codec: Codec) -> Result<WriterProperties, MergeError> {
    Ok(WriterProperties::builder()
        .set_compression(compression_of(codec).map_err(writing)?)
        .set_max_row_group_row_count(None)
        .set_max_row_group_bytes(None)
        .set_data_page_row_count_limit(PAGE_ROWS)
        .set_statistics_enabled(EnabledStatistics::Page)
        .build())
}

/// A hash of values in their order.
#[derive(Default)]
struct Ordered {
    hasher: Box<Xxh3>,
    rows: u64,
}

impl Ordered {
    fn add(&mut self, rows: &RecordBatch) -> Result<(), ArrowError> {
        let name = rows.schema_ref().field(0).name();
        for hash in RowHash::default().entries(name, rows.column(0))? {
            self.hasher.update(&hash.to_le_bytes());
        }
        self.rows += rows.num_rows() as u64;
        Ok(())
    }

    fn finish(self) -> (u128, u64) {
        (self.hasher.digest128(), self.rows)
    }
}

/// The chunks of a file of one row group.
fn chunks_of(file: &Bytes, leaves: &[ColumnDescPtr]) -> parquet::errors::Result<Vec<EncodedColumn>> {
    let footer = ParquetMetaDataReader::new()
        .with_page_index_policy(PageIndexPolicy::Optional)
        .parse_and_finish(file)?;
    let group = footer.row_group(0);
    let chunks = leaves.iter().enumerate().map(|(leaf, descriptor)| {
        let chunk = group.column(leaf);
        let (start, length) = chunk.byte_range();
        let index = footer.page_index();
        let found = FoundChunk {
            bytes: file.slice(start as usize..(start + length) as usize),
            metadata: chunk,
            rows: group.num_rows().unsigned_abs(),
            statistics: chunk.statistics().cloned(),
            column_index: index.and_then(|index| index.column_index(0, leaf)).cloned(),
            offset_index: index.and_then(|index| index.offset_index(0, leaf)).cloned(),
        };
        EncodedColumn::found(found, Arc::clone(descriptor))
    });
    chunks.collect()
}
