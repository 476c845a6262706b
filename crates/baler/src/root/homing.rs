//! A root in a folder knows where it was made, so that nobody goes on in a copy of it. In a bucket a copy keeps all by which files
//! are known there, and there is nothing to ask.

use anyhow::Result;
use baler_core::file::Place;
use baler_core::state::State;
use baler_journal::Replica;

use crate::depot::Depot;
use crate::folder::Folder;
use crate::folder::home::{self, Home, are_copies, home};
use crate::folder::refuse::Refusal;

/// Refuses a copy, before anything of its journal is read.
pub(super) fn check(root: &Depot) -> Result<()> {
    match root.as_folder() {
        Some(folder) if home(folder)? == Home::Elsewhere => refuse(folder),
        _ => Ok(()),
    }
}

/// Refuses a copy of a root with this state. Where nothing is written down, the versions that it names tell.
pub(super) fn check_versions(root: &Depot, state: &State) -> Result<()> {
    match root.as_folder() {
        Some(folder) if is_copy(folder, state)? => refuse(folder),
        _ => Ok(()),
    }
}

fn refuse(folder: &Folder) -> Result<()> {
    let folder = folder.path().into();
    Err(Refusal::Copied { folder }.into())
}

/// Says that this is a copy, to those who only look.
pub(super) fn warn(root: &Depot, state: &State) -> Result<()> {
    match check_versions(root, state) {
        Err(error) if error.is::<Refusal>() => {
            tracing::warn!("what follows is what the journal says of the folder that was copied. {error}");
            Ok(())
        }
        result => result,
    }
}

/// Whether this folder, whose journal has this state, is a copy of the one in which that was written.
pub(super) fn is_copy(folder: &Folder, state: &State) -> Result<bool> {
    match home(folder)? {
        Home::Here => Ok(false),
        Home::Elsewhere => Ok(true),
        Home::Unsaid => {
            let garbage = state.garbage.iter();
            let aside =
                garbage.filter_map(|(name, garbage)| Some((name, &garbage.original.as_ref()?.identity)));
            let live = state.tables.values().flat_map(|table| table.files.values());
            let live = live.map(|file| (&file.path, &file.identity));
            let named = aside.chain(live).filter(|(path, _)| path.place == Place::Root);
            Ok(are_copies(folder, named)?)
        }
    }
}

/// Writes down where this root is, if nobody has. Where there is no room, or no permission, that waits for the next opening: on a
/// full disk somebody must be able to make room.
pub(super) fn settle_in(root: &Depot, replica: &Replica) -> Result<()> {
    let state = replica.state();
    check_versions(root, &state)?;
    let Some((folder, journal)) = root.as_folder().zip(state.journal) else {
        return Ok(());
    };
    match home::settle_in(folder, journal) {
        Err(error) if error.is_full() || error.is_forbidden() => {
            tracing::debug!("not written down where this root is: {error}");
            Ok(())
        }
        result => Ok(result?),
    }
}
