//! Inputs as a range sees them: without the row groups and pages that cannot meet it.
//!
//! Statistics and page indexes say which those are. If they lie, rows are missed here and taken nowhere; that shows when the rows read
//! over all ranges are compared with those in the footer.

use crate::at_once::at_once;
use crate::context::Context;
use crate::decode::OpenFile;
use crate::error::{FileError, MergeError};
use crate::intake::SortPlan;
use crate::key_range::{KeyRange, has_encoding};
use crate::key_span::KeySpan;
use crate::limits::{READS_AT_ONCE, SMALL_FILE_BYTES};
use crate::page_places::{GroupPages, read_page_index};
use crate::page_statistics::{sort_leaves, stretches};
use crate::spec::SortColumn;
use crate::statistics::row_group_key_range;
use arrow::datatypes::Schema;
use parquet::file::metadata::page_index::{PageIndex, PageIndexProvider};
use std::ops::Range;
use std::sync::Arc;

/// The order of a job by which it can be cut; if it cannot be, why not.
pub(crate) fn can_cut<'a>(
    schema: &Schema,
    sort: Option<&'a mut SortPlan>,
) -> Result<&'a mut SortPlan, MergeError> {
    let Some(sort) = sort else {
        return Err(MergeError::Spec(
            "rows without order cannot be merged in ranges: sort by a key, or merge them in one range".into(),
        ));
    };
    for column in sort.key.bounds() {
        let field = schema.field_with_name(&column.name);
        if let Some(field) = field.ok().filter(|field| !has_encoding(field.data_type())) {
            return Err(MergeError::Spec(format!(
                "a job cannot be cut by column {}, which holds {}: merge it in one range",
                column.name,
                field.data_type()
            )));
        }
    }
    Ok(sort)
}

/// What a merge asks for of all inputs.
pub(crate) struct Narrowing<'a> {
    pub(crate) range: &'a KeySpan,
    /// The columns that the job is cut by.
    pub(crate) sort: &'a [SortColumn],
    /// Small inputs that meet the range are held up to this many bytes together.
    pub(crate) held_bytes_max: usize,
}

impl Narrowing<'_> {
    /// The same inputs with what may meet the range.
    pub(crate) fn of<'a>(&self, context: Context<'a>) -> Result<Context<'a>, MergeError> {
        let files: Vec<OpenFile> = context.files.iter().map(|file| self.groups(file)).collect();
        self.hold(&files)?;
        let files = at_once(files.len(), READS_AT_ONCE, |input| {
            context.check_cancelled()?;
            context.progress.advanced(0, 1);
            self.pages(&files[input]).map_err(|why| why.of_input(input))
        });
        let files = files.into_iter().collect::<Result<Vec<_>, _>>()?;
        Ok(Context { files, ..context })
    }

    /// The same as far as footers tell: row groups across an edge are there whole. Nothing is read.
    pub(crate) fn by_footers<'a>(&self, context: &Context<'a>) -> Context<'a> {
        Context {
            schema: context.schema.clone(),
            files: context.files.iter().map(|file| self.groups(file)).collect(),
            progress: context.progress,
        }
    }

    /// A file with the row groups that may meet the range.
    fn groups(&self, file: &OpenFile) -> OpenFile {
        let groups = file.footer().row_groups().iter().enumerate();
        let meets = |group| self.keys(file, group).is_none_or(|keys| self.range.meets(&keys));
        let met: Vec<usize> = groups
            .filter(|(number, group)| group.num_rows() > 0 && meets(*number))
            .map(|(number, _)| number)
            .collect();
        if met.is_empty() {
            file.release();
        }
        shown(file, &met)
    }

    /// Reads small inputs whole, in one read each, as they would have been if the job were not cut.
    fn hold(&self, files: &[OpenFile]) -> Result<(), MergeError> {
        let mut left = self.held_bytes_max as u64;
        let mut chosen = Vec::new();
        for (input, file) in files.iter().enumerate().filter(|(_, file)| file.rows() > 0) {
            let bytes = file.input().len();
            if bytes <= SMALL_FILE_BYTES.min(left) {
                left -= bytes;
                chosen.push(input);
            }
        }
        let held = at_once(chosen.len(), READS_AT_ONCE, |number| {
            let input = chosen[number];
            files[input].hold_if_small().map_err(|why| why.of_input(input))
        });
        held.into_iter().collect()
    }

    /// A file with the pages that may meet the range, of row groups that lie across an edge.
    fn pages(&self, file: &OpenFile) -> Result<OpenFile, FileError> {
        let groups = 0..file.footer().num_row_groups();
        let across: Vec<usize> = groups
            .clone()
            .filter(|group| {
                self.keys(file, *group)
                    .is_none_or(|keys| !self.range.holds(&keys))
            })
            .collect();
        let index = match sort_leaves(file, self.sort) {
            Some(leaves) if !across.is_empty() => read_page_index(file, &across, &leaves)?,
            _ => None,
        };
        let Some(index) = index else {
            return Ok(file.clone());
        };
        let (mut met, mut pages) = (Vec::new(), Vec::new());
        for group in groups {
            let found = self.pages_of(file, group, &index);
            if found.as_ref().is_none_or(|pages| !pages.rows.is_empty()) {
                met.push(group);
                pages.push(found.map(Arc::new));
            }
        }
        Ok(shown(file, &met).with_pages(pages))
    }

    fn keys(&self, file: &OpenFile, group: usize) -> Option<KeyRange> {
        row_group_key_range(file, group, self.sort)
    }

    /// Which rows of a row group may meet the range; nothing if the index does not tell, or all may.
    fn pages_of(&self, file: &OpenFile, group: usize, index: &PageIndex) -> Option<GroupPages> {
        let places = (0..file.leaves()).map(|leaf| index.offset_index(group, leaf).cloned());
        let places = places.collect::<Option<Vec<_>>>()?;
        let mut rows: Vec<Range<u64>> = Vec::new();
        for (stretch, keys) in stretches(file, group, index, self.sort)? {
            if keys.is_some_and(|keys| !self.range.meets(&keys)) {
                continue;
            }
            match rows.last_mut().filter(|last| last.end == stretch.start) {
                Some(last) => last.end = stretch.end,
                None => rows.push(stretch),
            }
        }
        let pages = GroupPages { rows, places };
        let all = file.footer().row_group(group).num_rows().unsigned_abs();
        (pages.count() < all).then_some(pages)
    }
}

fn shown(file: &OpenFile, groups: &[usize]) -> OpenFile {
    match groups.len() == file.footer().num_row_groups() {
        true => file.clone(),
        false => file.with_groups(groups),
    }
}
