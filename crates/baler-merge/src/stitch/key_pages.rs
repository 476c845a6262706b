//! Surveys keys of one column of integers or times from its pages, where all of them are indices into a dictionary, without a
//! decoder of columns. What was unpacked is kept for stitching, as far as there is room.

use super::Unfit;
use super::bench::Workbench;
use super::chunk::{Part, ReadChunk};
use super::kept::Kept;
use super::read::read_chunk;
use super::source::{Leaf, SourceGroup};
use super::survey::{Steps, SurveyedGroups, steps};
use crate::key_range::{KeyRange, encode_row};
use crate::pages::bounds::Order;
use crate::pages::plain::Layout;
use crate::sort_key::SortKey;
use arrow::array::{ArrayData, ArrayRef, make_array};
use arrow::buffer::Buffer;
use arrow::datatypes::{DataType, Schema, TimeUnit};
use parquet::schema::types::SchemaDescriptor;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Who looks at keys in one leaf column.
pub(crate) struct KeyPages<'a> {
    key: &'a SortKey,
    data_type: DataType,
    order: Order,
    leaves: &'a SchemaDescriptor,
    /// Number of the leaf in the output.
    pub(crate) leaf: usize,
    /// Bytes that may still be kept.
    room: AtomicUsize,
    /// Those that nobody works at now.
    benches: Mutex<Vec<Workbench>>,
}

/// What was found in a file, and for each of its row groups the keys, if they were kept.
pub(crate) type Found = (SurveyedGroups, Vec<Option<Arc<Kept>>>);

impl<'a> KeyPages<'a> {
    /// Nothing if keys are not of that kind. Up to `room` bytes are kept.
    pub(crate) fn of(
        key: &'a SortKey,
        schema: &Schema,
        leaves: &'a SchemaDescriptor,
        room: usize,
    ) -> Option<Self> {
        let [column] = key.columns() else { return None };
        let data_type = schema.field(*column).data_type().clone();
        let leaf = (0..leaves.num_columns()).find(|leaf| leaves.get_column_root_idx(*leaf) == *column)?;
        let order = match (Order::of(&leaves.column(leaf))?, &data_type) {
            (order @ Order::Signed32, DataType::Int32 | DataType::Date32)
            | (order @ Order::Signed64, DataType::Int64)
            | (order @ Order::Unsigned32, DataType::UInt32)
            | (order @ Order::Unsigned64, DataType::UInt64) => order,
            (order @ Order::Signed64, DataType::Timestamp(unit, _)) if *unit != TimeUnit::Second => order,
            _ => return None,
        };
        Some(Self {
            key,
            data_type,
            order,
            leaves,
            leaf,
            room: AtomicUsize::new(room),
            benches: Mutex::default(),
        })
    }

    /// Looks at all row groups of a file; nothing if one of them is not of that kind, or rows are out of order.
    pub(crate) fn survey<'s>(
        &self,
        groups: impl Iterator<Item = SourceGroup<'s>>,
    ) -> Result<Option<Found>, Unfit> {
        let mut with = self.benches().pop().unwrap_or_default();
        let found = self.look_at(groups, &mut with);
        self.benches().push(with);
        found
    }

    fn benches(&self) -> MutexGuard<'_, Vec<Workbench>> {
        self.benches.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn look_at<'s>(
        &self,
        groups: impl Iterator<Item = SourceGroup<'s>>,
        with: &mut Workbench,
    ) -> Result<Option<Found>, Unfit> {
        let mut found = SurveyedGroups {
            sorted: true,
            unique: true,
            keys: Vec::new(),
        };
        let (mut kept, mut plain) = (Vec::new(), Vec::new());
        for source in groups {
            // The last key of the row group before is looked at with the next.
            let before = self.last(&plain).map(<[u8]>::to_vec).unwrap_or_default();
            if !self.plain_keys(&source, with, &before, &mut plain)? {
                return Ok(None);
            }
            let steps = self.steps(&plain);
            found.unique &= steps.unique;
            if !steps.sorted {
                return Ok(None);
            }
            let own = &plain[before.len()..];
            found.keys.push(self.ends(own));
            kept.push(self.keep(own, &steps));
        }
        Ok(Some((found, kept)))
    }

    /// The keys of a row group, plain, behind `before`.
    fn plain_keys(
        &self,
        source: &SourceGroup<'_>,
        with: &mut Workbench,
        before: &[u8],
        into: &mut Vec<u8>,
    ) -> Result<bool, Unfit> {
        let has_dictionary = match source.leaves[self.leaf] {
            Some(Leaf::Same(leaf)) => source.metadata().column(leaf).dictionary_page_offset().is_some(),
            _ => false,
        };
        if !has_dictionary || source.rows() == 0 {
            return Ok(false);
        }
        let leaf = self.leaves.column(self.leaf);
        let mut chunk = match read_chunk(source, self.leaf, &leaf, with) {
            Err(Unfit::Decode(_)) => return Ok(false),
            chunk => chunk?,
        };
        let all_indices = chunk.parts.iter().all(|part| matches!(part, Part::Indices(_)));
        if chunk.dictionary.is_none() || !all_indices {
            return Ok(false);
        }
        into.clear();
        into.extend_from_slice(before);
        self.gather(&mut chunk, with, into)
    }

    fn gather(&self, chunk: &mut ReadChunk, with: &mut Workbench, into: &mut Vec<u8>) -> Result<bool, Unfit> {
        chunk.see_through(with)?;
        with.dictionary(chunk, self.layout())?;
        let mut no_nulls = true;
        let values = chunk
            .dictionary
            .as_ref()
            .and_then(|dictionary| dictionary.values());
        if let (Some(disguise), Some(values)) = (&chunk.disguise, values) {
            no_nulls = disguise.0.iter().all(|(_, validity)| validity.is_none());
            into.extend_from_slice(values.bytes());
        } else if let Some(values) = values {
            for part in &chunk.parts {
                let Part::Indices(page) = part else {
                    return Ok(false);
                };
                let rows = with.indices(chunk, page)?;
                no_nulls &= rows.validity.is_none();
                values.gather(rows.held, into);
            }
        }
        with.forget(chunk);
        Ok(no_nulls)
    }

    fn layout(&self) -> Layout {
        Layout::of(&self.leaves.column(self.leaf))
    }

    fn width(&self) -> usize {
        match self.layout() {
            Layout::Fixed(width) => width,
            _ => 0,
        }
    }

    fn last<'p>(&self, plain: &'p [u8]) -> Option<&'p [u8]> {
        plain.rchunks_exact(self.width().max(1)).next()
    }

    fn steps(&self, plain: &[u8]) -> Steps {
        let descending = self.key.sort()[0].descending;
        match self.order {
            Order::Signed32 => steps(plain.as_chunks().0, i32::from_le_bytes, descending),
            Order::Unsigned32 => steps(plain.as_chunks().0, u32::from_le_bytes, descending),
            Order::Unsigned64 => steps(plain.as_chunks().0, u64::from_le_bytes, descending),
            _ => steps(plain.as_chunks().0, i64::from_le_bytes, descending),
        }
    }

    /// The first and the last key.
    fn ends(&self, plain: &[u8]) -> Option<KeyRange> {
        let ends = [plain.get(..self.width())?, self.last(plain)?].concat();
        let ends = ArrayData::builder(self.data_type.clone())
            .len(2)
            .add_buffer(Buffer::from(ends))
            .build();
        let ends: [ArrayRef; 1] = [make_array(ends.ok()?)];
        let end = |row| encode_row(&ends, row, self.key.bounds());
        Some(KeyRange {
            min: end(0)?.min(),
            max: end(1)?.max(),
        })
    }

    /// Keys that ascend become differences in the output too.
    fn keep(&self, plain: &[u8], steps: &Steps) -> Option<Arc<Kept>> {
        let descends = self.key.sort()[0].descending;
        if descends || !steps.unique || self.room.load(Ordering::Relaxed) == 0 {
            return None;
        }
        let kept = Kept::of(plain, self.width());
        let bytes = kept.bytes();
        let taken = |room: usize| room.checked_sub(bytes);
        let fits = self.room.try_update(Ordering::Relaxed, Ordering::Relaxed, taken);
        if fits.is_err() {
            self.room.store(0, Ordering::Relaxed);
        }
        fits.is_ok().then(|| Arc::new(kept))
    }
}
