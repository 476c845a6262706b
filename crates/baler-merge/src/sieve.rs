//! The last rules: which of the rows that are left are tombstones or past their time and may go.
//!
//! They judge one row at a time, and only rows that nothing newer can follow: under a keyed rule the newest of its key, in the
//! last round. A tombstone or expired row that went earlier would let an older version of its key rise from the dead.

use crate::adapt::strict_cast;
use crate::error::MergeError;
use crate::row_time::{RowTime, TimeColumn, Times};
use crate::spec::{MergeSpec, Rule};
use arrow::array::{Array, ArrayRef, AsArray, BooleanArray};
use arrow::compute::filter;
use arrow::datatypes::{DataType, Int64Type, Schema};
use arrow::error::ArrowError;

/// The watermarks of a spec over a schema.
pub(crate) struct Sieve {
    /// Columns of the common schema that are looked at; the numbers below count among these.
    columns: Vec<usize>,
    /// The column that marks tombstones, and from when on they must stay.
    tombstones: Option<(usize, Option<Limit>)>,
    expire: Option<Limit>,
}

/// Rows before it may go. Rows without a time stay.
#[derive(Clone, Copy)]
struct Limit {
    times: Times,
    before: RowTime,
}

/// Which rows go, by the rule that takes them; no row is in both.
pub(crate) struct Sifted {
    pub(crate) deleted: Option<BooleanArray>,
    pub(crate) expired: Option<BooleanArray>,
}

impl Sieve {
    /// Fails with advice if the spec makes no sense over this schema.
    pub(crate) fn new(spec: &MergeSpec, schema: &Schema) -> Result<Self, MergeError> {
        let named = [
            spec.deleted.as_ref().map(|deleted| &deleted.column),
            spec.row_time.as_ref().map(|column| &column.name),
            spec.expire.as_ref().map(|expire| &expire.column.name),
        ];
        let mut columns: Vec<usize> = named
            .into_iter()
            .flatten()
            .filter_map(|name| schema.index_of(name).ok())
            .collect();
        columns.sort_unstable();
        columns.dedup();
        let schema = &schema.project(&columns).map_err(|why| odd(&why))?;
        let limit = |column: &TimeColumn, before| {
            let times = Times::of(schema, column).map_err(MergeError::Spec)?;
            Ok::<_, MergeError>(times.map(|times| Limit { times, before }))
        };
        let expire = match &spec.expire {
            Some(expire) => limit(&expire.column, expire.before)?,
            None => None,
        };
        let Some(deleted) = &spec.deleted else {
            return Ok(Self {
                columns,
                tombstones: None,
                expire,
            });
        };
        if spec.rule == Rule::KeepAll {
            return Err(MergeError::Spec(
                "tombstones need a key to know which rows they delete: merge by last write wins".into(),
            ));
        }
        let drop = match (deleted.drop_before, &spec.row_time) {
            (None, _) => None,
            (Some(before), Some(column)) => limit(column, before)?,
            (Some(_), None) => {
                return Err(MergeError::Spec(
                    "tombstones are dropped by row time: name the row time column, or keep them".into(),
                ));
            }
        };
        let tombstones = tombstone_column(schema, &deleted.column)?.map(|column| (column, drop));
        Ok(Self {
            columns,
            tombstones,
            expire,
        })
    }

    /// Whether it could ever take a row.
    pub(crate) fn is_idle(&self) -> bool {
        self.tombstones.is_none() && self.expire.is_none()
    }

    /// The columns of the schema that it looks at, in the order in which it wants them.
    pub(crate) fn columns(&self) -> &[usize] {
        &self.columns
    }

    /// Parts rows, given the columns that it looks at. Those that go are looked at again, value by value, before they are let go.
    pub(crate) fn sift(&self, rows: &[ArrayRef]) -> Result<Sifted, MergeError> {
        let dead = match &self.tombstones {
            Some((column, _)) => Some(dead_rows(&rows[*column])?),
            None => None,
        };
        let is_dead = |row: usize| {
            dead.as_ref()
                .is_some_and(|dead| dead.is_valid(row) && dead.value(row))
        };
        let drop_dead = self.tombstones.as_ref().and_then(|(_, drop)| drop.as_ref());
        let sifted = Sifted {
            deleted: part(rows, drop_dead, is_dead)?,
            expired: part(rows, self.expire.as_ref(), |row| !is_dead(row))?,
        };
        self.check(rows, &sifted)?;
        Ok(sifted)
    }

    /// What goes is old enough and of its kind: read off the values themselves, not off what was decided.
    fn check(&self, rows: &[ArrayRef], sifted: &Sifted) -> Result<(), MergeError> {
        let picked = |mask: &BooleanArray| -> Result<Vec<ArrayRef>, MergeError> {
            let columns = rows.iter().map(|column| filter(column, mask));
            columns.collect::<Result<_, _>>().map_err(|why| odd(&why))
        };
        if let Some(mask) = &sifted.deleted {
            let rows = &picked(mask)?;
            let Some((column, Some(limit))) = &self.tombstones else {
                return Err(MergeError::Proof("a tombstone went where all must stay".into()));
            };
            limit.check(rows)?;
            let marks = strict_cast(&rows[*column], &DataType::Int64).map_err(|why| odd(&why))?;
            let marks = marks.as_primitive::<Int64Type>();
            if marks.null_count() > 0 || marks.values().iter().any(|mark| *mark != 1) {
                return Err(MergeError::Proof("a row was deleted that is no tombstone".into()));
            }
        }
        match (&sifted.expired, &self.expire) {
            (Some(mask), Some(limit)) => limit.check(&picked(mask)?),
            (Some(_), None) => Err(MergeError::Proof("a row expired where none may".into())),
            (None, _) => Ok(()),
        }
    }
}

impl Limit {
    fn check(&self, rows: &[ArrayRef]) -> Result<(), MergeError> {
        let steps = Times::steps(&rows[self.times.column]).map_err(|why| odd(&why))?;
        let late = |step: &i64| self.times.floor(*step) >= self.before;
        match steps.null_count() == 0 && !steps.values().iter().any(late) {
            true => Ok(()),
            false => Err(MergeError::Proof("a row was to go before its time".into())),
        }
    }
}

/// The rows of a kind that are before the limit; none if there are none.
fn part(
    rows: &[ArrayRef],
    limit: Option<&Limit>,
    kind: impl Fn(usize) -> bool,
) -> Result<Option<BooleanArray>, MergeError> {
    let Some(limit) = limit else { return Ok(None) };
    let steps = Times::steps(&rows[limit.times.column]).map_err(|why| odd(&why))?;
    let first_kept = limit.times.first_step_from(limit.before);
    let goes = |row| steps.is_valid(row) && i128::from(steps.value(row)) < first_kept && kind(row);
    let mask: BooleanArray = (0..steps.len()).map(|row| Some(goes(row))).collect();
    Ok((mask.true_count() > 0).then_some(mask))
}

/// Nothing if no input has the column: then no row is dead.
fn tombstone_column(schema: &Schema, name: &str) -> Result<Option<usize>, MergeError> {
    match schema.column_with_name(name) {
        None => Ok(None),
        Some((_, field)) if field.data_type() == &DataType::Null => Ok(None),
        Some((column, field))
            if field.data_type() == &DataType::Boolean || field.data_type().is_integer() =>
        {
            Ok(Some(column))
        }
        Some((_, field)) => Err(MergeError::Spec(format!(
            "column {name} holds {}: tombstones are marked by true or by 1",
            field.data_type()
        ))),
    }
}

/// True for tombstones. Integers must be 0 or 1: a column of other numbers was meant for something else.
fn dead_rows(marks: &ArrayRef) -> Result<BooleanArray, MergeError> {
    if let Some(marks) = marks.as_boolean_opt() {
        return Ok(marks.clone());
    }
    let unfit = |found: String| {
        MergeError::Spec(format!(
            "the column that marks tombstones holds {found}: it must hold 0 or 1"
        ))
    };
    let numbers = strict_cast(marks, &DataType::Int64).map_err(|why| unfit(why.to_string()))?;
    let numbers = numbers.as_primitive::<Int64Type>();
    match numbers.iter().flatten().find(|mark| !(0..=1).contains(mark)) {
        Some(other) => Err(unfit(other.to_string())),
        None => Ok(numbers.iter().map(|mark| mark.map(|mark| mark == 1)).collect()),
    }
}

fn odd(why: &ArrowError) -> MergeError {
    MergeError::Proof(format!("rows could not be sifted: {why}"))
}
