//! How the keys of a job are written: every column in as few bits as its values need, one after another, most significant first.
//!
//! ```text
//! number = value - least value seen                      bytes = what follows the common beginning, big end first,
//!                                                                padded with zeros, then the length if lengths differ
//! descending: greatest code - code
//! nulls first: null is 0 and codes move up by one        nulls last: null is the code after the greatest
//! ```
//!
//! All in 64 bits, else all in 128, else arrow's row format, which holds anything. A layout is made once for a job: keys of
//! two layouts do not compare.

use super::keys::{Keys, RowKeys};
use super::observe::{Seen, Values};
use super::visit::{Visit, plain_column, visit};
use crate::error::MergeError;
use crate::sort_key::SortKey;
use crate::spec::{Rule, SortColumn};
use arrow::array::*;
use arrow::datatypes::{ArrowPrimitiveType, Schema};
use arrow::error::ArrowError;

/// The form of a job's keys.
pub(crate) struct Layout {
    form: Form,
    keyed: bool,
}

enum Form {
    /// With the bits of the rule's key, if there is one.
    Short(Vec<Field>, u64),
    Long(Vec<Field>, u128),
    Rows {
        order: SortKey,
        /// The rule's key, where it is less than the sort key.
        group: Option<SortKey>,
    },
}

/// Which form keys have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mask {
    Short(u64),
    Long(u128),
    Rows,
}

/// How one column is written.
#[derive(Debug)]
struct Field {
    code: Code,
    /// The greatest code, nulls aside.
    code_max: u128,
    /// Bits of the greatest code, nulls counted in.
    bits: u32,
    nulls: Nulls,
    descending: bool,
}

#[derive(Debug)]
enum Code {
    /// Nothing but nulls.
    Nothing,
    Numbers {
        min: u128,
    },
    Bytes {
        prefix: Vec<u8>,
        shortest: usize,
        longest: usize,
        length_bits: u32,
    },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Nulls {
    None,
    First,
    Last,
}

impl Layout {
    pub(super) fn new(
        schema: &Schema,
        sort: &[SortColumn],
        group: Option<usize>,
        columns: &[Seen],
    ) -> Result<Self, MergeError> {
        let fields: Option<Vec<Field>> = columns.iter().zip(sort).map(Field::of).collect();
        let group_columns = group.unwrap_or(sort.len());
        let form = match fields {
            Some(fields) => {
                let bits: u32 = fields.iter().map(|field| field.bits).sum();
                let rest: u32 = fields.iter().skip(group_columns).map(|field| field.bits).sum();
                match bits {
                    0..=64 => Form::Short(fields, u64::MAX.checked_shl(rest).unwrap_or(0)),
                    65..=128 => Form::Long(fields, u128::MAX.checked_shl(rest).unwrap_or(0)),
                    _ => Form::rows(schema, sort, group_columns)?,
                }
            }
            None => Form::rows(schema, sort, group_columns)?,
        };
        Ok(Self {
            form,
            keyed: group.is_some(),
        })
    }

    /// Whether rows of equal rule's key are judged.
    pub(super) fn keyed(&self) -> bool {
        self.keyed
    }

    pub(super) fn mask(&self) -> Mask {
        match &self.form {
            Form::Short(_, mask) => Mask::Short(*mask),
            Form::Long(_, mask) => Mask::Long(*mask),
            Form::Rows { .. } => Mask::Rows,
        }
    }

    /// Bytes of one key; nothing if that depends on the key.
    pub(crate) fn key_bytes(&self) -> Option<usize> {
        match &self.form {
            Form::Short(..) => Some(8),
            Form::Long(..) => Some(16),
            Form::Rows { .. } => None,
        }
    }

    /// The keys of some rows, given their sort columns in key order. All of them must have been observed.
    pub(crate) fn pack(&self, columns: &[ArrayRef]) -> Result<Keys, MergeError> {
        let columns: Vec<ArrayRef> = columns
            .iter()
            .map(plain_column)
            .collect::<Result<_, _>>()
            .map_err(|why| odd(&why))?;
        match &self.form {
            Form::Short(fields, _) => Ok(Keys::Short(packed::<u64>(fields, &columns)?.into())),
            Form::Long(fields, _) => Ok(Keys::Long(packed::<u128>(fields, &columns)?.into())),
            Form::Rows { order, group } => {
                let groups = group
                    .as_ref()
                    .map(|group| group.keys_of(&columns[..group.sort().len()]))
                    .transpose();
                let order = order.keys_of(&columns).map_err(|why| odd(&why))?;
                Ok(Keys::Rows(RowKeys::new(order, groups.map_err(|why| odd(&why))?)))
            }
        }
    }
}

impl Form {
    fn rows(schema: &Schema, sort: &[SortColumn], group_columns: usize) -> Result<Self, MergeError> {
        let key = |columns: &[SortColumn]| SortKey::new(schema, columns.to_vec(), &Rule::KeepAll);
        let group = (group_columns < sort.len())
            .then(|| key(&sort[..group_columns]))
            .transpose()?;
        Ok(Form::Rows {
            order: key(sort)?,
            group,
        })
    }
}

impl Field {
    /// Nothing if the values need more than 128 bits.
    fn of((seen, sort): (&Seen, &SortColumn)) -> Option<Self> {
        let (code, code_max) = match &seen.values {
            Values::None => (Code::Nothing, 0),
            Values::Numbers { min, max } => (Code::Numbers { min: *min }, max - min),
            Values::Bytes {
                prefix,
                shortest,
                longest,
            } => {
                let length_bits = usize::BITS - (longest - shortest).leading_zeros();
                let bits = u32::try_from(longest - prefix.len()).ok()?.checked_mul(8)? + length_bits;
                let code_max = match bits {
                    0..=127 => (1 << bits) - 1,
                    128 => u128::MAX,
                    _ => return None,
                };
                let code = Code::Bytes {
                    prefix: prefix.clone(),
                    shortest: *shortest,
                    longest: *longest,
                    length_bits,
                };
                (code, code_max)
            }
            Values::Others => return None,
        };
        let nulls = match (seen.nulls, sort.nulls_first) {
            (false, _) => Nulls::None,
            (true, true) => Nulls::First,
            (true, false) => Nulls::Last,
        };
        // A column of nulls alone has one key: no bit is spent on it.
        let only_nulls = matches!(code, Code::Nothing);
        let greatest = code_max.checked_add(u128::from(seen.nulls && !only_nulls))?;
        Some(Self {
            code,
            code_max,
            bits: u128::BITS - greatest.leading_zeros(),
            nulls,
            descending: sort.descending,
        })
    }

    fn null_code(&self) -> u128 {
        match (&self.code, self.nulls) {
            (Code::Nothing, _) | (_, Nulls::None | Nulls::First) => 0,
            (_, Nulls::Last) => self.code_max + 1,
        }
    }
}

fn packed<W: PackedWord>(fields: &[Field], columns: &[ArrayRef]) -> Result<Vec<W>, MergeError> {
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
    fn append(&mut self, nulls: Option<&arrow::buffer::NullBuffer>, code: impl Fn(usize) -> (W, bool)) {
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
        let Code::Numbers { min } = &self.field.code else {
            return self.only_nulls(values);
        };
        let (min, max) = (*min as u64, self.field.code_max as u64);
        let native = values.values();
        self.append(values.nulls(), |row| {
            let code = code(native[row]).wrapping_sub(min);
            (W::from_short(code), code <= max)
        });
    }

    fn wide_numbers<T: ArrowPrimitiveType>(
        &mut self,
        values: &PrimitiveArray<T>,
        code: impl Fn(T::Native) -> u128,
    ) {
        let Code::Numbers { min } = &self.field.code else {
            return self.only_nulls(values);
        };
        let (min, max) = (*min, self.field.code_max);
        let native = values.values();
        self.append(values.nulls(), |row| {
            let code = code(native[row]).wrapping_sub(min);
            (W::narrow(code), code <= max)
        });
    }

    fn bytes<'a>(&mut self, values: &'a dyn Array, value: impl Fn(usize) -> &'a [u8]) {
        let Code::Bytes {
            prefix,
            shortest,
            longest,
            length_bits,
        } = &self.field.code
        else {
            return self.only_nulls(values);
        };
        let width = longest - prefix.len();
        self.append(values.nulls(), |row| {
            let value = value(row);
            if value.len() < *shortest || value.len() > *longest || !value.starts_with(prefix) {
                return (W::default(), false);
            }
            let rest = W::from_bytes(&value[prefix.len()..], width);
            let length = W::from_short((value.len() - shortest) as u64);
            (rest.pushed(length, *length_bits), true)
        });
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
trait PackedWord: Copy + Default {
    /// The low bits.
    fn narrow(value: u128) -> Self;
    fn from_short(value: u64) -> Self;
    /// Bytes, big end first, in the highest of `width` bytes.
    fn from_bytes(bytes: &[u8], width: usize) -> Self;
    /// `code` in `bits` new low bits.
    fn pushed(self, code: Self, bits: u32) -> Self;
    fn minus(self, other: Self) -> Self;
    fn plus(self, other: Self) -> Self;
}

macro_rules! packed_word {
    ($word:ty) => {
        impl PackedWord for $word {
            fn narrow(value: u128) -> Self {
                value as $word
            }
            fn from_short(value: u64) -> Self {
                value.into()
            }
            fn from_bytes(bytes: &[u8], width: usize) -> Self {
                let mut word = [0; size_of::<$word>()];
                word[..bytes.len()].copy_from_slice(bytes);
                let unused = <$word>::BITS - 8 * width as u32;
                <$word>::from_be_bytes(word)
                    .checked_shr(unused)
                    .unwrap_or(0)
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

packed_word!(u64);
packed_word!(u128);

fn odd(why: &ArrowError) -> MergeError {
    MergeError::Proof(format!("keys cannot be packed: {why}"))
}
