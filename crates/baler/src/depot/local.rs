//! A local folder as a depot: its operations block, and so run on threads that may.

use std::io::{self, Write};
use std::sync::Arc;

use baler_core::file::{Digest, File, FilePath, Identity};
use baler_core::ids::JournalId;
use baler_journal::store::{LocalStore, Store, StoreError};
#[cfg(feature = "parquet")]
use baler_merge::{Facts, FileError};
use bytes::Bytes;
use futures::StreamExt;
use futures::stream::{self, BoxStream};
use tokio::sync::mpsc;

use super::{
    Aside, Back, Deleted, Deletion, DepotError, Found, Input, InputError, Object, Output, Publication,
    Staged, ToSetAside,
};
use crate::folder::input::FolderInput;
use crate::folder::publish::Check;
use crate::folder::staging::StagedFile;
use crate::folder::{
    Folder, aside, back, delete as deleting, listing, publish as publishing, staging, walk as walking,
};
#[cfg(feature = "parquet")]
use crate::spec::Asked;
use crate::store::{Faults, UnreliableJournal};

/// Footers read at once.
pub(super) const LOOKS_AT_ONCE: usize = 8;

/// Findings that wait for the one who asked.
const FOUND_AHEAD: usize = 1_024;

/// Runs something that blocks, and goes down with it if it panics.
async fn blocking<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> T {
    match tokio::task::spawn_blocking(work).await {
        Ok(done) => done,
        Err(error) => std::panic::resume_unwind(error.into_panic()),
    }
}

pub(super) fn journal_store(folder: &Folder) -> Result<Arc<dyn Store>, StoreError> {
    let next: Arc<dyn Store> = Arc::new(LocalStore::open(folder.path())?);
    Ok(match Faults::wanted() {
        None => next,
        Some(faults) => Arc::new(UnreliableJournal { next, faults }),
    })
}

pub(super) fn walk(
    folder: Arc<Folder>,
    journal: Option<JournalId>,
) -> BoxStream<'static, Result<Found, DepotError>> {
    let (sender, receiver) = mpsc::channel(FOUND_AHEAD);
    let walking = tokio::task::spawn_blocking(move || {
        for found in walking::walk(&folder, journal) {
            if sender.blocking_send(found.map_err(DepotError::from)).is_err() {
                return;
            }
        }
    });
    stream::unfold((receiver, walking), |(mut receiver, walking)| async {
        match receiver.recv().await {
            Some(found) => Some((found, (receiver, walking))),
            None => match walking.await {
                Ok(()) => None,
                // A listing that died is not one that came to its end.
                Err(error) => std::panic::resume_unwind(error.into_panic()),
            },
        }
    })
    .boxed()
}

pub(super) async fn everything(folder: &Arc<Folder>) -> Result<Vec<Object>, DepotError> {
    let folder = folder.clone();
    Ok(blocking(move || listing::everything(&folder)).await?)
}

#[cfg(feature = "parquet")]
pub(super) async fn inspect(
    folder: &Arc<Folder>,
    path: &FilePath,
    identity: &Identity,
    asked: &Arc<Asked>,
) -> Result<Result<Facts, FileError>, InputError> {
    let (folder, path, identity, asked) = (folder.clone(), path.clone(), identity.clone(), asked.clone());
    blocking(move || {
        let input = open(&folder, &path, &identity)?;
        Ok(asked.inspect(&input))
    })
    .await
}

pub(super) async fn identity_now(
    folder: &Arc<Folder>,
    path: &FilePath,
) -> Result<Option<Identity>, DepotError> {
    let (folder, path) = (folder.clone(), path.clone());
    Ok(blocking(move || folder.identity_now(&path)).await?)
}

/// Which version of a file that the state knows lies at its path now.
pub(super) async fn version_now(folder: &Arc<Folder>, file: &File) -> Result<Option<Identity>, DepotError> {
    let now = identity_now(folder, &file.path).await?;
    Ok(now.map(|now| match is_that_output(file, &now) {
        true => file.identity.clone(),
        false => now,
    }))
}

pub(super) async fn open_input(folder: &Arc<Folder>, file: &File) -> Result<Arc<dyn Input>, InputError> {
    let now = identity_now(folder, &file.path).await?;
    let identity = match now {
        Some(now) if is_that_output(file, &now) => now,
        _ => file.identity.clone(),
    };
    let (folder, path) = (folder.clone(), file.path.clone());
    blocking(move || open(&folder, &path, &identity)).await
}

/// What the file system calls an output of a native table is not in the journal: there its tag is its checksum. Its name is
/// used once, so that its length is enough to tell it.
fn is_that_output(file: &File, now: &Identity) -> bool {
    let tagged_by_checksum = file
        .checksum
        .is_some_and(|sum| *sum.to_string() == *file.identity.tag);
    tagged_by_checksum && now.bytes == file.identity.bytes
}

fn open(folder: &Folder, path: &FilePath, identity: &Identity) -> Result<Arc<dyn Input>, InputError> {
    let input = FolderInput::open(folder, path, identity)?;
    let name = path.to_string();
    Ok(Arc::new(NamedInput { name, input }))
}

pub(super) fn create_output(folder: &Folder, path: FilePath) -> Result<Box<dyn Output>, DepotError> {
    Ok(Box::new(StagedOutput(StagedFile::create(folder, path)?)))
}

pub(super) async fn publish(
    folder: &Arc<Folder>,
    staged: &Staged,
    output: &FilePath,
) -> Result<Publication, DepotError> {
    let (folder, staged, output) = (folder.clone(), staged.clone(), output.clone());
    Ok(blocking(move || publishing::publish(&folder, &staged, &output, Check::Length)).await?)
}

pub(super) async fn set_aside(
    folder: &Arc<Folder>,
    files: Vec<ToSetAside>,
) -> Result<Vec<Result<Aside, DepotError>>, DepotError> {
    let folder = folder.clone();
    let outcomes = blocking(move || aside::set_aside_all(&folder, &files)).await?;
    Ok(outcomes.into_iter().map(|outcome| Ok(outcome?)).collect())
}

pub(super) async fn bring_back(
    folder: &Arc<Folder>,
    files: Vec<ToSetAside>,
) -> Result<Vec<Result<Back, DepotError>>, DepotError> {
    let folder = folder.clone();
    let backs = blocking(move || back::bring_back_all(&folder, &files)).await?;
    Ok(backs.into_iter().map(|back| Ok(back?)).collect())
}

pub(super) async fn delete(
    folder: &Arc<Folder>,
    journal: JournalId,
    list: Vec<Deletion>,
) -> Result<Vec<Result<Deleted, DepotError>>, DepotError> {
    let folder = folder.clone();
    let outcomes = blocking(move || deleting::delete_all(&folder, journal, &list)).await?;
    Ok(outcomes.into_iter().map(|outcome| Ok(outcome?)).collect())
}

pub(super) async fn in_tables(folder: &Arc<Folder>) -> Result<Vec<FilePath>, DepotError> {
    let folder = folder.clone();
    Ok(blocking(move || staging::in_tables(&folder)).await?)
}

pub(super) async fn in_staging(folder: &Arc<Folder>) -> Result<Vec<FilePath>, DepotError> {
    let folder = folder.clone();
    Ok(blocking(move || staging::all_staged(&folder)).await?)
}

pub(super) async fn left_behind(
    folder: &Arc<Folder>,
    folders: &[String],
) -> Result<Vec<FilePath>, DepotError> {
    let (folder, folders) = (folder.clone(), folders.to_vec());
    Ok(blocking(move || staging::left_behind(&folder, &folders)).await?)
}

pub(super) async fn tidy(folder: &Arc<Folder>, folders: &[String]) {
    for below in folders {
        // Only an empty folder goes; whatever comes later makes it anew.
        let _: io::Result<()> = tokio::fs::remove_dir(folder.path().join(below)).await;
    }
}

pub(super) async fn checksum(folder: &Arc<Folder>, path: &FilePath) -> Result<Digest, DepotError> {
    let (folder, path) = (folder.clone(), path.clone());
    Ok(blocking(move || publishing::checksum(&folder, &path)).await?)
}

/// A file of a folder under its path below the folder, as the engine reads it.
struct NamedInput {
    name: String,
    input: FolderInput,
}

impl Input for NamedInput {
    fn name(&self) -> &str {
        &self.name
    }
    fn len(&self) -> u64 {
        self.input.len()
    }
    fn read_at(&self, offset: u64, length: usize) -> io::Result<Bytes> {
        self.input.read_at(offset, length)
    }
}

/// A file being written, as the engine writes it.
struct StagedOutput(StagedFile);

impl Write for StagedOutput {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.write(bytes)
    }
    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

impl Output for StagedOutput {
    fn finish(self: Box<Self>) -> io::Result<()> {
        let finished = self.0.finish().map(drop);
        finished.map_err(|error| DepotError::from(error).into_io())
    }
}
