//! Committed jobs are remembered whole until their receipts are written, and the last of them a while longer.

use std::sync::Arc;

use crate::file::File;
use crate::ids::{JobId, TableName};
use crate::job::Job;
use crate::limits::{COMMITTED_FILES_MAX, COMMITTED_JOBS_MAX, RECEIPTS_DUE_MAX};
use crate::receipt::Committed;
use crate::state::State;

impl State {
    pub(super) fn remember_committed(&mut self, job: &Arc<Job>) {
        let table = self.table_mut(&job.table);
        table.has_receipts = true;
        let live = |path| table.files.get(path).cloned();
        let outputs: Vec<Arc<File>> = job.outputs().filter_map(|output| live(&output.path)).collect();
        let committed = Committed {
            job: job.clone(),
            outputs,
            ended: self.sequence,
            receipted: false,
        };
        self.committed.insert(job.id, Arc::new(committed));
        self.trim_committed();
    }

    pub(super) fn receipts_written(&mut self, jobs: &[JobId]) {
        for job in jobs {
            if let Some(committed) = self.committed.get_mut(job) {
                Arc::make_mut(committed).receipted = true;
            }
        }
        self.trim_committed();
    }

    /// Nothing more of the table is kept beside its files.
    pub(super) fn table_receipts_deleted(&mut self, name: &TableName) {
        self.table_mut(name).has_receipts = false;
        self.forget_committed_of(name);
    }

    /// What was done to a dropped table is undone no more, and leaves no receipt.
    pub(super) fn forget_committed_of(&mut self, name: &TableName) {
        let others = self.committed.iter().filter(|(_, kept)| kept.job.table != *name);
        self.committed = others.map(|(job, kept)| (*job, kept.clone())).collect();
    }

    /// The oldest goes first, those whose receipt is still to be written last: beyond its bound one is never written.
    fn trim_committed(&mut self) {
        let mut files: usize = self.committed.values().map(|kept| kept.job.inputs.len()).sum();
        loop {
            let jobs = self.committed.len();
            if jobs <= COMMITTED_JOBS_MAX && files <= COMMITTED_FILES_MAX {
                return;
            }
            let written = self.committed.values().find(|kept| kept.receipted);
            let beyond = jobs > RECEIPTS_DUE_MAX || files > 2 * COMMITTED_FILES_MAX;
            let oldest = || self.committed.values().next().filter(|_| beyond && jobs > 1);
            let Some((job, inputs)) = written
                .or_else(oldest)
                .map(|kept| (kept.job.id, kept.job.inputs.len()))
            else {
                return;
            };
            files -= inputs;
            self.committed.remove(&job);
        }
    }
}
