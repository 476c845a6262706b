//! Cuts a job into ranges, from the footers and page indexes of its inputs.

use crate::at_once::at_once;
use crate::choose_order::choose_order;
use crate::decode::OpenFile;
use crate::error::{FileError, MergeError};
use crate::intake::SortPlan;
use crate::io::{Input, Unwatched};
use crate::key_range::KeyRange;
use crate::key_span::KeySpan;
use crate::limits::READS_AT_ONCE;
use crate::narrowing::can_cut;
use crate::open_all::{Holding, open_all};
use crate::order::{Weight, cut};
use crate::page_places::read_page_index;
use crate::page_statistics::{sort_leaves, stretches};
use crate::schema::unite;
use crate::spec::{MergeSpec, SortColumn};
use crate::statistics::row_group_key_range;
use std::ops::Range;
use std::sync::Arc;

/// At most `ranges` ranges of about equal bytes, in the order of their keys, which together are all keys. Each can be merged by
/// itself with [`merge_range`](crate::merge_range), anywhere and at any time; their outputs, one range after another, hold the rows that
/// the uncut job gives, in the same order.
///
/// One range where a job cannot be cut: rows without order, keys of a type that has no encoding, inputs that tell nothing of their
/// keys. Costs a read for each input, two if its footer is long, and one more for its page index where row groups are few.
pub fn cut_job(
    inputs: &[Arc<dyn Input>],
    spec: &MergeSpec,
    ranges: usize,
) -> Result<Vec<KeySpan>, MergeError> {
    let files = open_all(inputs, Holding::NOTHING, &Unwatched)?;
    let schemas: Vec<_> = files.iter().map(OpenFile::described_schema).collect();
    let schema = unite(&schemas)?;
    let mut sort = choose_order(&files, &schema, spec)?;
    match can_cut(&schema, sort.as_mut()) {
        Ok(sort) => cut_opened(&files, sort, ranges),
        Err(_) => Ok(vec![KeySpan::ALL]),
    }
}

/// The same of inputs that are open, and can be cut by this order.
pub(crate) fn cut_opened(
    files: &[OpenFile],
    sort: &SortPlan,
    ranges: usize,
) -> Result<Vec<KeySpan>, MergeError> {
    let bounds = sort.key.bounds();
    let groups: usize = files.iter().map(|file| file.footer().num_row_groups()).sum();
    let by_pages = groups < ranges.saturating_mul(GROUPS_A_RANGE);
    let weights = at_once(files.len(), READS_AT_ONCE, |input| {
        let weights = match by_pages {
            true => page_weights(&files[input], bounds),
            false => Ok(weights(&files[input], bounds)),
        };
        weights.map_err(|why| why.of_input(input))
    });
    let weights = weights.into_iter().collect::<Result<Vec<_>, _>>()?;
    Ok(cut(&weights.concat(), ranges))
}

/// With fewer row groups than this for each range, their page indexes are looked at too: inside a row group keys may lie unevenly.
const GROUPS_A_RANGE: usize = 8;

/// What the row groups of a file weigh. `sort` are the columns that the job is cut by.
fn weights(file: &OpenFile, sort: &[SortColumn]) -> Vec<Weight> {
    let groups = 0..file.footer().num_row_groups();
    groups.map(|group| weight(file, group, sort)).collect()
}

fn weight(file: &OpenFile, group: usize, sort: &[SortColumn]) -> Weight {
    Weight {
        range: row_group_key_range(file, group, sort),
        bytes: file.footer().row_group(group).compressed_size().unsigned_abs(),
    }
}

/// The same, by stretches of row groups where there is a page index.
fn page_weights(file: &OpenFile, sort: &[SortColumn]) -> Result<Vec<Weight>, FileError> {
    let groups: Vec<usize> = (0..file.footer().num_row_groups()).collect();
    let index = match sort_leaves(file, sort) {
        Some(leaves) => read_page_index(file, &groups, &leaves)?,
        None => None,
    };
    let of_group = |group: usize| {
        let whole = weight(file, group, sort);
        let rows = file.footer().row_group(group).num_rows().unsigned_abs().max(1);
        let found = index
            .as_ref()
            .and_then(|index| stretches(file, group, index, sort));
        let Some(found) = found else { return vec![whole] };
        let weigh = |(stretch, range): (Range<u64>, Option<KeyRange>)| {
            let share = u128::from(whole.bytes) * u128::from(stretch.end - stretch.start) / u128::from(rows);
            Weight {
                range,
                bytes: share as u64,
            }
        };
        found.into_iter().map(weigh).collect()
    };
    Ok(groups.into_iter().flat_map(of_group).collect())
}

#[cfg(test)]
#[path = "cut_job_tests.rs"]
mod tests;
