//! Pages of strings and binaries, which come as bytes, and their bounds.

use super::own_pages::odd;
use crate::error::MergeError;
use crate::order::first_8;
use crate::pages::bounds::{Bounds, Order};
use crate::pages::{delta, plain};
use arrow::array::*;
use arrow::datatypes::{ArrowNativeType, ByteArrayType, DataType};
use parquet::basic::Encoding;

/// The values of a page, and for byte arrays the sum of their lengths.
pub(super) fn bytes_page(rows: &ArrayRef, encoding: Encoding) -> Result<(Vec<u8>, Option<u64>), MergeError> {
    fn page<T: ByteArrayType>(rows: &GenericByteArray<T>, encoding: Encoding) -> (Vec<u8>, Option<u64>) {
        match encoding {
            Encoding::DELTA_LENGTH_BYTE_ARRAY => lengths_page(rows),
            _ => plain_page(rows),
        }
    }
    Ok(match rows.data_type() {
        DataType::Binary => page(rows.as_binary::<i32>(), encoding),
        DataType::LargeBinary => page(rows.as_binary::<i64>(), encoding),
        DataType::FixedSizeBinary(_) => {
            let values: Vec<&[u8]> = rows.as_fixed_size_binary().iter().flatten().collect();
            (values.concat(), None)
        }
        other => return Err(odd(&format!("a column of {other}"))),
    })
}

fn value_of<T: ByteArrayType>(rows: &GenericByteArray<T>, row: usize) -> &[u8] {
    let ends = rows.value_offsets();
    &rows.value_data()[ends[row].as_usize()..ends[row + 1].as_usize()]
}

/// Each value after its length.
fn plain_page<T: ByteArrayType>(rows: &GenericByteArray<T>) -> (Vec<u8>, Option<u64>) {
    let ends = rows.value_offsets();
    let length = ends[rows.len()].as_usize() - ends[0].as_usize();
    let mut bytes = Vec::with_capacity(length + rows.len() * 4);
    each_valid(rows, |row| plain::push_bytes(&mut bytes, value_of(rows, row)));
    let count = rows.len() - rows.null_count();
    let length = bytes.len() - count * 4;
    (bytes, Some(length as u64))
}

/// All lengths as differences, then all values.
fn lengths_page<T: ByteArrayType>(rows: &GenericByteArray<T>) -> (Vec<u8>, Option<u64>) {
    let mut lengths: Vec<i32> = Vec::with_capacity(rows.len());
    each_valid(rows, |row| lengths.push(value_of(rows, row).len() as i32));
    let mut bytes = delta::encode(&lengths);
    let before = bytes.len();
    let ends = rows.value_offsets();
    let (first, last) = (ends[0].as_usize(), ends[rows.len()].as_usize());
    bytes.reserve(last - first);
    match rows.null_count() {
        0 => bytes.extend_from_slice(&rows.value_data()[first..last]),
        _ => each_valid(rows, |row| bytes.extend_from_slice(value_of(rows, row))),
    }
    let length = bytes.len() - before;
    (bytes, Some(length as u64))
}

/// Bounds of the values, if there are any.
pub(super) fn bytes_bounds(order: Order, rows: &ArrayRef) -> Result<Option<Bounds>, MergeError> {
    Ok(match rows.data_type() {
        DataType::Binary => bounds(order, rows.as_binary::<i32>()),
        DataType::LargeBinary => bounds(order, rows.as_binary::<i64>()),
        DataType::FixedSizeBinary(_) => order.bounds_of(rows.as_fixed_size_binary().iter().flatten()),
        other => return Err(odd(&format!("a column of {other}"))),
    })
}

fn bounds<T: ByteArrayType>(order: Order, rows: &GenericByteArray<T>) -> Option<Bounds> {
    if order != Order::Bytes {
        let valid = (0..rows.len()).filter(|row| rows.is_valid(*row));
        return order.bounds_of(valid.map(|row| value_of(rows, row)));
    }
    let first = (0..rows.len()).find(|row| rows.is_valid(*row))?;
    let mut found = Extremes::of(value_of(rows, first));
    match rows.null_count() {
        0 => {
            let (ends, data) = (rows.value_offsets(), rows.value_data());
            let values = ends
                .windows(2)
                .map(|ends| &data[ends[0].as_usize()..ends[1].as_usize()]);
            values.for_each(|value| found.add(value));
        }
        _ => each_valid(rows, |row| found.add(value_of(rows, row))),
    }
    Some(Bounds::exact(found.min, found.max, None))
}

/// The least and the greatest of some values. Their first bytes settle nearly every comparison.
struct Extremes<'a> {
    min: &'a [u8],
    max: &'a [u8],
    heads: (u64, u64),
}

impl<'a> Extremes<'a> {
    fn of(value: &'a [u8]) -> Self {
        Self {
            min: value,
            max: value,
            heads: (first_8(value), first_8(value)),
        }
    }

    fn add(&mut self, value: &'a [u8]) {
        let head = first_8(value);
        let (least, greatest) = self.heads;
        if head <= least && value < self.min {
            (self.min, self.heads.0) = (value, head);
        }
        if head >= greatest && value > self.max {
            (self.max, self.heads.1) = (value, head);
        }
    }
}

fn each_valid(rows: &dyn Array, mut take: impl FnMut(usize)) {
    match rows.nulls().filter(|nulls| nulls.null_count() > 0) {
        None => (0..rows.len()).for_each(take),
        Some(nulls) => nulls.valid_indices().for_each(&mut take),
    }
}
