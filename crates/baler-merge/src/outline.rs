//! How the outputs of a merge will be made: settled before the first row is written.

use crate::context::Context;
use crate::error::MergeError;
use crate::limits::STRETCHES_PER_OUTPUT;
use crate::plan::{Shares, widths};
use crate::row_time::Times;
use crate::settings::{bloomed, properties};
use crate::sort_key::SortKey;
use crate::spec::MergeSpec;
use crate::write::{Due, Shape, broken};
use parquet::arrow::ArrowWriter;
use parquet::arrow::arrow_writer::ArrowRowGroupWriterFactory;
use parquet::file::properties::WriterPropertiesPtr;
use parquet::schema::types::{ColumnDescPtr, ColumnPath, SchemaDescPtr, SchemaDescriptor};
use std::collections::HashSet;
use std::sync::Arc;

/// How outputs are made.
pub(crate) struct Outline {
    /// The common schema in Parquet.
    pub(crate) leaves: SchemaDescPtr,
    /// Leaf columns of each top-level column.
    pub(crate) columns: Vec<Vec<ColumnDescPtr>>,
    pub(crate) factory: ArrowRowGroupWriterFactory,
    /// Where row times are, if they are asked for and there are any.
    pub(crate) times: Option<Times>,
    /// Leaf columns that get a bloom filter.
    pub(crate) blooms: HashSet<ColumnPath>,
    /// Rows of a window, as far as memory goes.
    pub(crate) window_rows: usize,
    /// Bytes of a row in the widest leaf column, decoded.
    widest: usize,
    properties: WriterPropertiesPtr,
}

impl Outline {
    /// `key` is the order to claim.
    pub(crate) fn of(
        context: &Context<'_>,
        spec: &MergeSpec,
        key: Option<&SortKey>,
        shares: &Shares,
    ) -> Result<Self, MergeError> {
        let schema = &context.schema;
        let times = spec.row_time.as_ref().map(|column| Times::of(schema, column));
        let blooms = bloomed(&context.files);
        let properties = properties(schema, spec, key, &blooms)?;
        // Nothing is written to this one: it knows how a file of this schema is written.
        let model = ArrowWriter::try_new(Vec::new(), Arc::clone(schema), Some(properties));
        let (file, factory) = model
            .and_then(ArrowWriter::into_serialized_writer)
            .map_err(|why| broken(&why))?;
        let (widest, row) = widths(&context.files);
        Ok(Self {
            leaves: Arc::new(SchemaDescriptor::new(file.schema_descr().root_schema_ptr())),
            columns: columns_of(file.schema_descr()),
            factory,
            times: times.transpose().map_err(MergeError::Spec)?.flatten(),
            blooms,
            window_rows: shares.window_rows(widest, row),
            widest,
            properties: file.properties().clone(),
        })
    }

    pub(crate) fn shape(&self, spec: &MergeSpec) -> Shape {
        Shape {
            schema: self.leaves.root_schema_ptr(),
            properties: self.properties.clone(),
            target_bytes: spec.target_file_bytes,
            group_rows: self.window_rows.min(spec.row_group_rows.max(1)),
            times: self.times,
        }
    }

    /// Rows of a row group that goes past the merge: as the spec says, a small part of an output, and as memory allows.
    pub(crate) fn group_rows(&self, spec: &MergeSpec, due: Due, shares: &Shares) -> u64 {
        let row_bytes = (due.bytes / due.rows.max(1)).max(1);
        let most = spec.target_file_bytes / row_bytes / STRETCHES_PER_OUTPUT;
        let held = shares.passing_rows(self.widest, row_bytes as usize) as u64;
        (spec.row_group_rows as u64).min(most).min(held).max(1)
    }
}

fn columns_of(schema: &SchemaDescriptor) -> Vec<Vec<ColumnDescPtr>> {
    let mut columns = vec![Vec::new(); schema.root_schema().get_fields().len()];
    for (number, leaf) in schema.columns().iter().enumerate() {
        columns[schema.get_column_root_idx(number)].push(leaf.clone());
    }
    columns
}
