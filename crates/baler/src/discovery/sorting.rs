//! What a listed file is to us, before anything of it is read.

use baler_core::file::{FilePath, Place};
use baler_core::ids::TableName;
use baler_core::state::{State, Table};
use baler_core::time::StoreTime;

use super::{Knowledge, Look};
use crate::depot::{DataFile, Namer};
use crate::report::NamedReason;

/// What a listed file is to us.
pub(super) enum Sorted {
    /// To be looked at.
    Fresh(DataFile),
    /// The state knows this very version.
    Known(DataFile),
    /// In a folder that was not asked for.
    Outside(DataFile),
    /// Written too lately.
    Young(DataFile),
    /// Of this journal's own form, but none that it knows; perhaps it will, once the listing has ended.
    Unknown(DataFile),
    /// Of another journal's form.
    Foreign(DataFile),
    /// No data.
    Skipped(NamedReason),
}

pub(super) fn sort_out(knowledge: &dyn Knowledge, look: &Look, now: StoreTime, file: DataFile) -> Sorted {
    let state = knowledge.state();
    if is_known(&state.tables[&look.table], &file) {
        return Sorted::Known(file);
    }
    let in_source = file.path.place == Place::Source;
    match file.namer {
        Namer::ThisJournal(_) if !in_source => return Sorted::Unknown(file),
        Namer::AnotherJournal(_) if !in_source && !look.adopt_foreign => return Sorted::Foreign(file),
        _ => {}
    }
    let settle_ms = u64::try_from(look.settle.as_millis()).unwrap_or(u64::MAX);
    // A time stamp from far in the future is a wrong clock, not a young file: it must not wait for ever.
    let age_ms = now.unix_ms.abs_diff(file.identity.modified.unix_ms);
    match age_ms < settle_ms {
        true => Sorted::Young(file),
        false => Sorted::Fresh(file),
    }
}

/// Whether the state knows this very version: then its footer need not be read again.
pub(super) fn is_known(table: &Table, file: &DataFile) -> bool {
    table
        .files
        .get(&file.path)
        .is_some_and(|known| known.identity == file.identity)
        || table.consumed.get(&file.path) == Some(&file.identity)
        || table.is_quarantined(&file.path, &file.identity)
        || table.held.contains_key(&file.path)
}

/// Whether nothing in the state has to do with a name of this journal's own form.
pub(super) fn is_unknown_output(state: &State, table: &TableName, path: &FilePath) -> bool {
    let table = &state.tables[table];
    let in_table = table.files.contains_key(path)
        || table.held.contains_key(path)
        || table.removed.contains_key(path)
        || table.quarantine.contains_key(path);
    let replaced = state.garbage.iter().any(|(name, garbage)| {
        let original = garbage.original.as_ref().map(|original| &original.path);
        name == path || original == Some(path)
    });
    let being_made = || {
        let finished = state.jobs.values().flat_map(|job| job.finished());
        let mut outputs = finished.flat_map(|(_, finished)| &finished.outputs);
        outputs.any(|output| output.path == *path)
    };
    !in_table && !replaced && !being_made()
}
