//! Writes keys in a layout: column by column, each code below those before it.

use super::beginning::{Beginning, first_8, first_16};
use super::field::{Code, Field, Nulls};
use super::layout::odd;
use super::visit::{Visit, visit};
use crate::error::MergeError;
use arrow::array::*;
use arrow::buffer::NullBuffer;
use arrow::datatypes::ArrowPrimitiveType;

/// The keys of some rows, given their columns in plain layout.
pub(super) fn packed<W: PackedWord>(fields: &[Field], columns: &[ArrayRef]) -> Result<Vec<W>, MergeError> {
    let rows = columns.first().map_or(0, Array::len);
    let mut keys = vec![W::default(); rows];
    for (field, column) in fields.iter().zip(columns) {
        let mut pack = Pack {
            field,
            keys: &mut keys,
            stray: false,
        };
        visit(column, &mut pack).map_err(|why| odd(&why))?;
        if pack.stray {
            return Err(MergeError::Proof(
                "a key lies outside of what was observed of its job".into(),
            ));
        }
    }
    Ok(keys)
}

/// Appends the codes of one column to the keys of some rows.
struct Pack<'a, W> {
    field: &'a Field,
    keys: &'a mut [W],
    /// Some value does not fit the layout.
    stray: bool,
}

impl<W: PackedWord> Pack<'_, W> {
    /// Appends a code for each row. `code` gives the row's code before direction and nulls, and whether it is a sound one.
    fn append(&mut self, nulls: Option<&NullBuffer>, code: impl Fn(usize) -> (W, bool)) {
        // All in locals, so that the loops keep them in registers.
        let (field, mut stray) = (self.field, false);
        let (bits, flip) = (field.bits, field.descending);
        let first_code = W::narrow(u128::from(field.nulls == Nulls::First));
        let last_code = W::narrow(field.code_max).plus(first_code);
        let turned = |code: W| match flip {
            true => last_code.minus(code),
            false => code.plus(first_code),
        };
        match nulls.filter(|nulls| nulls.null_count() > 0) {
            None => {
                for (row, key) in self.keys.iter_mut().enumerate() {
                    let (code, sound) = code(row);
                    stray |= !sound;
                    *key = key.pushed(turned(code), bits);
                }
            }
            Some(nulls) => {
                stray |= field.nulls == Nulls::None;
                let null = W::narrow(field.null_code());
                for (row, key) in self.keys.iter_mut().enumerate() {
                    let (code, sound) = if nulls.is_valid(row) {
                        let (code, sound) = code(row);
                        (turned(code), sound)
                    } else {
                        (null, true)
                    };
                    stray |= !sound;
                    *key = key.pushed(code, bits);
                }
            }
        }
        self.stray |= stray;
    }

    fn only_nulls(&mut self, values: &dyn Array) {
        self.stray |= values.null_count() < values.len();
    }
}

impl<W: PackedWord> Visit for Pack<'_, W> {
    fn numbers<T: ArrowPrimitiveType>(
        &mut self,
        values: &PrimitiveArray<T>,
        code: impl Fn(T::Native) -> u64,
    ) {
        let Code::Numbers { min, shift } = self.field.code else {
            return self.only_nulls(values);
        };
        let (min, max) = (min as u64, self.field.code_max as u64);
        let native = values.values();
        self.append(values.nulls(), |row| {
            let code = code(native[row]).wrapping_sub(min) >> shift;
            (W::from_short(code), code <= max)
        });
    }

    fn wide_numbers<T: ArrowPrimitiveType>(
        &mut self,
        values: &PrimitiveArray<T>,
        code: impl Fn(T::Native) -> u128,
    ) {
        let Code::Numbers { min, shift } = self.field.code else {
            return self.only_nulls(values);
        };
        let max = self.field.code_max;
        let native = values.values();
        self.append(values.nulls(), |row| {
            let code = code(native[row]).wrapping_sub(min) >> shift;
            (W::narrow(code), code <= max)
        });
    }

    fn bytes<'a>(&mut self, values: &'a dyn Array, value: impl Fn(usize) -> &'a [u8]) {
        match &self.field.code {
            Code::Bytes {
                prefix,
                shortest,
                longest,
                length_bits,
            } => {
                let width = longest - prefix.len();
                let beginning = Beginning::new(prefix);
                self.append(values.nulls(), |row| {
                    let value = value(row);
                    if value.len() < *shortest || value.len() > *longest || !beginning.begins(value) {
                        return (W::default(), false);
                    }
                    let rest = W::from_bytes(&value[prefix.len()..], width);
                    let length = W::from_short((value.len() - shortest) as u64);
                    (rest.pushed(length, *length_bits), true)
                });
            }
            Code::Beginning { prefix, width } => {
                let beginning = Beginning::new(prefix);
                self.append(values.nulls(), |row| {
                    let value = value(row);
                    match beginning.begins(value) {
                        true => (W::from_bytes(&value[prefix.len()..], *width), true),
                        false => (W::default(), false),
                    }
                });
            }
            _ => self.only_nulls(values),
        }
    }

    fn nulls(&mut self, rows: usize) {
        self.stray |= rows > 0 && self.field.nulls == Nulls::None;
        let null = W::narrow(self.field.null_code());
        for key in self.keys.iter_mut() {
            *key = key.pushed(null, self.field.bits);
        }
    }

    fn others(&mut self) {
        self.stray = true;
    }
}

/// What packing does with a key. Nothing overflows where values lie in what was observed.
pub(super) trait PackedWord: Copy + Default {
    /// The low bits.
    fn narrow(value: u128) -> Self;
    fn from_short(value: u64) -> Self;
    /// The first `width` bytes, big end first; zeros where there are fewer.
    fn from_bytes(bytes: &[u8], width: usize) -> Self;
    /// `code` in `bits` new low bits.
    fn pushed(self, code: Self, bits: u32) -> Self;
    fn minus(self, other: Self) -> Self;
    fn plus(self, other: Self) -> Self;
}

macro_rules! packed_word {
    ($word:ty, $first:path) => {
        impl PackedWord for $word {
            fn narrow(value: u128) -> Self {
                value as $word
            }
            fn from_short(value: u64) -> Self {
                value.into()
            }
            fn from_bytes(bytes: &[u8], width: usize) -> Self {
                let unused = <$word>::BITS - 8 * width as u32;
                $first(bytes).checked_shr(unused).unwrap_or(0)
            }
            fn pushed(self, code: Self, bits: u32) -> Self {
                // Where a column takes every bit there is nothing before it.
                self.checked_shl(bits).unwrap_or(0) | code
            }
            fn minus(self, other: Self) -> Self {
                self.wrapping_sub(other)
            }
            fn plus(self, other: Self) -> Self {
                self.wrapping_add(other)
            }
        }
    };
}

packed_word!(u64, first_8);
packed_word!(u128, first_16);
