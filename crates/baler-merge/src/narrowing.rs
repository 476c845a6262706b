//! Inputs as a range sees them: without the row groups that cannot meet it.
//!
//! Statistics say which those are. If they lie, rows are missed here and taken nowhere; that shows when the rows read over all
//! ranges are compared with those in the footer.

use crate::context::Context;
use crate::decode::OpenFile;
use crate::error::{FileError, MergeError};
use crate::intake::SortPlan;
use crate::key_range::has_encoding;
use crate::key_span::KeySpan;
use crate::spec::SortColumn;
use crate::statistics::row_group_key_range;
use arrow::datatypes::Schema;

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

impl Context<'_> {
    /// The same inputs with the row groups only that may meet the range.
    pub(crate) fn narrowed(mut self, range: &KeySpan, sort: &[SortColumn]) -> Result<Self, MergeError> {
        for (input, file) in self.files.iter_mut().enumerate() {
            *file = narrowed(file, range, sort).map_err(|why| why.of_input(input))?;
        }
        Ok(self)
    }
}

fn narrowed(file: &OpenFile, range: &KeySpan, sort: &[SortColumn]) -> Result<OpenFile, FileError> {
    let groups = file.footer().row_groups().iter().enumerate();
    let meets = |group: usize| row_group_key_range(file, group, sort).is_none_or(|keys| range.meets(&keys));
    let met: Vec<usize> = groups
        .filter(|(number, group)| group.num_rows() > 0 && meets(*number))
        .map(|(number, _)| number)
        .collect();
    if met.is_empty() {
        file.release();
    }
    match met.len() == file.footer().num_row_groups() {
        true => Ok(file.clone()),
        false => file.with_groups(&met),
    }
}
