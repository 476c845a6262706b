//! Looks at the key columns of a file, and at nothing else: whether rows are in order, whether each key is there once, and where
//! each row group begins and ends. Neither statistics nor declared sorting columns are believed.

use crate::adapt::adapt_batch;
use crate::decode::OpenFile;
use crate::error::{FileError, refused};
use crate::key_range::{KeyRange, encode_row};
use crate::sort_key::SortKey;
use crate::spec::SortColumn;
use arrow::array::{Array, ArrayRef, RecordBatch, downcast_primitive_array, new_null_array};
use arrow::datatypes::{Schema, SchemaRef};
use std::sync::Arc;

const BATCH_ROWS: usize = 8 << 10;

/// What the keys of a file were found to be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct SurveyedGroups {
    /// All rows are in order. If not, the rest of the file was not looked at.
    pub(crate) sorted: bool,
    /// No two rows have the same sort key.
    pub(crate) unique: bool,
    /// First and last key of each row group, under a keyed rule of the key alone; none for one without rows, or if the type
    /// of a key has no encoding.
    pub(crate) keys: Vec<Option<KeyRange>>,
}

/// Reads the sort columns of a file. `schema` is the common one, which `key` was made for.
pub(crate) fn survey_groups(
    file: &OpenFile,
    schema: &SchemaRef,
    key: &SortKey,
) -> Result<SurveyedGroups, FileError> {
    let fields: Vec<_> = key
        .columns()
        .iter()
        .map(|column| Arc::clone(&schema.fields()[*column]))
        .collect();
    let present: Vec<usize> = fields
        .iter()
        .filter_map(|field| file.schema().index_of(field.name()).ok())
        .collect();
    let mut survey = Survey {
        key,
        schema: Arc::new(Schema::new(fields)),
        last: None,
        found: SurveyedGroups {
            sorted: true,
            unique: true,
            keys: Vec::new(),
        },
        ends: None,
    };
    for group in 0..file.footer().num_row_groups() {
        survey.group(file, &present, group)?;
        if !survey.found.sorted {
            break;
        }
    }
    Ok(survey.found)
}

struct Survey<'a> {
    key: &'a SortKey,
    /// The sort columns, in key order.
    schema: SchemaRef,
    /// Key of the row before.
    last: Option<Vec<u8>>,
    found: SurveyedGroups,
    /// First and last key of the row group in work.
    ends: Option<(Vec<u8>, Vec<u8>)>,
}

impl Survey<'_> {
    fn group(&mut self, file: &OpenFile, present: &[usize], group: usize) -> Result<(), FileError> {
        let rows = file.footer().row_group(group).num_rows();
        if present.is_empty() {
            // All keys are null: the same one, as often as there are rows.
            let nulls = |rows| {
                let columns = self.schema.fields().iter();
                columns
                    .map(|field| new_null_array(field.data_type(), rows))
                    .collect::<Vec<_>>()
            };
            self.keys(&nulls(rows.clamp(0, 2) as usize))?;
        } else {
            let mut batches = file.read_columns(present, group, BATCH_ROWS)?;
            while let Some(batch) = batches.next()? {
                let batch: RecordBatch = adapt_batch(&batch, &self.schema)
                    .or_else(|why| refused(format!("its keys cannot be compared: {why}")))?;
                self.keys(batch.columns())?;
                if !self.found.sorted {
                    return Ok(());
                }
            }
        }
        let ends = self.ends.take();
        self.found.keys.push(ends.map(|(min, max)| KeyRange { min, max }));
        Ok(())
    }

    fn keys(&mut self, columns: &[ArrayRef]) -> Result<(), FileError> {
        let rows = columns.first().map_or(0, |column| column.len());
        if rows == 0 {
            return Ok(());
        }
        match steps_of(columns, self.key.sort()) {
            Some(steps) => self.ends_of(columns, rows, &steps)?,
            None => self.all_of(columns)?,
        }
        let end = |row| encode_row(columns, row, self.key.bounds());
        if let Some(max) = end(rows - 1) {
            let first = self.ends.take().map(|(first, _)| first);
            let first = first.or_else(|| end(0).map(|bound| bound.min()));
            self.ends = first.map(|first| (first, max.max()));
        }
        Ok(())
    }

    /// Compares all rows.
    fn all_of(&mut self, columns: &[ArrayRef]) -> Result<(), FileError> {
        let keys = self.rows_of(columns)?;
        let mut last = self.last.as_deref();
        for row in &keys {
            self.found.sorted &= last.is_none_or(|last| last <= row.data());
            self.found.unique &= last != Some(row.data());
            last = Some(row.data());
        }
        self.last = last.map(<[u8]>::to_vec);
        Ok(())
    }

    /// Compares the first row with the one before it; what is between the first and the last is known.
    fn ends_of(&mut self, columns: &[ArrayRef], rows: usize, steps: &Steps) -> Result<(), FileError> {
        self.found.sorted &= steps.sorted;
        self.found.unique &= steps.unique;
        let row = |row: usize| columns.iter().map(|column| column.slice(row, 1)).collect();
        let first: Vec<ArrayRef> = row(0);
        self.all_of(&first)?;
        if rows > 1 {
            let last: Vec<ArrayRef> = row(rows - 1);
            self.all_of(&last)?;
        }
        Ok(())
    }

    fn rows_of(&self, columns: &[ArrayRef]) -> Result<arrow::row::Rows, FileError> {
        let keys = self.key.keys_of(columns);
        keys.or_else(|why| refused(format!("its keys cannot be compared: {why}")))
    }
}

/// How the rows of a batch follow one another.
pub(super) struct Steps {
    pub(super) sorted: bool,
    pub(super) unique: bool,
}

/// Numbers and times are compared as they are; nothing for other keys.
fn steps_of(columns: &[ArrayRef], sort: &[SortColumn]) -> Option<Steps> {
    let ([column], [sort]) = (columns, sort) else {
        return None;
    };
    let data_type = column.data_type();
    if column.null_count() > 0 || !(data_type.is_integer() || data_type.is_temporal()) {
        return None;
    }
    let column = column.as_ref();
    downcast_primitive_array!(
        column => Some(steps(column.values(), |number| number, sort.descending)),
        _ => None
    )
}

/// How numbers follow one another.
pub(super) fn steps<V: Copy, N: PartialOrd>(
    values: &[V],
    number: impl Fn(V) -> N,
    descending: bool,
) -> Steps {
    let all = |holds: fn(&N, &N) -> bool| {
        let pairs = values.windows(2);
        pairs.fold(true, |all, pair| all & holds(&number(pair[0]), &number(pair[1])))
    };
    Steps {
        sorted: match descending {
            true => all(N::ge),
            false => all(N::le),
        },
        unique: all(N::ne),
    }
}
