//! A row group of an input, as stitching and copying read it.

use super::Unfit;
use super::evidence::Evidence;
use super::kept::Kept;
use crate::decode::OpenFile;
use crate::footer::read_exactly;
use crate::limits::PAGE_INDEX_BYTES_MAX;
use crate::thrift::check_offset_index;
use bytes::Bytes;
use parquet::basic::ColumnOrder;
use parquet::file::metadata::{ColumnChunkMetaData, RowGroupMetaData};
use parquet::file::page_index::column_index::ColumnIndexMetaData;
use parquet::file::page_index::index_reader::{decode_column_index, decode_offset_index};
use parquet::file::page_index::offset_index::OffsetIndexMetaData;
use parquet::schema::types::{ColumnDescriptor, SchemaDescriptor};
use std::ops::Range;
use std::sync::Arc;

/// One row group of one input.
#[derive(Clone, Copy)]
pub(crate) struct SourceGroup<'a> {
    /// Number of the input.
    pub(crate) input: usize,
    /// Opened with statistics, if bounds are to be known.
    pub(crate) file: &'a OpenFile,
    /// Number of the row group in its file.
    pub(crate) group: usize,
    /// What [`find_leaves`] found.
    pub(crate) leaves: &'a [Option<Leaf>],
    /// The leaf of the output that was kept when its keys were looked at.
    pub(crate) kept: Option<(usize, &'a Arc<Kept>)>,
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
        self.file.footer().row_group(self.group)
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
        read_exactly(self.file.input(), start, length as usize).map_err(Unfit::File)
    }

    /// The order that the file claims for the bounds of a chunk.
    pub(crate) fn order(&self, chunk: &ColumnChunkMetaData) -> ColumnOrder {
        let file = self.file.footer().file_metadata();
        let path = chunk.column_descr().path();
        let mut leaves = file.schema_descr().columns().iter();
        match (file.column_orders(), leaves.position(|leaf| leaf.path() == path)) {
            (Some(orders), Some(number)) => orders.get(number).copied().unwrap_or(ColumnOrder::UNKNOWN),
            _ => ColumnOrder::UNDEFINED,
        }
    }

    /// The page index of a chunk; what is damaged is as good as absent.
    pub(crate) fn column_index(
        &self,
        chunk: &ColumnChunkMetaData,
    ) -> Result<Option<ColumnIndexMetaData>, Unfit> {
        let bytes = self.index(chunk.column_index_range())?;
        Ok(bytes.and_then(|bytes| decode_column_index(&bytes, chunk.column_type()).ok()))
    }

    /// Where the pages of a chunk lie, as the file says.
    pub(crate) fn offset_index(
        &self,
        chunk: &ColumnChunkMetaData,
    ) -> Result<Option<OffsetIndexMetaData>, Unfit> {
        let bytes = self.index(chunk.offset_index_range())?;
        let sound = bytes.filter(|bytes| check_offset_index(bytes).is_ok());
        Ok(sound.and_then(|bytes| decode_offset_index(&bytes).ok()))
    }

    /// What the file says about a chunk; its page index is read only if that may help.
    pub(crate) fn evidence(&self, chunk: &ColumnChunkMetaData, with_index: bool) -> Result<Evidence, Unfit> {
        let order = self.order(chunk);
        if !with_index {
            return Ok(Evidence::of(chunk, order, None, None));
        }
        let offset_index = self.offset_index(chunk)?;
        let column_index = self.column_index(chunk)?;
        Ok(Evidence::of(chunk, order, column_index, offset_index.as_ref()))
    }

    fn index(&self, range: Option<Range<u64>>) -> Result<Option<Bytes>, Unfit> {
        match range {
            Some(range)
                if range.end <= self.file.input().len()
                    && range.end - range.start <= PAGE_INDEX_BYTES_MAX =>
            {
                self.read((range.start, range.end - range.start)).map(Some)
            }
            _ => Ok(None),
        }
    }
}
