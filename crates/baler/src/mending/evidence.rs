//! What is known of jobs whose end the believed state does not know: from the state itself, from whole entries that cannot be
//! applied any more, and from the names of outputs.

use std::collections::{BTreeMap, BTreeSet};

use baler_core::event::Event;
use baler_core::file::{FilePath, Identity};
use baler_core::ids::{JobId, JournalId, Partition, TableName};
use baler_core::job::JobStatus;
use baler_core::state::State;
use baler_journal::mending::Recovery;

use crate::depot::{DataFile, Namer};

/// A job whose end is not in the believed state, and that wrote something.
#[derive(Clone, Debug)]
pub(super) struct LostJob<'a> {
    /// Its number, in the journal that granted it.
    pub(super) job: JobId,
    /// What it was to replace, where that is known.
    pub(super) plan: Option<Plan>,
    /// Whether an entry says that it was committed.
    pub(super) committed: bool,
    /// What lies there under its name.
    pub(super) outputs: Vec<&'a DataFile>,
}

/// What a job was planned to replace.
#[derive(Clone, Debug)]
pub(super) struct Plan {
    pub(super) table: TableName,
    pub(super) partition: Partition,
    pub(super) inputs: Vec<FilePath>,
}

/// All that is known beyond the believed state.
#[derive(Debug, Default)]
pub(super) struct Evidence {
    /// Whose jobs these are.
    journal: Option<JournalId>,
    plans: BTreeMap<JobId, Plan>,
    committed: BTreeSet<JobId>,
    /// Versions of files that became live, before the state ends or after.
    pub(super) versions: BTreeMap<FilePath, Identity>,
}

impl Evidence {
    /// Of what this state, which `recovery` led to, does not say itself.
    pub(super) fn of(state: &State, recovery: &Recovery<'_>) -> Self {
        let stranded = recovery.stranded.first().map(|entry| entry.journal);
        let mut evidence = Self {
            journal: state.journal.or(stranded),
            ..Self::default()
        };
        for table in state.tables.values() {
            let files = table.files.values();
            evidence
                .versions
                .extend(files.map(|file| (file.path.clone(), file.identity.clone())));
        }
        for job in state.jobs.values().filter(|job| job.status == JobStatus::Open) {
            let plan = Plan {
                table: job.table.clone(),
                partition: job.partition.clone(),
                inputs: job.inputs.iter().map(|input| input.path.clone()).collect(),
            };
            evidence.plans.insert(job.id, plan);
        }
        for entry in &recovery.stranded {
            for event in &entry.batch.events {
                evidence.take(event);
            }
        }
        evidence
    }

    fn take(&mut self, event: &Event) {
        match event {
            Event::FilesAdded { files, .. } => {
                let files = files.iter();
                self.versions
                    .extend(files.map(|file| (file.path.clone(), file.identity.clone())));
            }
            Event::JobPlanned {
                job,
                table,
                partition,
                inputs,
                ..
            } => {
                let plan = Plan {
                    table: table.clone(),
                    partition: partition.clone(),
                    inputs: inputs.clone(),
                };
                self.plans.insert(*job, plan);
            }
            Event::JobPublished { job, .. } | Event::JobCommitted { job } => {
                self.committed.insert(*job);
            }
            _ => {}
        }
    }

    /// Jobs that an entry says were committed, with what they replaced.
    pub(super) fn committed(&self) -> impl Iterator<Item = (JobId, &Plan)> {
        let plans = self.plans.iter().map(|(job, plan)| (*job, plan));
        plans.filter(|(job, _)| self.committed.contains(job))
    }

    /// The highest number of a job that is known of.
    pub(super) fn last_job(&self) -> Option<JobId> {
        self.plans.keys().next_back().copied()
    }

    /// Jobs that wrote what the believed state does not show, by the names of their outputs.
    pub(super) fn lost_jobs<'a>(&self, state: &State, data: &'a [DataFile]) -> Vec<LostJob<'a>> {
        let mut jobs: BTreeMap<(JournalId, JobId), Vec<&DataFile>> = BTreeMap::new();
        for file in data {
            let Namer::AnotherJournal(name) = file.namer else {
                continue;
            };
            // Files of journals before this one were judged when it began.
            let own = self.journal.is_none_or(|journal| journal == name.journal);
            if own && !is_shown(state, file) {
                jobs.entry((name.journal, name.attempt.job))
                    .or_default()
                    .push(file);
            }
        }
        let lost = jobs.into_iter().map(|((_, job), outputs)| LostJob {
            job,
            plan: self.plans.get(&job).cloned(),
            committed: self.committed.contains(&job),
            outputs,
        });
        lost.collect()
    }
}

/// Whether the state knows what this file is.
fn is_shown(state: &State, file: &DataFile) -> bool {
    let in_table = state.tables.values().any(|table| {
        let path = &file.path;
        table.files.contains_key(path)
            || table.is_consumed(path, &file.identity)
            || table.is_quarantined(path, &file.identity)
    });
    let original = |garbage: &baler_core::garbage::Garbage| {
        let original = garbage.original.as_ref();
        original.is_some_and(|original| original.path == file.path)
    };
    let mut garbage = state.garbage.iter();
    in_table || garbage.any(|(name, garbage)| *name == file.path || original(garbage))
}
