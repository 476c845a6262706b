//! How the keys of a job are written: every column in as few bits as its values need, one after another, most significant first.
//!
//! ```text
//! number = value - least value seen                      bytes = what follows the common beginning, big end first,
//!                                                                padded with zeros, then the length if lengths differ
//! descending: greatest code - code
//! nulls first: null is 0 and codes move up by one        nulls last: null is the code after the greatest
//! ```
//!
//! All in 64 bits, else all in 128, else as much as fits into 128 as a head, and the columns that it does not hold whole
//! beside it. A layout is made once for a job: keys of two layouts do not compare.

use super::field::Field;
use super::headed::HeadedKeys;
use super::keys::Keys;
use super::observe::{Seen, Values};
use super::pack::packed;
use super::parts::PartForm;
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
    Headed(Headed),
}

/// How keys of more than 128 bits are written.
struct Headed {
    /// The first columns; the last of them may be cut.
    head: Vec<Field>,
    /// The bits of the rule's key in the head.
    mask: u128,
    /// The columns that the head does not hold whole: the last ones.
    parts: Vec<PartForm>,
    /// Parts that belong to the rule's key.
    group_parts: usize,
}

/// Which form keys have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mask {
    Short(u64),
    Long(u128),
    Headed(u128),
}

impl Layout {
    pub(super) fn new(
        schema: &Schema,
        sort: &[SortColumn],
        group: Option<usize>,
        columns: &[Seen],
    ) -> Result<Self, MergeError> {
        let group_columns = group.unwrap_or(sort.len());
        let pairs = columns.iter().zip(sort);
        let fields: Option<Vec<Field>> = pairs.map(|(seen, sort)| Field::whole(seen, sort)).collect();
        let bits = |fields: &[Field]| -> u32 { fields.iter().map(|field| field.bits).sum() };
        let form = match fields {
            Some(fields) if bits(&fields) <= u64::BITS => {
                let rest = bits(&fields[group_columns..]);
                Form::Short(fields, u64::MAX.checked_shl(rest).unwrap_or(0))
            }
            Some(fields) if bits(&fields) <= u128::BITS => {
                let rest = bits(&fields[group_columns..]);
                Form::Long(fields, u128::MAX.checked_shl(rest).unwrap_or(0))
            }
            _ => Form::Headed(Headed::new(schema, sort, group_columns, columns)?),
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
            Form::Headed(form) => Mask::Headed(form.mask),
        }
    }

    /// Bytes of one key; nothing if that depends on the key.
    pub(crate) fn key_bytes(&self) -> Option<usize> {
        match &self.form {
            Form::Short(..) => Some(8),
            Form::Long(..) => Some(16),
            Form::Headed(_) => None,
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
            Form::Headed(form) => Ok(Keys::Headed(form.pack(&columns)?)),
        }
    }
}

impl Headed {
    fn new(
        schema: &Schema,
        sort: &[SortColumn],
        group_columns: usize,
        columns: &[Seen],
    ) -> Result<Self, MergeError> {
        let (mut head, mut bits_left) = (Vec::new(), u128::BITS);
        let mut pairs = columns.iter().zip(sort).peekable();
        let fits = |(seen, sort): &(&Seen, &SortColumn), bits| {
            Field::whole(seen, sort).filter(|field| field.bits <= bits)
        };
        while let Some(field) = pairs.peek().and_then(|pair| fits(pair, bits_left)) {
            bits_left -= field.bits;
            head.push(field);
            pairs.next();
        }
        let whole = head.len();
        head.extend(
            pairs
                .peek()
                .and_then(|(seen, sort)| Field::cut(seen, sort, bits_left)),
        );
        let parts = pairs.map(|(seen, sort)| part_form(schema, seen, sort));
        let rest: u32 = head.iter().skip(group_columns).map(|field| field.bits).sum();
        Ok(Self {
            mask: u128::MAX.checked_shl(rest).unwrap_or(0),
            head,
            parts: parts.collect::<Result<_, _>>()?,
            group_parts: group_columns.saturating_sub(whole),
        })
    }

    fn pack(&self, columns: &[ArrayRef]) -> Result<HeadedKeys, MergeError> {
        let heads = packed(&self.head, columns)?;
        let columns = &columns[columns.len() - self.parts.len()..];
        let parts = self
            .parts
            .iter()
            .zip(columns)
            .map(|(form, column)| form.part(column));
        let parts = parts.collect::<Result<Vec<_>, _>>()?;
        Ok(HeadedKeys::new(heads, parts, self.group_parts))
    }
}

fn part_form(schema: &Schema, seen: &Seen, sort: &SortColumn) -> Result<PartForm, MergeError> {
    if let Values::Bytes { .. } = seen.values {
        return Ok(PartForm::Bytes(sort.clone()));
    }
    Ok(match Field::whole(seen, sort) {
        Some(field) => PartForm::Code(field),
        None => PartForm::Row(Box::new(SortKey::new(
            schema,
            vec![sort.clone()],
            &Rule::KeepAll,
        )?)),
    })
}

pub(super) fn odd(why: &ArrowError) -> MergeError {
    MergeError::Proof(format!("keys cannot be packed: {why}"))
}
