//! A row group of an input, as stitching and copying read it.

use super::Unfit;
use super::evidence::Evidence;
use crate::footer::read_exactly;
use crate::io::Input;
use bytes::Bytes;
use parquet::basic::ColumnOrder;
use parquet::file::metadata::{ColumnChunkMetaData, ParquetMetaData, RowGroupMetaData};
use parquet::file::page_index::index_reader::{decode_column_index, decode_offset_index};
use parquet::schema::types::{ColumnDescriptor, SchemaDescriptor};
use std::ops::Range;

/// A page index longer than this is not read.
const INDEX_BYTES_MAX: u64 = 16 << 20;

/// One row group of one input.
#[derive(Clone, Copy)]
pub(crate) struct SourceGroup<'a> {
    /// Number of the input.
    pub(crate) input: usize,
    pub(crate) bytes: &'a dyn Input,
    /// With statistics, if bounds are to be known.
    pub(crate) footer: &'a ParquetMetaData,
    /// Number of the row group in its file.
    pub(crate) group: usize,
    /// What [`find_leaves`] found.
    pub(crate) leaves: &'a [Option<Leaf>],
}

/// Where a leaf of the output lies in a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Leaf {
    /// There, of the same type; it may lack the levels of a nullable column.
    Same(usize),
    /// There, of a type that must be promoted.
    Other,
}

/// For each leaf of the output where it lies in a file; nothing where the file lacks it.
pub(crate) fn find_leaves(output: &SchemaDescriptor, file: &SchemaDescriptor) -> Vec<Option<Leaf>> {
    let find = |leaf: &ColumnDescriptor| {
        let number = file
            .columns()
            .iter()
            .position(|found| found.path() == leaf.path())?;
        Some(match is_same(leaf, &file.column(number)) {
            true => Leaf::Same(number),
            false => Leaf::Other,
        })
    };
    output.columns().iter().map(|leaf| find(leaf)).collect()
}

fn is_same(leaf: &ColumnDescriptor, found: &ColumnDescriptor) -> bool {
    leaf.physical_type() == found.physical_type()
        && leaf.type_length() == found.type_length()
        && leaf.logical_type_ref() == found.logical_type_ref()
        && leaf.converted_type() == found.converted_type()
        && leaf.type_precision() == found.type_precision()
        && leaf.type_scale() == found.type_scale()
        && leaf.max_rep_level() == found.max_rep_level()
        && leaf.max_def_level() >= found.max_def_level()
}

impl<'a> SourceGroup<'a> {
    pub(crate) fn metadata(&self) -> &'a RowGroupMetaData {
        self.footer.row_group(self.group)
    }

    pub(crate) fn rows(&self) -> u64 {
        self.metadata().num_rows().unsigned_abs()
    }

    /// The chunk of a leaf of the output; nothing if the file lacks it.
    pub(crate) fn chunk(&self, leaf: usize) -> Result<Option<&'a ColumnChunkMetaData>, Unfit> {
        match self.leaves[leaf] {
            None => Ok(None),
            Some(Leaf::Same(number)) => Ok(Some(self.metadata().column(number))),
            Some(Leaf::Other) => Err(Unfit::Decode("it must be promoted".into())),
        }
    }

    pub(crate) fn read(&self, (start, length): (u64, u64)) -> Result<Bytes, Unfit> {
        read_exactly(self.bytes, start, length as usize).map_err(Unfit::File)
    }

    /// What the file says about a chunk; its page index is read only if that may help.
    pub(crate) fn evidence(&self, chunk: &ColumnChunkMetaData, with_index: bool) -> Result<Evidence, Unfit> {
        let descriptor = chunk.column_descr();
        let file = self.footer.file_metadata();
        let leaves = file.schema_descr().columns().iter();
        let number = leaves.clone().position(|leaf| leaf.path() == descriptor.path());
        let order = match (file.column_orders(), number) {
            (Some(orders), Some(number)) => orders.get(number).copied().unwrap_or(ColumnOrder::UNKNOWN),
            _ => ColumnOrder::UNDEFINED,
        };
        let column_index = match self.index(chunk.column_index_range().filter(|_| with_index))? {
            Some(bytes) => decode_column_index(&bytes, descriptor.physical_type()).ok(),
            None => None,
        };
        let offset_index = match self.index(chunk.offset_index_range().filter(|_| with_index))? {
            Some(bytes) => decode_offset_index(&bytes).ok(),
            None => None,
        };
        Ok(Evidence::of(chunk, order, column_index, offset_index.as_ref()))
    }

    fn index(&self, range: Option<Range<u64>>) -> Result<Option<Bytes>, Unfit> {
        match range {
            Some(range) if range.end <= self.bytes.len() && range.end - range.start <= INDEX_BYTES_MAX => {
                self.read((range.start, range.end - range.start)).map(Some)
            }
            _ => Ok(None),
        }
    }
}
