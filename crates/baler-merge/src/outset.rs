//! What can be said of a merge before any key was looked at: whether something may go past it at all.

use crate::context::Context;
use crate::error::MergeError;
use crate::intake::SortPlan;
use crate::key_span::KeySpan;
use crate::outline::Outline;
use crate::paths::{Path, Paths, Stretch};
use crate::plan::Shares;
use crate::spec::MergeSpec;
use crate::stitch::pass::Passing;

const WHY_REREAD: &str = "every row is wanted in the digest of its output";
const WHY_BLOOMS: &str = "their bloom filters have to be made anew, from values";
const WHY_DECLARED: &str = "nobody asked for the order that they declare, so all rows are looked at";

/// How the outputs will be made, and what might go past the merge.
pub(crate) struct Outset<'a> {
    pub(crate) outline: Outline,
    pub(crate) passing: Passing<'a>,
}

impl<'a> Outset<'a> {
    /// The inner error says why all rows must be merged.
    pub(crate) fn of(
        context: &'a Context<'a>,
        spec: &'a MergeSpec,
        shares: &'a Shares,
        sort: Option<&'a SortPlan>,
        range: &'a KeySpan,
    ) -> Result<Result<Self, &'static str>, MergeError> {
        if spec.decode_all {
            return Ok(Err(WHY_REREAD));
        }
        let key = sort.map(|sort| &sort.key);
        let outline = Outline::of(context, spec, key, shares)?;
        // Filters of copied columns would have to be made from their values.
        if !outline.blooms.is_empty() {
            return Ok(Err(WHY_BLOOMS));
        }
        let passing = Passing {
            files: &context.files,
            spec,
            group_rows: outline.group_rows(spec, context.due(), shares),
            schema: &context.schema,
            leaves: outline.leaves.clone(),
            key,
            shares,
            range,
            progress: context.progress,
        };
        Ok(Ok(Self { outline, passing }))
    }
}

pub(crate) fn merges(stretch: &Stretch) -> bool {
    stretch.path == Path::Merge
}

/// Why nothing goes past the merge by these paths, if nothing does.
pub(crate) fn why_all(paths: &Paths, sort: Option<&SortPlan>) -> Option<&'static str> {
    let stretches = &paths.0;
    let merged = stretches.iter().find(|stretch| merges(stretch));
    // Whether an order that was only declared holds is known when all was looked at: too late for what is written by then.
    if merged.is_some() && sort.is_some_and(|sort| sort.declared) {
        return Some(WHY_DECLARED);
    }
    let all = stretches.iter().all(merges);
    all.then(|| merged.map_or("there are no rows", |stretch| stretch.why))
}
