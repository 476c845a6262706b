//! What rows are ordered by: which columns, how they are observed while rows are taken in, and how a lane's keys come back
//! from the shelf.

use crate::adapt::adapt_column;
use crate::columns::{Gather, Picks, Span};
use crate::error::MergeError;
use crate::order::{KeyBlock, KeyLane, Keys, Layout, Observed, descents};
use crate::shelf::Shelved;
use crate::sort_key::SortKey;
use crate::spec::{Rule, SortColumn};
use arrow::array::*;
use arrow::datatypes::{ArrowNativeType, ByteArrayType, DataType, Schema, SchemaRef};
use arrow::error::ArrowError;
use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The order of the outputs over a schema.
pub(crate) struct SortPlan {
    pub(crate) key: SortKey,
    /// The inputs declare it and nobody asked for it.
    pub(crate) declared: bool,
    /// Rows of a sorted lane must tell where they stood: versions of one key may not lie in input order.
    pub(crate) needs_ordinals: bool,
    schema: SchemaRef,
    /// Sort columns that make the rule's key.
    group: Option<usize>,
    version: Option<usize>,
}

impl SortPlan {
    /// Fails if rows cannot be ordered by these columns.
    pub(crate) fn new(
        schema: &SchemaRef,
        sort: Vec<SortColumn>,
        declared: bool,
        rule: &Rule,
    ) -> Result<Self, MergeError> {
        let key = SortKey::new(schema, sort, rule)?;
        let (group, version) = match rule {
            Rule::KeepAll => (None, None),
            Rule::LastWriteWins { key, version } => (Some(key.len()), schema.index_of(version).ok()),
        };
        Ok(Self {
            needs_ordinals: group.is_some_and(|group| group < key.sort().len()),
            key,
            declared,
            schema: schema.clone(),
            group,
            version,
        })
    }

    /// The columns that rows are ordered by: sort columns in key order, then the version.
    fn columns(&self) -> impl Iterator<Item = usize> + '_ {
        self.key.columns().iter().copied().chain(self.version)
    }

    /// Those columns of a decoded batch, in the common schema.
    pub(super) fn columns_of(&self, batch: &RecordBatch) -> Result<Vec<ArrayRef>, ArrowError> {
        self.columns()
            .map(|column| {
                let field = self.schema.field(column);
                match batch.schema_ref().fields().find(field.name()) {
                    Some((index, _)) => adapt_column(batch.column(index), field.data_type()),
                    None => Ok(new_null_array(field.data_type(), batch.num_rows())),
                }
            })
            .collect()
    }

    /// Whether rows come in order; nothing where that is not told more easily by packed keys.
    pub(super) fn come_in_order(&self, keys: &[ArrayRef]) -> Option<bool> {
        fn ascend<T: ByteArrayType>(values: &GenericByteArray<T>) -> bool {
            let (ends, bytes) = (values.value_offsets(), values.value_data());
            let value = |pair: &[T::Offset]| &bytes[pair[0].as_usize()..pair[1].as_usize()];
            ends.windows(3).all(|ends| value(&ends[..2]) <= value(&ends[1..]))
        }
        let ([sort], [column, ..]) = (self.key.sort(), keys) else {
            return None;
        };
        if sort.descending || column.null_count() > 0 {
            return None;
        }
        match column.data_type() {
            DataType::Utf8 => Some(ascend(column.as_string::<i32>())),
            DataType::LargeUtf8 => Some(ascend(column.as_string::<i64>())),
            DataType::Binary => Some(ascend(column.as_binary::<i32>())),
            DataType::LargeBinary => Some(ascend(column.as_binary::<i64>())),
            _ => None,
        }
    }

    /// Whether rows are in order for certain, given their sort columns.
    pub(super) fn are_in_order(&self, sort: &[ArrayRef]) -> bool {
        if let Some(told) = self.come_in_order(sort) {
            return told;
        }
        let packed = || {
            let mut seen = Observed::new(&self.schema, self.key.sort(), self.group)?;
            seen.add(sort)?;
            seen.decide()?.pack(sort)
        };
        packed().is_ok_and(|keys: Keys| descents(&keys).is_empty())
    }

    /// The first key and the last, in a form that compares between batches.
    pub(super) fn ends(&self, keys: &[ArrayRef]) -> Result<(Vec<u8>, Vec<u8>), MergeError> {
        let sort = &keys[..self.key.sort().len()];
        let rows = sort.first().map_or(0, |column| column.len());
        let key_at = |row: usize| {
            let one: Vec<ArrayRef> = sort.iter().map(|column| column.slice(row, 1)).collect();
            let keys = self.key.keys_of(&one);
            let keys = keys.map_err(|why| MergeError::Proof(format!("keys cannot be compared: {why}")))?;
            Ok::<_, MergeError>(keys.row(0).data().to_vec())
        };
        Ok((key_at(0)?, key_at(rows - 1)?))
    }

    /// Nothing seen yet.
    pub(crate) fn observations(&self) -> Result<Observations, MergeError> {
        let schema: &Schema = &self.schema;
        let sort = self.key.sort();
        let version = |column: usize| [SortColumn::ascending(schema.field(column).name())];
        Ok(Observations {
            sort_columns: sort.len(),
            group_columns: self.group,
            order: Observed::new(schema, sort, self.group)?,
            versions: match self.version {
                Some(column) => Some(Observed::new(schema, &version(column), None)?),
                None => None,
            },
        })
    }
}

/// What was seen of the columns that rows are ordered by.
pub(crate) struct Observations {
    sort_columns: usize,
    group_columns: Option<usize>,
    order: Observed,
    versions: Option<Observed>,
}

/// How keys are written.
pub(crate) struct Layouts {
    pub(crate) order: Layout,
    /// The rule's key alone.
    pub(crate) group: Option<Layout>,
    versions: Option<Layout>,
    sort_columns: usize,
    group_columns: usize,
}

impl Observations {
    /// Looks at some rows: sort columns in key order, then the version.
    pub(super) fn add(&mut self, keys: &[ArrayRef]) -> Result<(), MergeError> {
        self.order.add(&keys[..self.sort_columns])?;
        if let Some(versions) = &mut self.versions {
            versions.add(&keys[self.sort_columns..])?;
        }
        Ok(())
    }

    /// The sort keys of rows that are all that was seen.
    pub(super) fn pack_order(&self, keys: &[ArrayRef]) -> Result<Keys, MergeError> {
        self.order.decide()?.pack(&keys[..self.sort_columns])
    }

    /// Takes in what was seen elsewhere.
    pub(crate) fn join(&mut self, other: Observations) {
        self.order.join(other.order);
        if let (Some(versions), Some(other)) = (&mut self.versions, other.versions) {
            versions.join(other);
        }
    }

    /// The cheapest layouts that hold all that was seen.
    pub(crate) fn decide(&self) -> Result<Layouts, MergeError> {
        let group = self.group_columns.map(|columns| self.order.first(columns));
        Ok(Layouts {
            order: self.order.decide()?,
            group: group.as_ref().map(Observed::decide).transpose()?,
            versions: self.versions.as_ref().map(Observed::decide).transpose()?,
            sort_columns: self.sort_columns,
            group_columns: self.group_columns.unwrap_or(0),
        })
    }
}

impl Layouts {
    /// What a row of a key block takes, about.
    pub(crate) fn row_bytes(&self) -> usize {
        // Keys in rows may be long; most are not.
        let bytes = |layout: &Layout| layout.key_bytes().unwrap_or(64);
        bytes(&self.order) + self.versions.as_ref().map_or(0, bytes) + 8
    }

    /// Sort keys of some rows, and the rule's keys where there is a rule.
    pub(crate) fn pack(&self, columns: &[ArrayRef]) -> Result<(Keys, Option<Keys>), MergeError> {
        let order = self.order.pack(&columns[..self.sort_columns])?;
        let group = match &self.group {
            Some(_) if self.group_columns == self.sort_columns => Some(order.clone()),
            Some(group) => Some(group.pack(&columns[..self.group_columns])?),
            None => None,
        };
        Ok((order, group))
    }
}

/// The keys of a lane, read from the shelf block by block.
pub(crate) struct LaneKeys<'a> {
    shelf: &'a Shelved,
    sort: &'a SortPlan,
    layouts: &'a Layouts,
    lane: usize,
    at: u64,
    block_rows: u64,
    /// Rows that the next block has in common with the one before.
    again: usize,
    /// Who looks on gets the same rows, each once.
    echo: Option<Echo>,
}

/// Of a block at most one part in so many is read a second time.
const AGAIN: u64 = 4;

/// Blocks of a lane that were merged and are not looked at again yet.
#[derive(Clone, Default)]
pub(crate) struct Echo(Arc<Mutex<VecDeque<KeyBlock>>>);

impl<'a> LaneKeys<'a> {
    pub(crate) fn new(
        shelf: &'a Shelved,
        sort: &'a SortPlan,
        layouts: &'a Layouts,
        lane: usize,
        block_rows: usize,
    ) -> Self {
        Self {
            shelf,
            sort,
            layouts,
            lane,
            at: 0,
            block_rows: block_rows as u64,
            again: 0,
            echo: None,
        }
    }

    /// Somebody else is to read the same blocks, and must keep up.
    pub(crate) fn echo(&mut self) -> Echo {
        self.echo.get_or_insert_default().clone()
    }

    fn columns(&self, rows: usize) -> Result<Vec<ArrayRef>, MergeError> {
        let mut picks = Picks {
            spans: vec![Span {
                lane: self.lane,
                first: self.at,
                rows,
            }],
            ..Picks::default()
        };
        picks.push(0, 0, rows as u32);
        let columns = self.sort.columns().map(|column| {
            let gather = Gather::new(self.shelf, column, &picks)?;
            gather.piece(&picks.pieces[0])
        });
        columns.collect()
    }
}

impl KeyLane for LaneKeys<'_> {
    fn next_block(&mut self) -> Result<Option<KeyBlock>, MergeError> {
        let end = self.shelf.lanes()[self.lane]
            .rows()
            .min(self.at + self.block_rows);
        let rows = (end - self.at) as usize;
        if rows == 0 {
            return Ok(None);
        }
        let columns = self.columns(rows)?;
        let (sort, versions) = columns.split_at(self.layouts.sort_columns);
        let versions = match &self.layouts.versions {
            Some(layout) => Some(layout.pack(versions)?),
            None => None,
        };
        let ordinals = self.shelf.read_ordinals(self.lane, self.at..end)?;
        self.at = end;
        let block = KeyBlock {
            keys: self.layouts.order.pack(sort)?,
            versions,
            ordinals: ordinals.map(Into::into),
        };
        let again = std::mem::take(&mut self.again);
        if let Some(echo) = self.echo.as_ref().filter(|_| again < rows) {
            echo.blocks().push_back(block.slice(again, rows - again));
        }
        Ok(Some(block))
    }

    fn step_back(&mut self, rows: usize) -> bool {
        let pays = rows as u64 * AGAIN <= self.block_rows;
        if pays {
            self.at -= rows as u64;
            self.again = rows;
        }
        pays
    }
}

impl Echo {
    fn blocks(&self) -> MutexGuard<'_, VecDeque<KeyBlock>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl KeyLane for Echo {
    fn next_block(&mut self) -> Result<Option<KeyBlock>, MergeError> {
        Ok(self.blocks().pop_front())
    }
}
