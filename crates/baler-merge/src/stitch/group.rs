//! A whole row group of the output: leaf after leaf stitched, or decoded where that cannot be.

use super::reencode::reencode;
use super::seal::Seals;
use super::source::SourceGroup;
use super::stitch_leaf;
use crate::error::MergeError;
use crate::group::EncodedColumn;
use crate::spec::Codec;
use arrow::datatypes::SchemaRef;
use parquet::schema::types::{ColumnDescPtr, SchemaDescPtr};
use std::collections::BTreeMap;
use std::ops::Range;

/// Makes the columns of one row group, in any order, from row groups that follow one another.
pub(crate) struct GroupStitcher<'a> {
    sources: Vec<SourceGroup<'a>>,
    leaves: SchemaDescPtr,
    schema: SchemaRef,
    codec: Codec,
    /// Leaves that were encoded together with one that was asked for.
    ready: BTreeMap<usize, EncodedColumn>,
    /// Of all columns made so far.
    pub(crate) seals: Seals,
    /// Top-level columns that had to be decoded, and why.
    pub(crate) decoded: Vec<(String, String)>,
}

impl<'a> GroupStitcher<'a> {
    /// `leaves` is what `schema` is in Parquet.
    pub(crate) fn new(
        sources: Vec<SourceGroup<'a>>,
        leaves: &SchemaDescPtr,
        schema: &SchemaRef,
        codec: Codec,
    ) -> Self {
        Self {
            sources,
            leaves: leaves.clone(),
            schema: schema.clone(),
            codec,
            ready: BTreeMap::new(),
            seals: Seals::default(),
            decoded: Vec::new(),
        }
    }

    #[cfg(test)]
    pub(crate) fn rows(&self) -> u64 {
        self.sources.iter().map(SourceGroup::rows).sum()
    }

    /// The column of a leaf, proved.
    pub(crate) fn column(&mut self, leaf: usize) -> Result<EncodedColumn, MergeError> {
        if let Some(ready) = self.ready.remove(&leaf) {
            return Ok(ready);
        }
        let descriptor = self.leaves.column(leaf);
        let reason = match stitch_leaf(&self.sources, leaf, &descriptor, self.codec)? {
            Ok(stitched) => {
                let (column, seals) = stitched.proved()?;
                self.seals += seals;
                return Ok(column);
            }
            Err(reason) => reason,
        };
        let root = self.leaves.get_column_root_idx(leaf);
        let field = self.schema.field(root);
        self.decoded.push((field.name().clone(), reason));
        let leaves = self.leaves_of(root);
        let descriptors: Vec<ColumnDescPtr> = leaves.clone().map(|leaf| self.leaves.column(leaf)).collect();
        let field = &self.schema.fields()[root];
        let (columns, seals) = reencode(&self.sources, field, &descriptors, self.codec)?;
        self.seals += seals;
        self.ready.extend(leaves.zip(columns));
        let made = self.ready.remove(&leaf);
        made.ok_or_else(|| MergeError::Proof("a column was not encoded".into()))
    }

    fn leaves_of(&self, root: usize) -> Range<usize> {
        let of_root = |leaf: &usize| self.leaves.get_column_root_idx(*leaf) == root;
        let mut leaves = (0..self.leaves.num_columns()).filter(of_root);
        let first = leaves.next().unwrap_or(0);
        first..first + 1 + leaves.count()
    }
}
