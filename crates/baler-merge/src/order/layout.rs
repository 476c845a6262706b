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
use super::pack::packed;
use super::visit::plain_column;
use crate::error::MergeError;
use crate::sort_key::SortKey;
use crate::spec::{Rule, SortColumn};
use arrow::array::ArrayRef;
use arrow::datatypes::Schema;
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
    Rows(Box<RowForm>),
}

struct RowForm {
    order: SortKey,
    /// The rule's key, where it is less than the sort key.
    group: Option<SortKey>,
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
pub(super) struct Field {
    pub(super) code: Code,
    /// The greatest code, nulls aside.
    pub(super) code_max: u128,
    /// Bits of the greatest code, nulls counted in.
    pub(super) bits: u32,
    pub(super) nulls: Nulls,
    pub(super) descending: bool,
}

#[derive(Debug)]
pub(super) enum Code {
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
pub(super) enum Nulls {
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
            Form::Rows(_) => Mask::Rows,
        }
    }

    /// Bytes of one key; nothing if that depends on the key.
    pub(crate) fn key_bytes(&self) -> Option<usize> {
        match &self.form {
            Form::Short(..) => Some(8),
            Form::Long(..) => Some(16),
            Form::Rows(_) => None,
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
            Form::Rows(form) => {
                let groups = form
                    .group
                    .as_ref()
                    .map(|group| group.keys_of(&columns[..group.sort().len()]))
                    .transpose();
                let order = form.order.keys_of(&columns).map_err(|why| odd(&why))?;
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
        Ok(Form::Rows(Box::new(RowForm {
            order: key(sort)?,
            group,
        })))
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

    pub(super) fn null_code(&self) -> u128 {
        match (&self.code, self.nulls) {
            (Code::Nothing, _) | (_, Nulls::None | Nulls::First) => 0,
            (_, Nulls::Last) => self.code_max + 1,
        }
    }
}

pub(super) fn odd(why: &ArrowError) -> MergeError {
    MergeError::Proof(format!("keys cannot be packed: {why}"))
}
