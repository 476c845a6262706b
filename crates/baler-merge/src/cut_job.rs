//! Cuts a job into ranges, from the footers of its inputs alone.

use crate::choose_order::choose_order;
use crate::decode::OpenFile;
use crate::error::MergeError;
use crate::io::{Input, Unwatched};
use crate::key_span::KeySpan;
use crate::narrowing::can_cut;
use crate::open_all::{Holding, open_all};
use crate::order::{Weight, cut};
use crate::schema::unite;
use crate::spec::{MergeSpec, SortColumn};
use crate::statistics::row_group_key_range;
use std::sync::Arc;

/// At most `ranges` ranges of about equal bytes, in the order of their keys, which together are all keys. Each can be merged by
/// itself with [`merge_range`](crate::merge_range), anywhere and at any time; their outputs, one range after another, hold the rows that
/// the uncut job gives, in the same order.
///
/// One range where a job cannot be cut: rows without order, keys of a type that has no encoding, inputs that tell nothing of their
/// keys. Costs a read for each input, two if its footer is long.
pub fn cut_job(
    inputs: &[Arc<dyn Input>],
    spec: &MergeSpec,
    ranges: usize,
) -> Result<Vec<KeySpan>, MergeError> {
    let files = open_all(inputs, Holding::NOTHING, &Unwatched)?;
    let schemas: Vec<_> = files.iter().map(OpenFile::described_schema).collect();
    let schema = unite(&schemas)?;
    let mut sort = choose_order(&files, &schema, spec)?;
    let Ok(sort) = can_cut(&schema, sort.as_mut()) else {
        return Ok(vec![KeySpan::ALL]);
    };
    let weights = files.iter().flat_map(|file| weights(file, sort.key.bounds()));
    Ok(cut(&weights.collect::<Vec<_>>(), ranges))
}

/// What the row groups of a file weigh. `sort` are the columns that the job is cut by.
fn weights(file: &OpenFile, sort: &[SortColumn]) -> Vec<Weight> {
    let groups = file.footer().row_groups().iter().enumerate();
    groups
        .map(|(number, group)| Weight {
            range: row_group_key_range(file, number, sort),
            bytes: group.compressed_size().unsigned_abs(),
        })
        .collect()
}

#[cfg(test)]
#[path = "cut_job_tests.rs"]
mod tests;
