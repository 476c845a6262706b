//! One dictionary for each column of a job: merged once, as inputs come, so that rows are moved as codes and written as codes.

use crate::error::MergeError;
use arrow::array::*;
use arrow::buffer::{Buffer, OffsetBuffer};
use arrow::datatypes::{ArrowNativeType, ByteArrayType, DataType};
use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

/// A column with more distinct values than this is laid plain from then on.
pub(crate) const ENTRIES_MAX: usize = 1 << 16;
/// So is one whose distinct values are longer than this together.
const BYTES_MAX: usize = 1 << 20;

/// The values of a column seen so far, each with its code. Any thread may add some.
#[derive(Debug, Default)]
pub(crate) struct Dictionary(Mutex<Growing>);

#[derive(Debug, Default)]
struct Growing {
    codes: HashMap<Box<[u8]>, u32>,
    entries: Entries,
}

/// The entries by code.
#[derive(Debug, Default, Clone)]
pub(crate) struct Entries {
    ends: Vec<u32>,
    bytes: Vec<u8>,
    ranks: OnceLock<Ranks>,
}

/// The order of the entries.
#[derive(Debug, Clone)]
pub(crate) struct Ranks {
    by_code: Vec<u32>,
    codes: Vec<u32>,
}

impl Ranks {
    /// How many entries are less than this one.
    pub(crate) fn of(&self, code: u32) -> u32 {
        self.by_code[code as usize]
    }

    /// The entry of this rank.
    pub(crate) fn code(&self, rank: u32) -> u32 {
        self.codes[rank as usize]
    }
}

impl Dictionary {
    /// The codes of the entries of a file's dictionary; nothing if they would make this one too large, or cannot be coded.
    pub(crate) fn codes(&self, values: &ArrayRef) -> Option<Vec<u32>> {
        match values.data_type() {
            DataType::Utf8 => self.codes_of(values.as_string::<i32>()),
            DataType::LargeUtf8 => self.codes_of(values.as_string::<i64>()),
            DataType::Binary => self.codes_of(values.as_binary::<i32>()),
            DataType::LargeBinary => self.codes_of(values.as_binary::<i64>()),
            _ => None,
        }
    }

    fn codes_of<T: ByteArrayType>(&self, values: &GenericByteArray<T>) -> Option<Vec<u32>> {
        if values.null_count() > 0 {
            return None;
        }
        let mut growing = self.lock();
        let value = |row: usize| {
            let ends = values.value_offsets();
            &values.value_data()[ends[row].as_usize()..ends[row + 1].as_usize()]
        };
        (0..values.len()).map(|row| growing.code(value(row))).collect()
    }

    /// What it came to.
    pub(crate) fn entries(&self) -> Entries {
        self.lock().entries.clone()
    }

    fn lock(&self) -> MutexGuard<'_, Growing> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Growing {
    fn code(&mut self, value: &[u8]) -> Option<u32> {
        if let Some(code) = self.codes.get(value) {
            return Some(*code);
        }
        let code = self.entries.ends.len();
        if code >= ENTRIES_MAX || self.entries.bytes.len() + value.len() > BYTES_MAX {
            return None;
        }
        self.codes.insert(value.into(), code as u32);
        self.entries.bytes.extend_from_slice(value);
        self.entries.ends.push(self.entries.bytes.len() as u32);
        Some(code as u32)
    }
}

impl Entries {
    pub(crate) fn len(&self) -> usize {
        self.ends.len()
    }

    /// The value with this code.
    pub(crate) fn entry(&self, code: u32) -> &[u8] {
        let code = code as usize;
        let start = code.checked_sub(1).map_or(0, |before| self.ends[before] as usize);
        &self.bytes[start..self.ends[code] as usize]
    }

    /// Their order, found when it is first asked for; none is added after that.
    pub(crate) fn ranks(&self) -> &Ranks {
        self.ranks.get_or_init(|| {
            let mut codes: Vec<u32> = (0..self.len() as u32).collect();
            codes.sort_unstable_by_key(|code| self.entry(*code));
            let mut by_code = vec![0; codes.len()];
            for (rank, code) in (0..).zip(&codes) {
                by_code[*code as usize] = rank;
            }
            Ranks { by_code, codes }
        })
    }

    /// All values in the column's type.
    pub(crate) fn array(&self, data_type: &DataType) -> Result<ArrayRef, MergeError> {
        let lengths = (0..self.len()).map(|code| self.entry(code as u32).len());
        let large = matches!(data_type, DataType::LargeUtf8 | DataType::LargeBinary);
        let offsets = match large {
            true => OffsetBuffer::<i64>::from_lengths(lengths)
                .into_inner()
                .into_inner(),
            false => OffsetBuffer::<i32>::from_lengths(lengths)
                .into_inner()
                .into_inner(),
        };
        let data = ArrayData::builder(data_type.clone())
            .len(self.len())
            .add_buffer(offsets)
            .add_buffer(Buffer::from_slice_ref(&self.bytes))
            .build();
        data.map(make_array)
            .map_err(|why| MergeError::Proof(format!("a dictionary could not be made: {why}")))
    }
}
