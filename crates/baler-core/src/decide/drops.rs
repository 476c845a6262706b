//! Which rows a job may let go for their age, frozen when it is planned: whoever resumes it drops the same rows.
//!
//! Under a keyed rule a tombstone, or an expired row, hides older rows of its key. It may go only with all of them, so a
//! job drops only if it holds every live file of the partition whose keys meet its own. A file that is busy, quarantined or
//! of unknown keys may hold such a row as well as any other.
//!
//! What comes into the table after the job was planned cannot be hidden by a row that was dropped. Let `now` be the
//! state's time when the job is planned, and `t` the time of a dropped row: `t < now - lateness`. The state's time is never
//! ahead of the store's clock, so a row that comes later comes after `now`, and by the writers' promise its own time is at
//! least `now - lateness`, later than `t`. Versions grow with row time: it is newer than the dropped row, which would not
//! have hidden it.
//!
//! Without a key each row stands for itself, and an expired one may go from any job.

use std::collections::BTreeSet;

use crate::file::{File, FilePath, KeyRange};
use crate::ids::{Partition, TableName};
use crate::job::{AgeCut, DropsBefore};
use crate::names;
use crate::state::{State, Table};

/// What a job with these inputs may drop if it is planned now.
pub(super) fn frozen(
    state: &State,
    name: &TableName,
    partition: &Partition,
    inputs: &[FilePath],
) -> Option<DropsBefore> {
    let table = state.tables.get(name)?;
    let merge = &table.spec.merge;
    if merge.deleted.is_none() && merge.expire.is_none() {
        return None;
    }
    let cut = |column: &std::sync::Arc<str>, age| AgeCut {
        column: column.clone(),
        before: state.time.rows_aged(age),
    };
    if !merge.is_keyed() {
        let expired = merge.expire.as_ref()?;
        return Some(DropsBefore {
            deleted: None,
            expired: Some(cut(&expired.column, expired.after)),
        });
    }
    let (lateness, row_time) = (merge.lateness?, merge.row_time.as_ref()?);
    let expired = merge.expire.as_ref();
    let alone = holds_all(table, partition, inputs) || crate::planted!(TombstoneDroppedEarly);
    alone.then(|| DropsBefore {
        deleted: merge.deleted.as_ref().map(|_| cut(row_time, lateness)),
        expired: expired.map(|expire| cut(&expire.column, expire.after.max(lateness))),
    })
}

/// Whether no other file, where the inputs lie or the outputs will, can hold a key that these inputs hold.
fn holds_all(table: &Table, partition: &Partition, inputs: &[FilePath]) -> bool {
    let inputs: BTreeSet<&FilePath> = inputs.iter().collect();
    let held: Vec<&File> = inputs
        .iter()
        .filter_map(|path| Some(table.files.get(*path)?.as_ref()))
        .collect();
    let span = span(&held);
    let meets = |file: &File| match (&span, known(file)) {
        (Some(span), Some(keys)) => span.min <= keys.max && keys.min <= span.max,
        _ => true,
    };
    let of_inputs = held.iter().map(|file| &file.partition);
    let partitions = of_inputs.chain([partition]).flat_map(|own| table.kin_of(own));
    let partitions: BTreeSet<&Partition> = partitions.collect();
    partitions.into_iter().all(|partition| {
        let mut others = table
            .partition_files(partition)
            .filter(|file| !inputs.contains(&file.path));
        !others.any(|file| meets(file)) && !may_hold_unread(table, partition)
    })
}

/// Whether a quarantined file that never was live may belong to this partition once it can be read.
pub(super) fn may_hold_unread(table: &Table, partition: &Partition) -> bool {
    let folders_are_partitions = table.spec.catalog.publishes();
    let may_be_here =
        |path: &FilePath| !folders_are_partitions || names::folder_partition(path) == *partition;
    let mut marked = table.quarantine.keys();
    marked.any(|path| !table.files.contains_key(path) && may_be_here(path))
}

/// Bounds of all keys in these files; `None` if those of one are not known.
fn span(files: &[&File]) -> Option<KeyRange> {
    let mut span: Option<KeyRange> = None;
    for file in files {
        let keys = known(file)?;
        span = Some(match span {
            None => keys.clone(),
            Some(span) => KeyRange {
                min: span.min.min(keys.min.clone()),
                max: span.max.max(keys.max.clone()),
            },
        });
    }
    span
}

/// Bounds whose ends are swapped say nothing.
fn known(file: &File) -> Option<&KeyRange> {
    file.keys.as_ref().filter(|keys| keys.min <= keys.max)
}
