//! What every part of one merge needs to know.

use crate::decode::OpenFile;
use crate::error::MergeError;
use crate::io::Progress;
use arrow::datatypes::SchemaRef;

/// The inputs of a merge, opened, and who watches it.
pub(crate) struct Context<'a> {
    pub(crate) schema: SchemaRef,
    pub(crate) files: Vec<OpenFile>,
    pub(crate) progress: &'a dyn Progress,
}

impl Context<'_> {
    pub(crate) fn check_cancelled(&self) -> Result<(), MergeError> {
        if self.progress.cancelled() {
            Err(MergeError::Cancelled)
        } else {
            Ok(())
        }
    }
}
