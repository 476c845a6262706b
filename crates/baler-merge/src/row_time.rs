//! Times of rows, whatever unit their column has, as milliseconds. Pure.
//!
//! A column tells its own unit by its type; a column of plain integers does not, so there the spec must name it. All
//! arithmetic is in nanoseconds of 128 bits, where no value of any unit overflows; only what leaves is cut to 64.

use crate::adapt::strict_cast;
use crate::row_hash::nanos_in;
use arrow::array::{Array, ArrayRef, AsArray, Int64Array};
use arrow::datatypes::{self, DataType, Int64Type, Schema};
use arrow::error::ArrowError;

/// Milliseconds since the beginning of 1970, UTC. Time stamps without a zone are taken for UTC.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RowTime(pub i64);

/// The least and the greatest row time of a file in which every row has one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct RowTimes {
    /// No row is older; rounded down.
    pub min: RowTime,
    /// No row is newer; rounded up.
    pub max: RowTime,
}

impl RowTimes {
    /// Bounds of both.
    pub(crate) fn with(self, other: Self) -> Self {
        Self {
            min: self.min.min(other.min),
            max: self.max.max(other.max),
        }
    }
}

/// What one step of a plain integer means.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EpochUnit {
    /// Seconds since 1970.
    Seconds,
    /// Milliseconds since 1970.
    Milliseconds,
    /// Microseconds since 1970.
    Microseconds,
    /// Nanoseconds since 1970.
    Nanoseconds,
}

/// A column that holds times: time stamps, dates, or 64-bit integers of a named unit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TimeColumn {
    /// Name of a top-level column.
    pub name: String,
    /// The unit if the column holds plain integers; time stamps and dates have their own, whatever is said here.
    pub integer_unit: Option<EpochUnit>,
}

impl TimeColumn {
    /// A column of time stamps or dates.
    pub fn new(name: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            integer_unit: None,
        }
    }
}

const NANOS_IN_MILLI: i128 = 1_000_000;
const NANOS_IN_DAY: i128 = 86_400 * 1_000_000_000;

/// Where the times of a schema's rows are, and how to read them.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Times {
    pub(crate) column: usize,
    /// Nanoseconds in one step of the column.
    nanos: i128,
}

impl Times {
    /// Nothing if no row has a time: the column is absent, or all nulls. Fails with advice if it holds something else.
    pub(crate) fn of(schema: &Schema, asked: &TimeColumn) -> Result<Option<Self>, String> {
        let Some((column, field)) = schema.column_with_name(&asked.name) else {
            return Ok(None);
        };
        let nanos = match (field.data_type(), asked.integer_unit) {
            (DataType::Null, _) => return Ok(None),
            (DataType::Timestamp(unit, _), _) => nanos_in(*unit),
            (DataType::Date32, _) => NANOS_IN_DAY,
            (DataType::Date64, _) => NANOS_IN_MILLI,
            (DataType::Int64, Some(unit)) => nanos_in(unit.into()),
            (DataType::Int64, None) => {
                return Err(format!(
                    "column {} holds plain integers: say whether they are s, ms, us or ns since 1970",
                    asked.name
                ));
            }
            (other, _) => {
                return Err(format!(
                    "column {} holds {other}, no times: name a column of time stamps, dates or 64-bit integers",
                    asked.name
                ));
            }
        };
        Ok(Some(Self { column, nanos }))
    }

    /// The steps of a column of this type, as they are stored.
    pub(crate) fn steps(values: &ArrayRef) -> Result<Int64Array, ArrowError> {
        Ok(strict_cast(values, &DataType::Int64)?
            .as_primitive::<Int64Type>()
            .clone())
    }

    /// The first step that is not before `limit`.
    pub(crate) fn first_step_from(&self, limit: RowTime) -> i128 {
        div_up(i128::from(limit.0) * NANOS_IN_MILLI, self.nanos)
    }

    /// The time of a step, rounded down.
    pub(crate) fn floor(&self, step: i64) -> RowTime {
        saturated((i128::from(step) * self.nanos).div_euclid(NANOS_IN_MILLI))
    }

    /// The time of a step, rounded up.
    pub(crate) fn ceil(&self, step: i64) -> RowTime {
        saturated(div_up(i128::from(step) * self.nanos, NANOS_IN_MILLI))
    }
}

fn div_up(value: i128, by: i128) -> i128 {
    -(-value).div_euclid(by)
}

fn saturated(millis: i128) -> RowTime {
    RowTime(millis.clamp(i64::MIN.into(), i64::MAX.into()) as i64)
}

impl From<EpochUnit> for datatypes::TimeUnit {
    fn from(unit: EpochUnit) -> Self {
        match unit {
            EpochUnit::Seconds => Self::Second,
            EpochUnit::Milliseconds => Self::Millisecond,
            EpochUnit::Microseconds => Self::Microsecond,
            EpochUnit::Nanoseconds => Self::Nanosecond,
        }
    }
}

/// Times of rows as they pass by.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Span {
    ends: Option<(i64, i64)>,
    nulls: bool,
}

impl Span {
    /// Counts the values of a time column in.
    pub(crate) fn add(&mut self, values: &ArrayRef) -> Result<(), ArrowError> {
        let steps = Times::steps(values)?;
        self.join(Span {
            ends: arrow::compute::min(&steps).zip(arrow::compute::max(&steps)),
            nulls: steps.null_count() > 0,
        });
        Ok(())
    }

    /// Counts in what was seen elsewhere.
    pub(crate) fn join(&mut self, other: Span) {
        self.nulls |= other.nulls;
        self.ends = match (self.ends, other.ends) {
            (Some((min, max)), Some((other_min, other_max))) => {
                Some((min.min(other_min), max.max(other_max)))
            }
            (held, new) => held.or(new),
        };
    }

    /// The span in milliseconds. None if a row has no time: nobody may take such a file for one that ends at `max`.
    pub(crate) fn times(&self, times: &Times) -> Option<RowTimes> {
        let (min, max) = self.ends.filter(|_| !self.nulls)?;
        Some(RowTimes {
            min: times.floor(min),
            max: times.ceil(max),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrow::datatypes::Field;

    fn times(data_type: DataType, integer_unit: Option<EpochUnit>) -> Result<Option<Times>, String> {
        let schema = Schema::new(vec![Field::new("t", data_type, true)]);
        let asked = TimeColumn {
            name: "t".into(),
            integer_unit,
        };
        Times::of(&schema, &asked)
    }

    #[test]
    fn milliseconds_are_never_compared_with_nanoseconds() {
        use datatypes::TimeUnit::*;
        // The same instant, 1,500 ms, in every unit; seconds cannot say it and stand a half before.
        for (data_type, step) in [
            (DataType::Timestamp(Millisecond, None), 1_500),
            (DataType::Timestamp(Microsecond, Some("UTC".into())), 1_500_000),
            (DataType::Timestamp(Nanosecond, None), 1_500_000_000),
            (DataType::Date64, 1_500),
        ] {
            let times = times(data_type.clone(), None).unwrap().unwrap();
            assert_eq!(times.floor(step), RowTime(1_500), "{data_type}");
            assert_eq!(
                times.first_step_from(RowTime(1_500)),
                i128::from(step),
                "{data_type}"
            );
        }
        let seconds = times(DataType::Timestamp(Second, None), None).unwrap().unwrap();
        assert_eq!(seconds.first_step_from(RowTime(1_500)), 2);
        let days = times(DataType::Date32, None).unwrap().unwrap();
        assert_eq!(days.first_step_from(RowTime(86_400_001)), 2);
        assert_eq!(days.floor(-1), RowTime(-86_400_000));
    }

    #[test]
    fn least_is_rounded_down_and_greatest_up_on_both_sides_of_1970() {
        let nanos = times(DataType::Int64, Some(EpochUnit::Nanoseconds))
            .unwrap()
            .unwrap();
        assert_eq!((nanos.floor(1), nanos.ceil(1)), (RowTime(0), RowTime(1)));
        assert_eq!((nanos.floor(-1), nanos.ceil(-1)), (RowTime(-1), RowTime(0)));
    }

    #[test]
    fn times_too_far_for_milliseconds_saturate() {
        let seconds = times(DataType::Int64, Some(EpochUnit::Seconds)).unwrap().unwrap();
        assert_eq!(seconds.floor(i64::MIN), RowTime(i64::MIN));
        assert_eq!(seconds.ceil(i64::MAX), RowTime(i64::MAX));
    }

    #[test]
    fn integers_without_a_unit_and_other_types_are_refused_with_advice() {
        assert!(times(DataType::Int64, None).unwrap_err().contains("say whether"));
        assert!(times(DataType::Utf8, None).unwrap_err().contains("time stamps"));
        assert!(times(DataType::Null, None).unwrap().is_none());
    }
}
