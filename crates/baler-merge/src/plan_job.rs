//! Says which way the rows of a job would get into its outputs, from the footers of its inputs.

use crate::choose_order::choose_order;
use crate::context::Context;
use crate::cut_job::cut_opened;
use crate::decode::OpenFile;
use crate::error::MergeError;
use crate::intake::SortPlan;
use crate::io::{Input, Unwatched};
use crate::key_range::KeyRange;
use crate::key_span::KeySpan;
use crate::narrowing::{Narrowing, can_cut};
use crate::open_all::{Holding, open_all};
use crate::outset::{Outset, why_all};
use crate::paths::{GroupId, Path, Stretch};
use crate::plan::Shares;
use crate::proved::Way;
use crate::schema::unite;
use crate::sieve::Sieve;
use crate::sort_key::asked_sort;
use crate::spec::{Budget, MergeSpec, Rule};
use crate::stitch::pass::AtBest;
use std::collections::BTreeSet;
use std::sync::Arc;

/// A range of a job, and what would become of its rows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlannedRange {
    /// Its keys: all of them, unless the job would be cut.
    pub span: KeySpan,
    /// Its rows, stretch by stretch in the order of the outputs. Those that follow one another go different ways, or for different
    /// reasons.
    pub stretches: Vec<PlannedStretch>,
}

/// Rows that would all go one way, for one reason.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlannedStretch {
    /// Which way.
    pub way: Way,
    /// Why, in words. A merge that does as is planned says the same.
    pub why: &'static str,
    /// What the merge looks at first, as no footer tells it; where it does not hold, rows are merged.
    pub provided: Option<&'static str>,
    /// Rows of its row groups. Of a row group across the edge of a range, which is merged, that may be more than lie inside.
    pub rows: u64,
    /// Bytes of their pages, as they lie.
    pub bytes: u64,
    /// How many row groups of inputs it is made of.
    pub row_groups: u64,
    /// These inputs have part in it.
    pub inputs: BTreeSet<usize>,
    /// Bounds of its keys, under a keyed rule of the key alone, where all of its row groups tell.
    pub keys: Option<KeyRange>,
}

const IN_ORDER: &str = "its rows are in order";
const IN_ORDER_ONCE: &str = "its rows are in order, each key once";

/// The ways of all rows if a job is cut into so many ranges, and each is merged within `budget`: what
/// [`merge_range`](crate::merge_range) does, as far as footers tell. What looks like rows in order is taken for it.
///
/// Reads the footers: one read for each input, two if its footer is long. If the job is to be cut, what [`cut_job`](crate::cut_job)
/// reads too.
pub fn plan_job(
    inputs: &[Arc<dyn Input>],
    spec: &MergeSpec,
    ranges: usize,
    budget: Budget,
) -> Result<Vec<PlannedRange>, MergeError> {
    asked_sort(spec)?;
    let files = open_all(inputs, Holding::NOTHING, &Unwatched)?;
    let schemas: Vec<_> = files.iter().map(OpenFile::described_schema).collect();
    let schema = unite(&schemas)?;
    Sieve::new(spec, &schema)?;
    let shares = Shares::beside(&files, budget);
    let mut sort = choose_order(&files, &schema, spec)?;
    let spans = match can_cut(&schema, sort.as_mut()) {
        Ok(sort) if ranges > 1 => cut_opened(&files, sort, ranges)?,
        _ => vec![KeySpan::ALL],
    };
    let context = Context {
        schema,
        files,
        progress: &Unwatched,
    };
    let mut planned = Vec::with_capacity(spans.len());
    for span in spans {
        let stretches = match span.is_all() {
            true => stretches(&context, spec, &shares, sort.as_ref(), &span)?,
            false => {
                let sort = can_cut(&context.schema, sort.as_mut())?;
                sort.declared = false;
                let narrowing = Narrowing {
                    range: &span,
                    sort: sort.key.bounds(),
                    held_bytes_max: 0,
                };
                stretches(
                    &narrowing.by_footers(&context),
                    spec,
                    &shares,
                    Some(&*sort),
                    &span,
                )?
            }
        };
        planned.push(PlannedRange { span, stretches });
    }
    Ok(planned)
}

fn stretches(
    context: &Context<'_>,
    spec: &MergeSpec,
    shares: &Shares,
    sort: Option<&SortPlan>,
    span: &KeySpan,
) -> Result<Vec<PlannedStretch>, MergeError> {
    let outset = match Outset::of(context, spec, shares, sort, span)? {
        Ok(outset) => outset,
        Err(why) => return Ok(all_merged(context, &[], why)),
    };
    let AtBest { paths, told } = outset.passing.at_best()?;
    let told: Vec<&[Option<KeyRange>]> = told.iter().map(|told| &told.keys[..]).collect();
    if let Some(why) = why_all(&paths, sort) {
        return Ok(all_merged(context, &told, why));
    }
    let provided = sort.map(|_| match spec.rule {
        Rule::KeepAll => IN_ORDER,
        Rule::LastWriteWins { .. } => IN_ORDER_ONCE,
    });
    let runs = paths.0.chunk_by(|a, b| (a.path, a.why) == (b.path, b.why));
    let planned = |run: &[Stretch]| {
        let passes = run[0].path != Path::Merge;
        let groups = run.iter().flat_map(|stretch| &stretch.groups).copied();
        let stretch = stretch(context, &told, run[0].path, run[0].why, groups);
        PlannedStretch {
            provided: provided.filter(|_| passes),
            ..stretch
        }
    };
    Ok(runs.map(planned).collect())
}

fn all_merged(context: &Context<'_>, told: &[&[Option<KeyRange>]], why: &'static str) -> Vec<PlannedStretch> {
    let groups = context.files.iter().enumerate().flat_map(|(input, file)| {
        let groups = file.footer().row_groups().iter().enumerate();
        let groups = groups.filter(|(_, group)| group.num_rows() > 0);
        groups.map(move |(group, _)| GroupId { input, group })
    });
    let stretch = stretch(context, told, Path::Merge, why, groups);
    Some(stretch)
        .filter(|stretch| stretch.rows > 0)
        .into_iter()
        .collect()
}

fn stretch(
    context: &Context<'_>,
    told: &[&[Option<KeyRange>]],
    path: Path,
    why: &'static str,
    groups: impl Iterator<Item = GroupId>,
) -> PlannedStretch {
    let mut planned = PlannedStretch {
        way: path.into(),
        why,
        provided: None,
        rows: 0,
        bytes: 0,
        row_groups: 0,
        inputs: BTreeSet::new(),
        keys: None,
    };
    let mut all_tell = true;
    for GroupId { input, group } in groups {
        let footer = context.files[input].footer().row_group(group);
        planned.rows += footer.num_rows().unsigned_abs();
        planned.bytes += footer.compressed_size().unsigned_abs();
        planned.row_groups += 1;
        planned.inputs.insert(input);
        let keys = told.get(input).and_then(|told| told.get(group)?.clone());
        all_tell &= keys.is_some();
        planned.keys = match (planned.keys.take(), keys) {
            (Some(held), Some(more)) => Some(KeyRange {
                min: held.min.min(more.min),
                max: held.max.max(more.max),
            }),
            (held, more) => held.or(more),
        };
    }
    planned.keys = planned.keys.filter(|_| all_tell);
    planned
}
