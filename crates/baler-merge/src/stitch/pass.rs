//! What goes past the merge: plans the paths of all inputs, and writes the stretches that are copied or stitched.
//!
//! The merge does the rest: a stretch to be merged is the files as [`OpenFile::with_groups`] shows them. Statistics only say where a
//! look is worth it; what is not merged was looked at, key by key.

use super::copy::copy_leaf;
use super::facts::{facts_of, wanted};
use super::group::GroupStitcher;
use super::seal::Seals;
use super::source::{Leaf, SourceGroup, find_leaves};
use super::survey::{SurveyedGroups, survey_groups};
use crate::decode::OpenFile;
use crate::error::MergeError;
use crate::group::write_group;
use crate::io::Progress;
use crate::key_range::KeyRange;
use crate::paths::{GroupId, Path, Paths, Stretch, choose_paths};
use crate::row_time::RowTimes;
use crate::sort_key::SortKey;
use crate::spec::MergeSpec;
use crate::statistics::{key_range, row_times};
use arrow::datatypes::SchemaRef;
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::types::SchemaDescPtr;
use std::io::Write;

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
    pub(crate) progress: &'a dyn Progress,
}

/// The paths, and what was found on the way to them.
pub(crate) struct PassPlan {
    pub(crate) paths: Paths,
    /// For each input that was looked at what its keys are.
    surveyed: Vec<Option<SurveyedGroups>>,
    /// For each input where the leaves of the output lie.
    leaves: Vec<Vec<Option<Leaf>>>,
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
        };
        let wanted = wanted(self.spec, self.group_rows, self.key.is_some());
        let Some(key) = self.key else {
            let facts = self.facts(|_| None)?;
            plan.paths = choose_paths(&facts, wanted);
            return Ok(plan);
        };
        let told: Vec<SurveyedGroups> = self.files.iter().map(|file| told(file, key)).collect();
        let at_best = choose_paths(&self.facts(|input| Some(&told[input]))?, wanted);
        let unmerged = at_best.0.iter().filter(|stretch| stretch.path != Path::Merge);
        for id in unmerged.flat_map(|stretch| &stretch.groups) {
            if plan.surveyed[id.input].is_none() {
                self.check_cancelled()?;
                let found = survey_groups(&self.files[id.input], self.schema, key);
                plan.surveyed[id.input] = Some(found.map_err(|why| why.of_input(id.input))?);
            }
        }
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
        let facts = self.facts(known)?;
        plan.paths = choose_paths(&facts, wanted);
        Ok(plan)
    }

    fn facts<'s>(
        &self,
        known: impl Fn(usize) -> Option<&'s SurveyedGroups>,
    ) -> Result<Vec<crate::paths::InputFacts>, MergeError> {
        let facts = self.files.iter().enumerate().map(|(input, file)| {
            facts_of(input, file, &self.leaves, self.spec, known(input)).map_err(|why| why.of_input(input))
        });
        facts.collect()
    }

    /// Writes a stretch that is not to be merged as the next row group of `file`, column by column, each proved.
    pub(crate) fn write<W: Write + Send>(
        &self,
        plan: &PassPlan,
        stretch: &Stretch,
        file: &mut SerializedFileWriter<W>,
    ) -> Result<Passed, MergeError> {
        let source = |id: &GroupId| SourceGroup {
            input: id.input,
            file: &self.files[id.input],
            group: id.group,
            leaves: &plan.leaves[id.input],
        };
        let sources: Vec<SourceGroup<'_>> = stretch.groups.iter().map(source).collect();
        let mut passed = self.about(plan, stretch, &sources)?;
        // One read for a small file, and not one for each of its columns.
        for source in &sources {
            source
                .file
                .hold_if_small()
                .map_err(|why| why.of_input(source.input))?;
        }
        let written = match (stretch.path, sources.as_slice()) {
            (Path::Copy, [only]) => write_group(file, |leaf| {
                self.check_cancelled()?;
                let (column, seals) = copy_leaf(only, leaf, &self.leaves.column(leaf))?.proved()?;
                passed.seals += seals;
                Ok(column)
            })?,
            _ => {
                let mut group = GroupStitcher::new(sources, &self.leaves, self.schema, self.spec.codec);
                let written = write_group(file, |leaf| {
                    self.check_cancelled()?;
                    group.column(leaf)
                })?;
                (passed.seals, passed.decoded) = (group.seals, group.decoded);
                written
            }
        };
        let inputs = stretch.groups.iter().map(|id| id.input);
        inputs.for_each(|input| self.files[input].release());
        match written.num_rows() as u64 == passed.rows {
            true => {
                self.progress
                    .advanced(passed.rows, written.total_byte_size().unsigned_abs());
                Ok(passed)
            }
            false => Err(MergeError::Proof(format!(
                "{} of {} rows were copied",
                written.num_rows(),
                passed.rows
            ))),
        }
    }

    /// What is known of a stretch before it is written.
    fn about(
        &self,
        plan: &PassPlan,
        stretch: &Stretch,
        sources: &[SourceGroup<'_>],
    ) -> Result<Passed, MergeError> {
        let mut passed = Passed {
            rows: stretch.rows,
            ..Passed::default()
        };
        for source in sources {
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
                let found = row_times(&group.map_err(|why| why.of_input(source.input))?, column);
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

    fn check_cancelled(&self) -> Result<(), MergeError> {
        match self.progress.cancelled() {
            true => Err(MergeError::Cancelled),
            false => Ok(()),
        }
    }
}

/// What the statistics of a file say about its keys, at best.
fn told(file: &OpenFile, key: &SortKey) -> SurveyedGroups {
    let keys = (0..file.footer().num_row_groups()).map(|group| match file.with_groups(&[group]) {
        Ok(one) => key_range(&one, key.bounds()),
        Err(_) => None,
    });
    SurveyedGroups {
        sorted: true,
        unique: true,
        keys: keys.collect(),
    }
}
