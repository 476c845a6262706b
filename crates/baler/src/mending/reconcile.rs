//! What the data says of jobs whose end is lost. Of each either the inputs or the outputs count, never both. Where it is not
//! certain which, all files concerned are held: nothing merges them, nothing deletes them, and they are named.
//!
//! In a plain table inputs are set aside or deleted only once all outputs are published. So if all inputs are gone, the outputs
//! are whole and count; if all are there, the inputs count and the outputs are a second copy. Anything else is uncertain, and with
//! it every older file of the folder, because any of them may have been an input.

use std::collections::{BTreeMap, BTreeSet};

use baler_core::file::{FilePath, Identity, Place};
use baler_core::ids::{Partition, TableName};
use baler_core::job::JobStatus;
use baler_core::names::folder_partition;
use baler_core::state::{State, Table};
use baler_core::table::Catalog;

use super::evidence::{Evidence, LostJob, Plan};
use crate::depot::{DataFile, Namer};

/// Jobs named in a reason, of however many.
const NUMBERS_MAX: usize = 10;

/// What to do with files that the believed state does not explain.
#[derive(Debug, Default)]
pub(super) struct Verdict {
    /// Outputs that hold the only copy of their rows, for certain.
    pub(super) adopted: Vec<Ruling>,
    /// Second copies of rows, for certain: never merged.
    pub(super) second: Vec<Ruling>,
    /// Files that may hold the same rows as others: held.
    pub(super) uncertain: Vec<Ruling>,
    /// Live files that no longer are: replaced, or gone.
    pub(super) ended: BTreeSet<(TableName, FilePath)>,
    /// Files of a source whose rows are in outputs.
    pub(super) consumed: Vec<(TableName, FilePath, Identity)>,
}

/// A file, and what is to be said of it.
#[derive(Clone, Debug)]
pub(super) struct Ruling {
    pub(super) table: TableName,
    pub(super) partition: Partition,
    pub(super) path: FilePath,
    pub(super) identity: Identity,
    pub(super) reason: String,
}

impl Ruling {
    pub(super) fn on(file: &DataFile, table: &TableName, partition: &Partition, reason: &str) -> Self {
        Self {
            table: table.clone(),
            partition: partition.clone(),
            path: file.path.clone(),
            identity: file.identity.clone(),
            reason: reason.to_owned(),
        }
    }
}

/// How a lost job ended, as far as can be told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fate {
    /// The outputs count.
    Committed,
    /// The inputs count.
    NotCommitted,
    Unknown,
}

/// The data that a verdict is about.
pub(super) struct Scene<'a> {
    state: &'a State,
    evidence: &'a Evidence,
    /// Below the root, and below the source of `--output` if there is one.
    data: BTreeMap<&'a FilePath, &'a DataFile>,
}

pub(super) fn reconcile(state: &State, evidence: &Evidence, data: &[DataFile]) -> Verdict {
    let scene = Scene {
        state,
        evidence,
        data: data.iter().map(|file| (&file.path, file)).collect(),
    };
    let mut verdict = Verdict::default();
    let lost = evidence.lost_jobs(state, data);
    let (plain, others): (Vec<_>, Vec<_>) = lost.into_iter().partition(|job| scene.is_plain(job));
    let mut folders: BTreeMap<Partition, Vec<LostJob<'_>>> = BTreeMap::new();
    for job in plain {
        // All outputs of a job lie in its folder.
        let folder = job.outputs.first().map(|file| folder_partition(&file.path));
        let folder = folder.unwrap_or_else(|| Partition::from(""));
        folders.entry(folder).or_default().push(job);
    }
    for (folder, jobs) in folders {
        scene.judge_folder(&folder, &jobs, &mut verdict);
    }
    for job in others {
        scene.judge_native(&job, &mut verdict);
    }
    scene.judge_replaced(&mut verdict);
    scene.find_gone(&mut verdict);
    verdict
}

impl Scene<'_> {
    fn plain_table(&self) -> Option<(&TableName, &Table)> {
        let mut tables = self.state.tables.iter();
        tables.find(|(_, table)| table.spec.catalog.publishes())
    }

    fn is_plain(&self, job: &LostJob<'_>) -> bool {
        let planned = job.plan.as_ref();
        match planned.and_then(|plan| self.state.tables.get(&plan.table)) {
            Some(table) => table.spec.catalog.publishes(),
            None => self.plain_table().is_some(),
        }
    }

    fn fate(&self, job: &LostJob<'_>) -> Fate {
        let Some(plan) = &job.plan else {
            return Fate::Unknown;
        };
        if job.committed {
            return Fate::Committed;
        }
        let mut there = plan.inputs.iter().map(|input| self.is_there(input));
        match there.next() {
            Some(Some(true)) if there.all(|there| there == Some(true)) => Fate::NotCommitted,
            Some(Some(false)) if there.all(|there| there == Some(false)) => Fate::Committed,
            _ => Fate::Unknown,
        }
    }

    /// Whether the version that was planned is there; `None` if something else is, or nobody knows.
    fn is_there(&self, input: &FilePath) -> Option<bool> {
        let Some(found) = self.data.get(input) else {
            return Some(false);
        };
        let named = found.namer != Namer::Other && input.place == Place::Root;
        let same = self.evidence.versions.get(input) == Some(&found.identity);
        (named || same).then_some(true)
    }

    fn judge_folder(&self, folder: &Partition, jobs: &[LostJob<'_>], verdict: &mut Verdict) {
        let Some((name, _)) = self.plain_table() else {
            return;
        };
        let fates: Vec<Fate> = jobs.iter().map(|job| self.fate(job)).collect();
        if fates.contains(&Fate::Unknown) {
            return self.hold_folder(folder, jobs, verdict);
        }
        for (job, fate) in jobs.iter().zip(fates) {
            let outputs = job.outputs.iter();
            if fate == Fate::NotCommitted {
                let why = unfinished(job);
                verdict
                    .second
                    .extend(outputs.map(|file| Ruling::on(file, name, folder, &why)));
                continue;
            }
            let why = format!("job {} was committed", job.job);
            verdict
                .adopted
                .extend(outputs.map(|file| Ruling::on(file, name, folder, &why)));
        }
    }

    /// What a committed job has replaced and nobody has taken away yet, also where others have replaced its outputs since.
    fn judge_replaced(&self, verdict: &mut Verdict) {
        for (job, plan) in self.evidence.committed() {
            let Some(table) = self.state.tables.get(&plan.table) else {
                continue;
            };
            let left = plan
                .inputs
                .iter()
                .filter(|input| self.is_there(input) == Some(true));
            for file in left.filter_map(|input| self.data.get(input)) {
                let path = &file.path;
                match &table.spec.catalog {
                    Catalog::InPlace => {
                        let why = format!("its rows are in the outputs of job {job}");
                        verdict
                            .second
                            .push(Ruling::on(file, &plan.table, &plan.partition, &why));
                    }
                    Catalog::Output { .. } => {
                        let identity = file.identity.clone();
                        verdict
                            .consumed
                            .push((plan.table.clone(), path.clone(), identity));
                    }
                    Catalog::Native | Catalog::External => {
                        if table.files.contains_key(path) {
                            verdict.ended.insert((plan.table.clone(), path.clone()));
                        }
                    }
                }
            }
        }
        let second: BTreeSet<&FilePath> = verdict.second.iter().map(|ruling| &ruling.path).collect();
        verdict.adopted.retain(|ruling| !second.contains(&ruling.path));
    }

    /// Nobody knows which files of this folder hold rows that others hold too.
    fn hold_folder(&self, folder: &Partition, jobs: &[LostJob<'_>], verdict: &mut Verdict) {
        let Some((name, table)) = self.plain_table() else {
            return;
        };
        let suspects = self.suspects(folder, table, jobs);
        let outputs = jobs
            .iter()
            .flat_map(|job| job.outputs.iter().map(move |file| (job, file)));
        if jobs.len() == 1 && suspects.is_empty() {
            // Nothing else can hold these rows.
            let all =
                outputs.map(|(_, file)| Ruling::on(file, name, folder, "nothing else can hold its rows"));
            verdict.adopted.extend(all);
            return;
        }
        verdict
            .uncertain
            .extend(outputs.map(|(job, file)| Ruling::on(file, name, folder, &of_unknown_end(job))));
        let numbers = jobs.iter().take(NUMBERS_MAX).map(|job| job.job.to_string());
        let numbers: Vec<String> = numbers.collect();
        let why = format!(
            "its rows may also be in the outputs of job {}, whose end is not known",
            numbers.join(", ")
        );
        let suspects = suspects.into_iter();
        verdict
            .uncertain
            .extend(suspects.map(|file| Ruling::on(file, name, folder, &why)));
    }

    /// Files that may have been an input of a lost job: those that the state knew, and those that are not younger than the
    /// youngest output.
    fn suspects(&self, folder: &Partition, table: &Table, jobs: &[LostJob<'_>]) -> Vec<&DataFile> {
        let outputs = || jobs.iter().flat_map(|job| &job.outputs);
        let own: BTreeSet<&FilePath> = outputs().map(|file| &file.path).collect();
        let youngest = outputs()
            .map(|file| file.identity.modified)
            .max()
            .unwrap_or_default();
        let beside = self
            .data
            .values()
            .filter(|file| file.path.folder() == folder.as_str() && !own.contains(&file.path));
        let suspect = beside.filter(|file| {
            let (path, identity) = (&file.path, &file.identity);
            let live = table
                .files
                .get(path)
                .is_some_and(|live| live.identity == *identity);
            let judged = table.is_consumed(path, identity) || table.is_quarantined(path, identity);
            !judged && (live || identity.modified <= youngest)
        });
        suspect.copied().collect()
    }

    /// What readers see of a native table is what the journal says: outputs that nobody can place are only named.
    fn judge_native(&self, job: &LostJob<'_>, verdict: &mut Verdict) {
        let planned = job.plan.as_ref();
        let planned = planned.filter(|plan| self.state.tables.contains_key(&plan.table));
        let unplaced = Plan {
            table: TableName::from(""),
            partition: Partition::from(""),
            inputs: Vec::new(),
        };
        let Plan {
            table,
            partition,
            inputs,
        } = planned.unwrap_or(&unplaced);
        let fate = match planned {
            Some(_) => self.fate(job),
            None => Fate::Unknown,
        };
        let (to, why) = match fate {
            Fate::Committed => {
                let live = &self.state.tables[table].files;
                let replaced = inputs.iter().filter(|input| live.contains_key(*input));
                verdict
                    .ended
                    .extend(replaced.map(|input| (table.clone(), input.clone())));
                (&mut verdict.adopted, format!("job {} was committed", job.job))
            }
            Fate::NotCommitted => (&mut verdict.second, unfinished(job)),
            Fate::Unknown => (&mut verdict.uncertain, of_unknown_end(job)),
        };
        let outputs = job.outputs.iter();
        to.extend(outputs.map(|file| Ruling::on(file, table, partition, &why)));
    }

    /// Live files that the listing does not show. In a plain table they were replaced, or somebody took them away; in a native
    /// one readers are told of them, so that they are named. What a job still publishes is not there yet.
    fn find_gone(&self, verdict: &mut Verdict) {
        for (name, table) in &self.state.tables {
            for file in table.files.values() {
                let (path, holder) = (&file.path, table.held.get(&file.path));
                let job = holder.and_then(|job| self.state.jobs.get(job));
                let unpublished = job.is_some_and(|job| job.status != JobStatus::Open);
                let ended = (name.clone(), path.clone());
                if unpublished || self.data.contains_key(path) || verdict.ended.contains(&ended) {
                    continue;
                }
                if table.spec.catalog.publishes() {
                    verdict.ended.insert(ended);
                    continue;
                }
                verdict.uncertain.push(Ruling {
                    table: name.clone(),
                    partition: file.partition.clone(),
                    path: path.clone(),
                    identity: file.identity.clone(),
                    reason: "live, but not there any more: its rows are in an output that nobody can place, or lost".to_owned(),
                });
            }
        }
    }
}

fn of_unknown_end(job: &LostJob<'_>) -> String {
    format!(
        "an output of job {}, whose end is not known: other files may hold its rows too",
        job.job
    )
}

fn unfinished(job: &LostJob<'_>) -> String {
    format!(
        "an output of job {}, which was not finished: all that it was to replace is there",
        job.job
    )
}
