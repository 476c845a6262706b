//! The order of the outputs: what the spec asks for, or else what all inputs declare.

use crate::decode::OpenFile;
use crate::error::MergeError;
use crate::inspect::declared_sort;
use crate::intake::SortPlan;
use crate::sort_key::asked_sort;
use crate::spec::{MergeSpec, SortColumn};
use arrow::datatypes::SchemaRef;

/// Nothing: there is no order to keep or to claim. Of a job that is cut this is asked with all of its inputs, so that all ranges have
/// the same.
pub(crate) fn choose_order(
    files: &[OpenFile],
    schema: &SchemaRef,
    spec: &MergeSpec,
) -> Result<Option<SortPlan>, MergeError> {
    let asked = asked_sort(spec)?;
    let declared = asked.is_empty();
    let sort = if declared { commonly_declared(files) } else { asked };
    if sort.is_empty() {
        return Ok(None);
    }
    match SortPlan::new(schema, sort, declared, &spec.rule) {
        Ok(plan) => Ok(Some(plan)),
        // A declaration that makes no sense asks for nothing.
        Err(_) if declared => Ok(None),
        Err(why) => Err(why),
    }
}

fn commonly_declared(files: &[OpenFile]) -> Vec<SortColumn> {
    let mut declared = files.iter().filter(|file| file.rows() > 0).map(declared_sort);
    let Some(mut common) = declared.next() else {
        return Vec::new();
    };
    for other in declared {
        let same = common.iter().zip(&other).take_while(|(a, b)| a == b).count();
        common.truncate(same);
    }
    common
}
