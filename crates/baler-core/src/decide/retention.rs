//! Retention by row time: a file goes when its newest row is past the limit. Newer rows never go with older ones, so a file
//! that overlaps the limit stays whole, and so does a file whose rows' times are not known.
//!
//! Only native tables have it. A plain folder belongs to those who write and list it: Baler may replace a file there by
//! one that holds the same rows, but which rows the folder holds is theirs to say.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::{Answer, Draft};
use crate::event::Event;
use crate::file::{File, FilePath};
use crate::ids::{JobId, TableName};
use crate::job::CancelReason;
use crate::limits::{EXPIRED_PER_REQUEST_MAX, FILES_PER_EVENT_MAX};
use crate::request::{Expired, Refusal, Reply};

impl Draft {
    /// A job that holds such a file ends with it: its outputs would bring the dropped rows back.
    pub(super) fn apply_retention(&mut self, name: &TableName) -> Answer {
        let table = self.table(name)?;
        let retention = table.spec.retention.filter(|_| !table.spec.catalog.publishes());
        let length = retention.ok_or_else(|| Refusal::NoRetention(name.clone()))?;
        let before = self.state.time.rows_aged(length);
        let past = |file: &&Arc<File>| file.times.is_some_and(|times| times.max < before);
        let mut old: Vec<Arc<File>> = table.files.values().filter(past).cloned().collect();
        let more = old.len() > EXPIRED_PER_REQUEST_MAX;
        old.truncate(EXPIRED_PER_REQUEST_MAX);

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
