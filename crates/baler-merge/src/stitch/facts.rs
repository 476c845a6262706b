//! Gathers what the planner of paths wants to know about an input.

use super::copy::can_copy;
use super::source::{Leaf, SourceGroup, find_leaves};
use super::survey::SurveyedGroups;
use crate::decode::OpenFile;
use crate::error::FileError;
use crate::key_span::KeySpan;
use crate::pages::codec::is_known;
use crate::paths::{GroupFacts, InputFacts, Wanted, WantedOrder};
use crate::spec::{MergeSpec, Rule};
use crate::statistics::row_times;
use parquet::schema::types::SchemaDescriptor;

/// What the output should be.
pub(crate) fn wanted(spec: &MergeSpec, group_rows: u64, sorted: bool) -> Wanted {
    let order = match (&spec.rule, sorted) {
        (Rule::LastWriteWins { .. }, _) => WantedOrder::UniqueKey,
        (Rule::KeepAll, true) => WantedOrder::Key,
        (Rule::KeepAll, false) => WantedOrder::Inputs,
    };
    let drops_tombstones = spec
        .deleted
        .as_ref()
        .is_some_and(|deleted| deleted.drop_before.is_some());
    Wanted {
        group_rows,
        rows_max: spec.row_group_rows as u64,
        order,
        looks_at_rows: drops_tombstones || spec.expire.is_some(),
    }
}

/// What is known of input number `input`. No column of a row group that goes past the merge may have more than `bytes_max`;
/// `surveyed` is what its keys were found to be; nothing if no order is wanted.
pub(crate) fn facts_of(
    input: usize,
    file: &OpenFile,
    output: &SchemaDescriptor,
    spec: &MergeSpec,
    bytes_max: usize,
    range: &KeySpan,
    surveyed: Option<&SurveyedGroups>,
) -> Result<InputFacts, FileError> {
    let leaves = find_leaves(output, file.footer().file_metadata().schema_descr());
    let mut groups = Vec::with_capacity(file.footer().num_row_groups());
    for group in 0..file.footer().num_row_groups() {
        let source = SourceGroup {
            input,
            file,
            group,
            leaves: &leaves,
            kept: None,
        };
        let told = match &spec.row_time {
            Some(column) => row_times(&file.with_groups(&[group]), column).is_some(),
            None => true,
        };
        let keys = surveyed.and_then(|found| found.keys.get(group).cloned().flatten());
        groups.push(GroupFacts {
            rows: source.rows(),
            inside: range.is_all() || keys.as_ref().is_some_and(|keys| range.holds(keys)),
            keys,
            copies: can_copy(&source, output, spec.codec),
            stitches: stitches(&source, output),
            fits: fits(&source, bytes_max as u64),
            told,
            settled: None,
        });
    }
    Ok(InputFacts {
        sorted: surveyed.is_none_or(|found| found.sorted),
        unique: surveyed.is_some_and(|found| found.unique && is_whole_key(spec)),
        groups,
    })
}

/// Whether the sort key is the rule's key: only then keys that differ in it are different keys.
fn is_whole_key(spec: &MergeSpec) -> bool {
    match &spec.rule {
        Rule::LastWriteWins { key, .. } => spec.sort.is_empty() || spec.sort.len() == key.len(),
        Rule::KeepAll => true,
    }
}

/// Whether each column can be held whole, as it lies and as it will.
fn fits(source: &SourceGroup<'_>, bytes_max: u64) -> bool {
    let mut chunks = source.metadata().columns().iter();
    chunks.all(|chunk| chunk.compressed_size().unsigned_abs() <= bytes_max / 2)
}

/// Whether at least half of the columns can be stitched without decoding them.
fn stitches(source: &SourceGroup<'_>, output: &SchemaDescriptor) -> bool {
    let fits = |(number, leaf): (usize, &Option<Leaf>)| {
        let flat = output.column(number).max_def_level() <= 1 && output.column(number).max_rep_level() == 0;
        let known = match leaf {
            None => true,
            Some(Leaf::Other) => false,
            Some(Leaf::Same(found)) => is_known(source.metadata().column(*found).compression()),
        };
        flat && known
    };
    let fitting = source
        .leaves
        .iter()
        .enumerate()
        .filter(|leaf| fits(*leaf))
        .count();
    fitting * 2 >= source.leaves.len()
}
