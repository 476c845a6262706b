//! A whole row group of the output: column after column copied or stitched, or decoded where that cannot be.

use super::copy::copy_leaf;
use super::reencode::reencode;
use super::seal::Seals;
use super::source::SourceGroup;
use super::stitch_leaf;
use crate::error::MergeError;
use crate::group::EncodedColumn;
use crate::spec::Codec;
use arrow::datatypes::SchemaRef;
use parquet::schema::types::{ColumnDescPtr, SchemaDescPtr};
use std::ops::Range;

/// Makes the columns of one row group, in any order and on any thread, from row groups that follow one another.
pub(crate) struct GroupMaker<'a> {
    pub(crate) sources: Vec<SourceGroup<'a>>,
    /// What `schema` is in Parquet.
    pub(crate) leaves: SchemaDescPtr,
    pub(crate) schema: SchemaRef,
    pub(crate) codec: Codec,
    /// The only source is to be copied as it lies.
    pub(crate) is_copy: bool,
}

/// The leaves of one top-level column, proved.
#[derive(Debug, Default)]
pub(crate) struct MadeColumn {
    pub(crate) leaves: Vec<EncodedColumn>,
    pub(crate) seals: Seals,
    /// Its name, and why it had to be decoded, if it had to.
    pub(crate) decoded: Option<(String, String)>,
}

impl GroupMaker<'_> {
    /// Makes the top-level column of this number.
    pub(crate) fn column(&self, root: usize) -> Result<MadeColumn, MergeError> {
        let leaves = self.leaves_of(root);
        let mut made = MadeColumn::default();
        if let (true, [source]) = (self.is_copy, self.sources.as_slice()) {
            for leaf in leaves {
                let (column, seals) = copy_leaf(source, leaf, &self.leaves.column(leaf))?.proved()?;
                made.leaves.push(column);
                made.seals += seals;
            }
            return Ok(made);
        }
        let first = self.leaves.column(leaves.start);
        let reason = match stitch_leaf(&self.sources, leaves.start, &first, self.codec)? {
            Ok(stitched) => {
                let (column, seals) = stitched.proved()?;
                made.leaves.push(column);
                made.seals = seals;
                return Ok(made);
            }
            Err(reason) => reason,
        };
        let field = &self.schema.fields()[root];
        let leaves: Vec<ColumnDescPtr> = leaves.map(|leaf| self.leaves.column(leaf)).collect();
        (made.leaves, made.seals) = reencode(&self.sources, field, &leaves, self.codec)?;
        made.decoded = Some((field.name().clone(), reason));
        Ok(made)
    }

    /// How many bytes the sources hold of a top-level column.
    pub(crate) fn packed_bytes(&self, root: usize) -> usize {
        let chunks = self.leaves_of(root).flat_map(|leaf| {
            let found = self.sources.iter().map(move |source| source.chunk(leaf));
            found.filter_map(|chunk| chunk.ok().flatten())
        });
        chunks
            .map(|chunk| chunk.compressed_size().unsigned_abs() as usize)
            .sum()
    }

    fn leaves_of(&self, root: usize) -> Range<usize> {
        let of_root = |leaf: &usize| self.leaves.get_column_root_idx(*leaf) == root;
        let mut leaves = (0..self.leaves.num_columns()).filter(of_root);
        let first = leaves.next().unwrap_or(0);
        first..first + 1 + leaves.count()
    }
}
