//! What a file says about itself: its schema, and what stands beside it.

use super::batches::guarded;
use super::footer_of;
use crate::asked_types::{duplicate, plain_metadata};
use crate::descriptions::Description;
use crate::error::{FileError, refused};
use crate::footer::FoundFooter;
use crate::limits::FIXED_LIST_MAX;
use arrow::datatypes::{DataType, FieldRef, Fields};
use std::sync::Arc;

/// What a file says about itself, if it makes sense.
pub(super) fn describe(found: &FoundFooter) -> Result<Description, FileError> {
    let file = found.metadata.file_metadata();
    let pairs = file.key_value_metadata().cloned();
    let footer = Arc::new(footer_of(file, Vec::new(), pairs.clone()));
    let metadata = guarded(|| plain_metadata(&footer))?;
    let too_long = |field: &&FieldRef| fixed_elements(field.data_type()) > FIXED_LIST_MAX;
    if let Some(field) = metadata.schema().fields().iter().find(too_long) {
        return refused(format!(
            "column {} has lists of {} elements, more than {FIXED_LIST_MAX}",
            field.name(),
            fixed_elements(field.data_type())
        ));
    }
    if let Some(name) = duplicate(metadata.schema().fields()) {
        return refused(format!("column {name} occurs twice"));
    }
    Ok(Description {
        raw: found.schema.to_vec(),
        parquet: file.schema_descr_ptr(),
        pairs,
        schema: Arc::clone(metadata.schema()),
    })
}

/// How many elements a null of this type may take: those of its lists of fixed length, multiplied.
fn fixed_elements(data_type: &DataType) -> u64 {
    let of_fields = |fields: &Fields| {
        let fields = fields.iter();
        fields.map(|field| fixed_elements(field.data_type())).max()
    };
    match data_type {
        DataType::FixedSizeList(field, length) => {
            u64::from(length.unsigned_abs()).saturating_mul(fixed_elements(field.data_type()))
        }
        DataType::List(field) | DataType::LargeList(field) | DataType::Map(field, _) => {
            fixed_elements(field.data_type())
        }
        DataType::Struct(fields) => of_fields(fields).unwrap_or(1),
        _ => 1,
    }
}
