//! In builds for tests only: damage to rows on their way from a merge into an output, as a defect or a broken machine would do it.

use crate::columns::{Picks, Run};
use crate::group::EncodedColumn;
use crate::pages::raw::raw_page;
use arrow::array::{Array, ArrayRef, AsArray, DictionaryArray, Int32Array, Int64Array};
use arrow::datatypes::{DataType, Int32Type, Int64Type};
use bytes::Bytes;
use std::sync::{Arc, LazyLock};

/// What is to be done to rows: `lost`, `doubled`, `changed`; or `encoder`, inside the encoder.
const DAMAGE: &str = "BALER_TEST_DAMAGE";

fn damage() -> &'static str {
    static ASKED: LazyLock<String> = LazyLock::new(|| std::env::var(DAMAGE).unwrap_or_default());
    &ASKED
}

/// The last row of a window, before it is gathered for the encoder: gone, there twice, or another one.
pub(crate) fn damaged_picks(mut picks: Picks) -> Picks {
    let (Some(last), damage) = (picks.runs.last().copied(), damage()) else {
        return picks;
    };
    if damage == "lost" || damage == "changed" {
        picks.rows -= 1;
        if let (Some(piece), Some(run)) = (picks.pieces.last_mut(), picks.runs.last_mut()) {
            piece.rows -= 1;
            run.rows -= 1;
        }
    }
    // The row before it.
    let before = match (last.rows, picks.runs.len().checked_sub(2)) {
        (1, Some(run)) => picks.runs[run],
        _ => Run {
            rows: last.rows - 1,
            ..last
        },
    };
    match damage {
        "doubled" => picks.push(last.span, last.start + last.rows - 1, 1),
        "changed" => picks.push(before.span, before.start + before.rows - 1, 1),
        _ => {}
    }
    picks
}

/// The last page of a column that goes past the merge, after it was read.
pub(crate) fn damaged_column(mut column: EncodedColumn) -> EncodedColumn {
    let damage = damage();
    if damage.is_empty() {
        return column;
    }
    let whole = column.bytes.to_bytes();
    let mut bytes = whole.to_vec();
    let compression = column.close.metadata.compression();
    let (mut at, mut last) = (0, 0);
    while let Ok(page) = raw_page(&whole.slice(at..), compression) {
        (at, last) = (at + page.length, at);
    }
    match damage {
        "lost" => bytes.truncate(last),
        "doubled" => bytes.extend_from_slice(&whole[last..]),
        "changed" => bytes.iter_mut().last().into_iter().for_each(|byte| *byte ^= 1),
        _ => return column,
    }
    column.bytes = Bytes::from(bytes).into();
    column
}

/// A value of a column, after its digest was taken.
pub(crate) fn damaged_in_encoder(rows: ArrayRef) -> ArrayRef {
    if damage() != "encoder" || rows.is_empty() {
        return rows;
    }
    if let Some(coded) = rows.as_dictionary_opt::<Int32Type>() {
        let mut codes = coded.keys().values().to_vec();
        let others = coded.values().len().max(1) as i32;
        codes
            .iter_mut()
            .last()
            .into_iter()
            .for_each(|code| *code = (*code + 1) % others);
        let codes = Int32Array::new(codes.into(), coded.keys().nulls().cloned());
        return Arc::new(DictionaryArray::new(codes, Arc::clone(coded.values())));
    }
    if rows.data_type() != &DataType::Int64 {
        return rows;
    }
    let mut values = rows.as_primitive::<Int64Type>().values().to_vec();
    values.iter_mut().last().into_iter().for_each(|value| *value += 1);
    Arc::new(Int64Array::new(values.into(), rows.nulls().cloned()))
}
