//! Rows of one column as they come back from the shelf.

use super::dictionary::Entries;
use crate::error::MergeError;
use arrow::array::{Array, ArrayRef, BooleanBufferBuilder, new_null_array};
use arrow::buffer::BooleanBuffer;
use arrow::datatypes::DataType;
use bytes::Bytes;

/// Consecutive rows of a lane.
#[derive(Debug, Clone)]
pub(crate) struct Flat {
    pub(crate) rows: usize,
    /// Which rows are there, if any is not. Says nothing about [`Values::Absent`] and [`Values::Arrow`].
    pub(crate) nulls: Option<BooleanBuffer>,
    pub(crate) values: Values,
}

/// The values, nulls filled with anything.
#[derive(Debug, Clone)]
pub(crate) enum Values {
    /// Nothing but nulls.
    Absent,
    /// Little end first.
    Fixed(Bytes),
    /// Numbers of dictionary entries.
    Codes(Vec<u32>),
    /// One offset more than rows, the first 0.
    Bytes { offsets: Vec<u32>, bytes: Bytes },
    /// As Arrow holds them.
    Arrow(ArrayRef),
}

impl Flat {
    /// Whether a row may be null, whatever holds its values.
    pub(crate) fn may_be_null(&self) -> bool {
        self.nulls.is_some() || matches!(self.values, Values::Absent)
    }

    /// Appends which of some rows are there.
    pub(crate) fn append_validity(&self, into: &mut BooleanBufferBuilder, start: usize, rows: usize) {
        match (&self.values, &self.nulls) {
            (Values::Absent, _) => into.append_n(rows, false),
            (_, None) => into.append_n(rows, true),
            (_, Some(nulls)) => into.append_buffer(&nulls.slice(start, rows)),
        }
    }

    /// The same rows, with strings in place of codes.
    pub(crate) fn expanded(self, entries: &Entries) -> Self {
        let Values::Codes(codes) = &self.values else {
            return self;
        };
        let valid = |row: usize| self.nulls.as_ref().is_none_or(|nulls| nulls.value(row));
        let mut offsets = Vec::with_capacity(codes.len() + 1);
        let mut bytes = Vec::new();
        offsets.push(0);
        for (row, code) in codes.iter().enumerate() {
            if valid(row) {
                bytes.extend_from_slice(entries.entry(*code));
            }
            offsets.push(bytes.len() as u32);
        }
        Self {
            values: Values::Bytes {
                offsets,
                bytes: bytes.into(),
            },
            ..self
        }
    }

    /// Several stretches of a lane that follow each other, as one. All hold the same form, absent rows aside.
    pub(crate) fn joined(parts: Vec<Flat>, data_type: &DataType) -> Result<Flat, MergeError> {
        let mut parts = parts;
        if parts.len() == 1 {
            return parts
                .pop()
                .ok_or_else(|| MergeError::Proof("a stretch without parts".into()));
        }
        let rows = parts.iter().map(|part| part.rows).sum();
        let nulls = parts.iter().any(Flat::may_be_null).then(|| {
            let mut nulls = BooleanBufferBuilder::new(rows);
            for part in &parts {
                part.append_validity(&mut nulls, 0, part.rows);
            }
            nulls.finish()
        });
        let some = parts
            .iter()
            .find(|part| !matches!(part.values, Values::Absent))
            .map(|part| &part.values);
        let values = match some {
            None => Values::Absent,
            Some(Values::Fixed(_)) => join_fixed(&parts),
            Some(Values::Codes(_)) => join_codes(&parts),
            Some(Values::Bytes { .. }) => join_bytes(&parts),
            Some(Values::Arrow(_)) => Values::Arrow(join_arrow(&parts, data_type)?),
            Some(Values::Absent) => Values::Absent,
        };
        Ok(Flat { rows, nulls, values })
    }
}

fn join_fixed(parts: &[Flat]) -> Values {
    let width = |part: &Flat| match &part.values {
        Values::Fixed(bytes) if part.rows > 0 => Some(bytes.len() / part.rows),
        _ => None,
    };
    let width = parts.iter().find_map(width).unwrap_or(0);
    let rows: usize = parts.iter().map(|part| part.rows).sum();
    let mut joined = Vec::with_capacity(rows * width);
    for part in parts {
        match &part.values {
            Values::Fixed(bytes) => joined.extend_from_slice(bytes),
            _ => joined.resize(joined.len() + part.rows * width, 0),
        }
    }
    Values::Fixed(joined.into())
}

fn join_codes(parts: &[Flat]) -> Values {
    let mut joined = Vec::with_capacity(parts.iter().map(|part| part.rows).sum());
    for part in parts {
        match &part.values {
            Values::Codes(codes) => joined.extend_from_slice(codes),
            _ => joined.resize(joined.len() + part.rows, 0),
        }
    }
    Values::Codes(joined)
}

fn join_bytes(parts: &[Flat]) -> Values {
    let (mut joined, mut bytes_joined) = (vec![0], Vec::new());
    for part in parts {
        let base = bytes_joined.len() as u32;
        match &part.values {
            Values::Bytes { offsets, bytes } => {
                joined.extend(offsets[1..].iter().map(|offset| base + offset));
                bytes_joined.extend_from_slice(bytes);
            }
            _ => joined.resize(joined.len() + part.rows, base),
        }
    }
    Values::Bytes {
        offsets: joined,
        bytes: bytes_joined.into(),
    }
}

fn join_arrow(parts: &[Flat], data_type: &DataType) -> Result<ArrayRef, MergeError> {
    let arrays: Vec<ArrayRef> = parts
        .iter()
        .map(|part| match &part.values {
            Values::Arrow(array) => array.clone(),
            _ => new_null_array(data_type, part.rows),
        })
        .collect();
    let arrays: Vec<&dyn Array> = arrays.iter().map(AsRef::as_ref).collect();
    arrow::compute::concat(&arrays)
        .map_err(|why| MergeError::Proof(format!("rows could not be put together: {why}")))
}
