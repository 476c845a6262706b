//! The naive way to do what a merge does: all rows in memory, a map from key to newest row, a stable sort.

use crate::support::batch;
use arrow::array::*;
use arrow::datatypes::Int32Type;
use baler_merge::*;
use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::sync::Arc;

/// A row of the table that properties are tried on. Its number tells it from all others.
#[derive(Debug, Clone)]
pub(crate) struct Row {
    pub(crate) key: Option<i64>,
    pub(crate) name: Option<String>,
    pub(crate) version: Option<i32>,
    pub(crate) gone: Option<bool>,
    /// Microseconds.
    pub(crate) time: Option<i64>,
    pub(crate) score: Option<f64>,
    pub(crate) tags: Option<Vec<Option<i32>>>,
    pub(crate) payload: String,
    pub(crate) id: i64,
}

pub(crate) fn table(rows: &[Row]) -> RecordBatch {
    let tags = ListArray::from_iter_primitive::<Int32Type, _, _>(rows.iter().map(|row| row.tags.clone()));
    batch(vec![
        (
            "key",
            Arc::new(rows.iter().map(|row| row.key).collect::<Int64Array>()) as ArrayRef,
        ),
        (
            "name",
            Arc::new(
                rows.iter()
                    .map(|row| row.name.as_deref())
                    .collect::<StringArray>(),
            ),
        ),
        (
            "version",
            Arc::new(rows.iter().map(|row| row.version).collect::<Int32Array>()),
        ),
        (
            "gone",
            Arc::new(rows.iter().map(|row| row.gone).collect::<BooleanArray>()),
        ),
        (
            "time",
            Arc::new(
                rows.iter()
                    .map(|row| row.time)
                    .collect::<TimestampMicrosecondArray>(),
            ),
        ),
        (
            "score",
            Arc::new(rows.iter().map(|row| row.score).collect::<Float64Array>()),
        ),
        ("tags", Arc::new(tags)),
        (
            "payload",
            Arc::new(StringArray::from_iter_values(rows.iter().map(|row| &row.payload))),
        ),
        (
            "id",
            Arc::new(Int64Array::from_iter_values(rows.iter().map(|row| row.id))),
        ),
    ])
}

/// What is left, in order, and what each rule took.
pub(crate) struct Expected {
    pub(crate) rows: Vec<Row>,
    pub(crate) drops: BTreeMap<&'static str, Vec<Row>>,
}

/// The order of rows by columns that may be `key` and `name`.
pub(crate) fn compare(a: &Row, b: &Row, sort: &[SortColumn]) -> Ordering {
    let each = sort.iter().map(|column| match column.name.as_str() {
        "key" => compare_values(&a.key, &b.key, column),
        _ => compare_values(&a.name, &b.name, column),
    });
    each.fold(Ordering::Equal, Ordering::then)
}

fn compare_values<T: Ord>(a: &Option<T>, b: &Option<T>, column: &SortColumn) -> Ordering {
    match (a, b) {
        (Some(a), Some(b)) if column.descending => b.cmp(a),
        (Some(a), Some(b)) => a.cmp(b),
        (None, None) => Ordering::Equal,
        (None, Some(_)) if column.nulls_first => Ordering::Less,
        (Some(_), None) if !column.nulls_first => Ordering::Less,
        _ => Ordering::Greater,
    }
}

/// What a merge of `files` by `spec` must give, if its outputs are to be in the order `sort`.
pub(crate) fn merge_naively(files: &[Vec<Row>], spec: &MergeSpec, sort: &[SortColumn]) -> Expected {
    let mut drops: BTreeMap<&'static str, Vec<Row>> = BTreeMap::new();
    let mut rows: Vec<Row> = match &spec.rule {
        Rule::KeepAll => files.iter().flatten().cloned().collect(),
        Rule::LastWriteWins { key, .. } => newest(files, key.len(), &mut drops),
    };
    rows.retain(|row| match fate(row, spec) {
        Some(rule) => {
            drops.entry(rule).or_default().push(row.clone());
            false
        }
        None => true,
    });
    rows.sort_by(|a, b| compare(a, b, sort));
    Expected { rows, drops }
}

fn newest(files: &[Vec<Row>], key_columns: usize, drops: &mut BTreeMap<&'static str, Vec<Row>>) -> Vec<Row> {
    let mut newest: BTreeMap<(Option<i64>, Option<String>), Row> = BTreeMap::new();
    for row in files.iter().flatten() {
        let key = (row.key, row.name.clone().filter(|_| key_columns > 1));
        let loser = match newest.get_mut(&key) {
            Some(held) if row.version < held.version => Some(row.clone()),
            Some(held) => Some(std::mem::replace(held, row.clone())),
            None => newest.insert(key, row.clone()),
        };
        if let Some(loser) = loser {
            drops.entry(OLDER_VERSION).or_default().push(loser);
        }
    }
    newest.into_values().collect()
}

/// The rule that takes a row which nothing newer follows.
fn fate(row: &Row, spec: &MergeSpec) -> Option<&'static str> {
    let before = |limit: Option<RowTime>| {
        row.time
            .zip(limit)
            .is_some_and(|(micros, limit)| micros < limit.0 * 1_000)
    };
    let tombstone = spec.deleted.as_ref().filter(|_| row.gone == Some(true));
    match (tombstone, &spec.expire) {
        (Some(deleted), _) => before(deleted.drop_before).then_some(DELETED),
        (None, Some(expire)) => before(Some(expire.before)).then_some(EXPIRED),
        (None, None) => None,
    }
}
