//! Retention by row time: a file goes when its newest row is past the limit. Newer rows never go with older ones, so a file
//! that overlaps the limit stays whole, and so does a file whose rows' times are not known.
//!
//! Under a keyed rule a row may hide older rows of its key. A file goes only if every row that stays in its partition is
//! newer than all of its own, so that nothing it hid comes to light; and, as in `drops`, not before the declared lateness,
//! so that nothing comes later that it would have hidden. What goes from a partition goes in one entry.
//!
//! Only native tables have it. A plain folder belongs to those who write and list it: Baler may replace a file there by
//! one that holds the same rows, but which rows the folder holds is theirs to say.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::{Answer, Draft, drops};
use crate::event::Event;
use crate::file::{File, FilePath};
use crate::ids::{JobId, Partition, TableName};
use crate::job::CancelReason;
use crate::limits::{EXPIRED_PER_REQUEST_MAX, FILES_PER_EVENT_MAX};
use crate::request::{Expired, Refusal, Reply};
use crate::state::Table;
use crate::time::RowTime;

impl Draft {
    /// A job that holds such a file ends with it: its outputs would bring the dropped rows back.
    pub(super) fn apply_retention(&mut self, name: &TableName) -> Answer {
        let table = self.table(name)?;
        let retention = table.spec.retention.filter(|_| !table.spec.catalog.publishes());
        let length = retention.ok_or_else(|| Refusal::NoRetention(name.clone()))?;
        let lateness = table.spec.merge.lateness.unwrap_or_default();
        let before = match table.spec.merge.is_keyed() {
            true => self.state.time.rows_aged(length.max(lateness)),
            false => self.state.time.rows_aged(length),
        };
        let (old, more) = past(table, before);
        let mut held: BTreeMap<JobId, Vec<FilePath>> = BTreeMap::new();
        for file in &old {
            if let Some(job) = table.held.get(&file.path) {
                held.entry(*job).or_default().push(file.path.clone());
            }
        }
        for (job, paths) in held {
            let job = self.state.jobs[&job].clone();
            self.cancel_job(&job, CancelReason::InputsExpired(paths));
        }
        for files in old.chunks(FILES_PER_EVENT_MAX) {
            self.emit(Event::FilesExpired {
                table: name.clone(),
                paths: files.iter().map(|file| file.path.clone()).collect(),
                before,
            });
        }
        Ok(Reply::Expired(Expired {
            files: old.len() as u64,
            rows: old.iter().map(|file| file.rows).sum(),
            bytes: old.iter().map(|file| file.bytes()).sum(),
            more,
        }))
    }
}

/// The files that go, and whether there are more than one request drops.
fn past(table: &Table, before: RowTime) -> (Vec<Arc<File>>, bool) {
    let keyed = table.spec.merge.is_keyed();
    let mut old: Vec<Arc<File>> = Vec::new();
    for partition in table.partitions.keys() {
        if old.len() >= EXPIRED_PER_REQUEST_MAX {
            return (old, true);
        }
        // Rows of one key may lie in any shard of a family, so a family goes as one.
        let kin = table.kin_of(partition);
        if kin.first() != Some(&partition) {
            continue;
        }
        let (past, staying): (Vec<_>, Vec<_>) = kin
            .into_iter()
            .flat_map(|partition| table.partition_files(partition))
            .partition(|file| newest(file) < before);
        match keyed {
            true => old.extend(hiding_nothing(table, partition, past, &staying)),
            false => old.extend(past.into_iter().cloned()),
        }
    }
    let more = !keyed && old.len() > EXPIRED_PER_REQUEST_MAX;
    if more {
        old.truncate(EXPIRED_PER_REQUEST_MAX);
    }
    (old, more)
}

/// Of the files that are past the limit, those whose rows are all older than every row that stays. One that stays for its
/// neighbours' sake may keep others.
fn hiding_nothing(
    table: &Table,
    partition: &Partition,
    mut past: Vec<&Arc<File>>,
    staying: &[&Arc<File>],
) -> Vec<Arc<File>> {
    if drops::may_hold_unread(table, partition) {
        return Vec::new();
    }
    let mut oldest_staying = staying.iter().map(|file| oldest(file)).min();
    past.sort_by_key(|file| newest(file));
    while let (Some(last), Some(stays_from)) = (past.last(), oldest_staying) {
        if newest(last) < stays_from {
            break;
        }
        oldest_staying = Some(stays_from.min(oldest(last)));
        past.pop();
    }
    past.into_iter().cloned().collect()
}

/// A file of unknown times may hold rows of any time.
fn newest(file: &File) -> RowTime {
    let never = RowTime { unix_ms: i64::MAX };
    file.times.map_or(never, |times| times.max)
}

fn oldest(file: &File) -> RowTime {
    let ever = RowTime { unix_ms: i64::MIN };
    file.times.map_or(ever, |times| times.min)
}
