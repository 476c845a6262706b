//! What goes past the merge: plans the paths of all inputs, and writes the stretches that are copied or stitched.
//!
//! The merge does the rest: a stretch to be merged is the files as [`OpenFile::with_groups`] shows them. Statistics only say where a
//! look is worth it; what is not merged was looked at, key by key.

use super::facts::{facts_of, wanted};
use super::group::GroupMaker;
use super::kept::Kept;
use super::key_pages::KeyPages;
use super::line::Line;
use super::seal::Seals;
use super::source::{Leaf, SourceGroup, find_leaves};
use super::survey::{SurveyedGroups, survey_groups};
use super::{Unfit, writing};
use crate::at_once::at_once;
use crate::crew::with_crew;
use crate::decode::OpenFile;
use crate::error::MergeError;
use crate::io::Progress;
use crate::key_range::KeyRange;
use crate::key_span::KeySpan;
use crate::paths::{GroupId, Path, Paths, Stretch, Wanted, choose_paths};
use crate::plan::Shares;
use crate::row_time::RowTimes;
use crate::sort_key::SortKey;
use crate::spec::MergeSpec;
use crate::statistics::{row_group_key_range, row_times};
use arrow::datatypes::SchemaRef;
use parquet::schema::types::SchemaDescPtr;
use std::collections::BTreeSet;
use std::sync::Arc;

/// All that is known before anything is written.
pub(crate) struct Passing<'a> {
    /// Opened with statistics: without them nothing passes.
    pub(crate) files: &'a [OpenFile],
    pub(crate) spec: &'a MergeSpec,
    /// Rows of a row group to be made.
    pub(crate) group_rows: u64,
    /// The common schema, and what it is in Parquet.
    pub(crate) schema: &'a SchemaRef,
    pub(crate) leaves: SchemaDescPtr,
    /// The order of the outputs, if there is any.
    pub(crate) key: Option<&'a SortKey>,
    pub(crate) shares: &'a Shares,
    /// What lies across its edges is merged.
    pub(crate) range: &'a KeySpan,
    pub(crate) progress: &'a dyn Progress,
}

/// The paths, and what was found on the way to them.
pub(crate) struct PassPlan {
    pub(crate) paths: Paths,
    /// For each input that was looked at what its keys are.
    surveyed: Vec<Option<SurveyedGroups>>,
    /// For each input where the leaves of the output lie.
    leaves: Vec<Vec<Option<Leaf>>>,
    /// Which leaf was kept when keys were looked at, and for each input what was kept of each row group.
    kept: (usize, Vec<Vec<Option<Arc<Kept>>>>),
}

/// What can be known of the paths from footers alone.
pub(crate) struct AtBest {
    pub(crate) paths: Paths,
    /// What statistics say of the keys of each input; empty if rows have no order.
    pub(crate) told: Vec<SurveyedGroups>,
}

/// What a stretch brought into an output.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Passed {
    pub(crate) rows: u64,
    /// Rows of each input, by its number.
    pub(crate) by_input: Vec<(usize, u64)>,
    pub(crate) seals: Seals,
    /// First and last key, under a keyed rule of the key alone.
    pub(crate) keys: Option<KeyRange>,
    /// Bounds of row times, if they are asked for.
    pub(crate) times: Option<RowTimes>,
    /// Columns that had to be decoded, and why.
    pub(crate) decoded: Vec<(String, String)>,
}

impl Passing<'_> {
    /// Chooses the paths. Only inputs that may pass by what their statistics say are looked at.
    pub(crate) fn plan(&self) -> Result<PassPlan, MergeError> {
        let file_leaves =
            |file: &OpenFile| find_leaves(&self.leaves, file.footer().file_metadata().schema_descr());
        let mut plan = PassPlan {
            paths: Paths(Vec::new()),
            surveyed: vec![None; self.files.len()],
            leaves: self.files.iter().map(file_leaves).collect(),
            kept: (0, vec![Vec::new(); self.files.len()]),
        };
        let AtBest { paths, told } = self.at_best()?;
        let Some(key) = self.key else {
            plan.paths = paths;
            return Ok(plan);
        };
        self.survey(&paths, key, &mut plan)?;
        let in_doubt: Vec<SurveyedGroups> = told
            .into_iter()
            .map(|told| SurveyedGroups {
                sorted: false,
                unique: false,
                ..told
            })
            .collect();
        let known = |input: usize| match &plan.surveyed[input] {
            // The survey of an input out of order ended early.
            Some(found) if found.sorted => Some(found),
            _ => Some(&in_doubt[input]),
        };
        let mut facts = self.facts(known)?;
        for stretch in paths.0.iter().filter(|stretch| stretch.path == Path::Merge) {
            let unseen = |id: &&GroupId| plan.surveyed[id.input].is_none();
            for id in stretch.groups.iter().filter(unseen) {
                facts[id.input].groups[id.group].settled = Some(stretch.why);
            }
        }
        plan.paths = choose_paths(&facts, self.wanted());
        Ok(plan)
    }

    /// The paths if all that statistics say of keys holds, and rows are in order wherever they may be. Reads nothing.
    pub(crate) fn at_best(&self) -> Result<AtBest, MergeError> {
        let told = self
            .key
            .map(|key| self.files.iter().map(move |file| told(file, key)));
        let told: Vec<SurveyedGroups> = told.into_iter().flatten().collect();
        let facts = self.facts(|input| told.get(input))?;
        let paths = choose_paths(&facts, self.wanted());
        Ok(AtBest { paths, told })
    }

    fn wanted(&self) -> Wanted {
        wanted(self.spec, self.group_rows, self.key.is_some())
    }

    /// Looks at the keys of all inputs that may go past the merge, on all threads.
    fn survey(&self, at_best: &Paths, key: &SortKey, plan: &mut PassPlan) -> Result<(), MergeError> {
        let unmerged = at_best.0.iter().filter(|stretch| stretch.path != Path::Merge);
        let inputs: BTreeSet<usize> = unmerged
            .flat_map(|stretch| stretch.groups.iter().map(|id| id.input))
            .collect();
        let inputs: Vec<usize> = inputs.into_iter().collect();
        let pages = KeyPages::of(key, self.schema, &self.leaves, self.shares.keys);
        let found = at_once(inputs.len(), self.shares.threads, |number| {
            self.check_cancelled()?;
            let input = inputs[number];
            let quick = pages
                .as_ref()
                .map(|pages| pages.survey(self.all_groups(plan, input)));
            match quick.transpose() {
                Ok(Some(Some(found))) => return Ok(found),
                Ok(_) | Err(Unfit::Decode(_)) => {}
                Err(Unfit::File(why)) => return Err(why.of_input(input)),
                Err(Unfit::Node(why)) => return Err(writing(why)),
            }
            let found = survey_groups(&self.files[input], self.schema, key);
            found
                .map(|found| (found, Vec::new()))
                .map_err(|why| why.of_input(input))
        });
        for (input, found) in inputs.into_iter().zip(found) {
            let (surveyed, kept) = found?;
            plan.surveyed[input] = Some(surveyed);
            plan.kept.1[input] = kept;
        }
        plan.kept.0 = pages.map_or(0, |pages| pages.leaf);
        Ok(())
    }

    fn all_groups<'j>(&'j self, plan: &'j PassPlan, input: usize) -> impl Iterator<Item = SourceGroup<'j>> {
        let groups = 0..self.files[input].footer().num_row_groups();
        groups.map(move |group| self.source(plan, GroupId { input, group }))
    }

    fn source<'j>(&'j self, plan: &'j PassPlan, GroupId { input, group }: GroupId) -> SourceGroup<'j> {
        let (leaf, kept) = &plan.kept;
        let kept = kept[input].get(group).and_then(Option::as_ref);
        SourceGroup {
            input,
            file: &self.files[input],
            group,
            leaves: &plan.leaves[input],
            kept: kept.map(|kept| (*leaf, kept)),
        }
    }

    fn facts<'s>(
        &self,
        known: impl Fn(usize) -> Option<&'s SurveyedGroups>,
    ) -> Result<Vec<crate::paths::InputFacts>, MergeError> {
        let facts = self.files.iter().enumerate().map(|(input, file)| {
            let facts = facts_of(
                input,
                file,
                &self.leaves,
                self.spec,
                self.shares.passing,
                self.range,
                known(input),
            );
            facts.map_err(|why| why.of_input(input))
        });
        facts.collect()
    }

    /// Writes stretches that are not to be merged, a row group each; their columns are made on all threads. `each` is called in
    /// order, and has the line write the stretch that it is given.
    pub(crate) fn write<'j>(
        &'j self,
        plan: &'j PassPlan,
        stretches: &'j [Stretch],
        mut each: impl FnMut(&'j Stretch, &mut Line<'_, 'j>) -> Result<(), MergeError>,
    ) -> Result<(), MergeError> {
        with_crew(self.shares.threads, |crew| {
            let mut line = Line::new(self, plan, stretches, crew);
            stretches.iter().try_for_each(|stretch| each(stretch, &mut line))
        })
    }

    /// Who makes the row group of a stretch.
    pub(super) fn maker<'j>(&'j self, plan: &'j PassPlan, stretch: &Stretch) -> GroupMaker<'j> {
        GroupMaker {
            sources: self.sources(plan, stretch).collect(),
            leaves: self.leaves.clone(),
            schema: self.schema.clone(),
            codec: self.spec.codec,
            is_copy: stretch.path == Path::Copy,
        }
    }

    fn sources<'j>(&'j self, plan: &'j PassPlan, stretch: &Stretch) -> impl Iterator<Item = SourceGroup<'j>> {
        stretch.groups.iter().map(move |id| self.source(plan, *id))
    }

    /// What is known of a stretch before it is written.
    pub(super) fn about(&self, plan: &PassPlan, stretch: &Stretch) -> Result<Passed, MergeError> {
        let mut passed = Passed {
            rows: stretch.rows,
            ..Passed::default()
        };
        for source in self.sources(plan, stretch) {
            match passed
                .by_input
                .iter_mut()
                .find(|(input, _)| *input == source.input)
            {
                Some((_, rows)) => *rows += source.rows(),
                None => passed.by_input.push((source.input, source.rows())),
            }
            if let Some(column) = &self.spec.row_time {
                let group = source.file.with_groups(&[source.group]);
                let found = row_times(&group, column);
                passed.times = match (passed.times, found) {
                    (Some(held), Some(found)) => Some(held.with(found)),
                    (held, found) => held.or(found),
                };
            }
        }
        let keys = |id: Option<&GroupId>| {
            let id = id?;
            plan.surveyed[id.input].as_ref()?.keys.get(id.group)?.clone()
        };
        let (first, last) = (keys(stretch.groups.first()), keys(stretch.groups.last()));
        passed.keys = first.zip(last).map(|(first, last)| KeyRange {
            min: first.min,
            max: last.max,
        });
        Ok(passed)
    }

    pub(super) fn check_cancelled(&self) -> Result<(), MergeError> {
        match self.progress.cancelled() {
            true => Err(MergeError::Cancelled),
            false => Ok(()),
        }
    }
}

/// What the statistics of a file say about its keys, at best.
fn told(file: &OpenFile, key: &SortKey) -> SurveyedGroups {
    let groups = 0..file.footer().num_row_groups();
    let keys = groups.map(|group| row_group_key_range(file, group, key.bounds()));
    SurveyedGroups {
        sorted: true,
        unique: true,
        keys: keys.collect(),
    }
}
