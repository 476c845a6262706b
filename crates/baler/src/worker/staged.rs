//! Outputs on their way to disk, under the attempt's own folder.

use std::io::{self, Write};
use std::sync::Arc;

use baler_core::names::Attempt;
use baler_merge::OutputSink;

use super::meter::Meter;
use crate::folder::staging::StagedFile;
use crate::folder::{Folder, FolderError};

/// The engine passes the error on to those who sort it; what the system said stays inside.
fn into_io(error: FolderError) -> io::Error {
    match error {
        FolderError::Io { source, .. } => source,
        other => io::Error::other(other),
    }
}

/// Opens an attempt's outputs.
pub(super) struct StagedSink {
    folder: Arc<Folder>,
    attempt: Attempt,
    meter: Arc<Meter>,
}

impl StagedSink {
    pub(super) fn new(folder: Arc<Folder>, attempt: Attempt, meter: Arc<Meter>) -> Self {
        Self {
            folder,
            attempt,
            meter,
        }
    }
}

impl OutputSink for StagedSink {
    fn create(&mut self, part: u32) -> io::Result<Box<dyn baler_merge::Output>> {
        let staged = StagedFile::create(&self.folder, &self.attempt, part).map_err(into_io)?;
        Ok(Box::new(StagedOutput {
            staged,
            meter: self.meter.clone(),
        }))
    }
}

struct StagedOutput {
    staged: StagedFile,
    meter: Arc<Meter>,
}

impl Write for StagedOutput {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.staged.write(bytes)?;
        self.meter.wrote(written as u64);
        Ok(written)
    }
    fn flush(&mut self) -> io::Result<()> {
        self.staged.flush()
    }
}

impl baler_merge::Output for StagedOutput {
    fn finish(self: Box<Self>) -> io::Result<()> {
        self.staged.finish().map(drop).map_err(into_io)
    }
}
