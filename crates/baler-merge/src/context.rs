//! What every part of one merge needs to know.

use crate::decode::OpenFile;
use crate::error::MergeError;
use crate::io::Progress;
use crate::write::Due;
use arrow::datatypes::SchemaRef;

/// The inputs of a merge, opened, and who watches it.
pub(crate) struct Context<'a> {
    pub(crate) schema: SchemaRef,
    pub(crate) files: Vec<OpenFile>,
    pub(crate) progress: &'a dyn Progress,
}

impl Context<'_> {
    /// All rows of all inputs, and the bytes of their pages.
    pub(crate) fn due(&self) -> Due {
        let chunks = |file: &OpenFile| {
            let groups = file.footer().row_groups().iter();
            groups
                .map(|group| group.compressed_size().unsigned_abs())
                .sum::<u64>()
        };
        Due {
            rows: self.files.iter().map(OpenFile::rows).sum(),
            bytes: self.files.iter().map(chunks).sum(),
        }
    }

    pub(crate) fn check_cancelled(&self) -> Result<(), MergeError> {
        if self.progress.cancelled() {
            Err(MergeError::Cancelled)
        } else {
            Ok(())
        }
    }
}
