//! What the key columns of a job hold: how far values spread, how long strings are, whether there are nulls.
//!
//! One for each thread, a batch at a time, then joined: the layout that comes of it must hold every key of the job.

use super::beginning::Beginning;
use super::layout::Layout;
use super::visit::{Visit, plain_column, visit};
use crate::error::MergeError;
use crate::promote::plain_field;
use crate::sort_key::SortKey;
use crate::spec::{Rule, SortColumn};
use arrow::array::*;
use arrow::datatypes::{ArrowPrimitiveType, Schema};
use std::sync::Arc;

/// Values of key columns, as far as they were seen.
#[derive(Clone, Debug)]
pub(crate) struct Observed {
    schema: Arc<Schema>,
    sort: Vec<SortColumn>,
    group: Option<usize>,
    columns: Vec<Seen>,
}

/// Values of one column.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Seen {
    pub(super) nulls: bool,
    pub(super) values: Values,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) enum Values {
    /// Only nulls, or no rows.
    #[default]
    None,
    /// The least and the greatest, as the visitor codes them.
    Numbers { min: u128, max: u128 },
    /// What all begin with, and how long they are.
    Bytes {
        prefix: Vec<u8>,
        shortest: usize,
        longest: usize,
    },
    /// No short form.
    Others,
}

/// As much of a common beginning is looked for.
const PREFIX_BYTES_MAX: usize = 64;

impl Observed {
    /// `sort` are columns of `schema`. Under last write wins, `group` says how many of them, from the first, are the rule's key.
    /// Fails if rows cannot be ordered by them.
    pub(crate) fn new(
        schema: &Schema,
        sort: &[SortColumn],
        group: Option<usize>,
    ) -> Result<Self, MergeError> {
        let schema = Arc::new(Schema::new(
            schema.fields().iter().map(plain_field).collect::<Vec<_>>(),
        ));
        SortKey::new(&schema, sort.to_vec(), &Rule::KeepAll)?;
        Ok(Self {
            schema,
            sort: sort.to_vec(),
            group,
            columns: vec![Seen::default(); sort.len()],
        })
    }

    /// Looks at the sort columns of some rows, given in key order.
    pub(crate) fn add(&mut self, columns: &[ArrayRef]) -> Result<(), MergeError> {
        assert_eq!(
            columns.len(),
            self.columns.len(),
            "one array for each sort column"
        );
        for (seen, column) in self.columns.iter_mut().zip(columns) {
            plain_column(column)
                .and_then(|column| visit(&column, seen))
                .map_err(|why| MergeError::Proof(format!("keys cannot be looked at: {why}")))?;
        }
        Ok(())
    }

    /// Takes in what another thread saw of the same columns.
    pub(crate) fn join(&mut self, other: Observed) {
        for (seen, other) in self.columns.iter_mut().zip(other.columns) {
            seen.nulls |= other.nulls;
            seen.join(other.values);
        }
    }

    /// What was seen of the first columns.
    pub(crate) fn first(&self, columns: usize) -> Self {
        Self {
            schema: Arc::clone(&self.schema),
            sort: self.sort[..columns].to_vec(),
            group: None,
            columns: self.columns[..columns].to_vec(),
        }
    }

    /// The cheapest layout that holds every key seen.
    pub(crate) fn decide(&self) -> Result<Layout, MergeError> {
        Layout::new(&self.schema, &self.sort, self.group, &self.columns)
    }
}

impl Seen {
    fn join(&mut self, other: Values) {
        self.values = match (std::mem::take(&mut self.values), other) {
            (Values::None, values) | (values, Values::None) => values,
            (Values::Numbers { min, max }, Values::Numbers { min: low, max: high }) => Values::Numbers {
                min: min.min(low),
                max: max.max(high),
            },
            (
                Values::Bytes {
                    prefix,
                    shortest,
                    longest,
                },
                Values::Bytes {
                    prefix: other,
                    shortest: short,
                    longest: long,
                },
            ) => Values::Bytes {
                prefix: common(&prefix, &other).to_vec(),
                shortest: shortest.min(short),
                longest: longest.max(long),
            },
            _ => Values::Others,
        };
    }
}

/// What both begin with.
fn common<'a>(one: &'a [u8], other: &[u8]) -> &'a [u8] {
    let alike = one.iter().zip(other).take_while(|(a, b)| a == b).count();
    &one[..alike]
}

/// The least and the greatest of some codes.
fn ends<C: Ord + Copy>(mut codes: impl Iterator<Item = C>) -> Option<(C, C)> {
    let first = codes.next()?;
    Some(codes.fold((first, first), |(min, max), code| (min.min(code), max.max(code))))
}

impl Visit for Seen {
    fn numbers<T: ArrowPrimitiveType>(
        &mut self,
        values: &PrimitiveArray<T>,
        code: impl Fn(T::Native) -> u64,
    ) {
        let found = match values.null_count() {
            0 => ends(values.values().iter().map(|value| code(*value))),
            _ => ends(values.iter().flatten().map(code)),
        };
        self.nulls |= values.null_count() > 0;
        if let Some((min, max)) = found {
            self.join(Values::Numbers {
                min: min.into(),
                max: max.into(),
            });
        }
    }

    fn wide_numbers<T: ArrowPrimitiveType>(
        &mut self,
        values: &PrimitiveArray<T>,
        code: impl Fn(T::Native) -> u128,
    ) {
        self.nulls |= values.null_count() > 0;
        if let Some((min, max)) = ends(values.iter().flatten().map(code)) {
            self.join(Values::Numbers { min, max });
        }
    }

    fn bytes<'a>(&mut self, values: &'a dyn Array, value: impl Fn(usize) -> &'a [u8]) {
        self.nulls |= values.null_count() > 0;
        let nulls = values.nulls();
        let mut rows = (0..values.len()).filter(|row| nulls.is_none_or(|nulls| nulls.is_valid(*row)));
        let Some(first) = rows.next().map(&value) else {
            return;
        };
        let mut prefix = &first[..first.len().min(PREFIX_BYTES_MAX)];
        let mut beginning = Beginning::new(prefix);
        let (mut shortest, mut longest) = (first.len(), first.len());
        for value in rows.map(value) {
            shortest = shortest.min(value.len());
            longest = longest.max(value.len());
            if !beginning.begins(value) {
                prefix = common(prefix, value);
                beginning = Beginning::new(prefix);
            }
        }
        self.join(Values::Bytes {
            prefix: prefix.to_vec(),
            shortest,
            longest,
        });
    }

    fn nulls(&mut self, rows: usize) {
        self.nulls |= rows > 0;
    }

    fn others(&mut self) {
        self.values = Values::Others;
    }
}
