//! The end of an attempt. A result counts only under the present token, only if it is proved, and only if every input
//! is still what it was when the job was planned.

use std::sync::Arc;

use super::files::{bounded, bounded_reason, cut};
use super::{Answer, Draft, proof};
use crate::apply::summary;
use crate::event::{Event, Quarantined, ReleaseReason};
use crate::file::{File, FilePath, Identity, Origin};
use crate::ids::{JobId, RangeId, Token};
use crate::job::{CancelReason, Finished, Job, JobStatus, JobSummary};
use crate::lease::{HostLock, Lease};
use crate::limits::{INPUT_FAULTS_MAX, OPEN_JOBS_AND_HALVES_MAX};
use crate::names::Attempt;
use crate::request::{Finish, Grant, Refusal, Reply};
use crate::stretch;
use crate::table::Catalog;

/// Why an output of Baler's own is left alone.
const NOT_AS_WRITTEN: &str = "it is gone, or not as Baler wrote it: somebody wrote over it, or the folder was copied; move it to a \
                              name of your own to have it taken as it is";

impl Draft {
    pub(super) fn finish(&mut self, finish: &Finish) -> Answer {
        let attempt = Attempt {
            job: finish.job,
            range: finish.range,
            token: finish.finished.token,
        };
        if let Some(reply) = self.was_finished_by(&attempt) {
            return Ok(reply);
        }
        let job = self.leased(&attempt)?;
        if attempt.range == RangeId::Publish {
            return Err(no_such_lease(&attempt));
        }
        let catalog = self.table(&job.table)?.spec.catalog.clone();
        let others = job
            .ranges()
            .filter(|(range, _)| ![attempt.range, RangeId::Publish].contains(range));
        let is_last = others
            .map(|(_, range)| range)
            .all(|range| range.finished().is_some());
        let needed = catalog.publishes() && is_last;
        let inputs_now = inputs_now(&job, finish.inputs_now.as_deref(), needed)?;
        let journal = self
            .state
            .journal
            .expect("a journal has begun before anything is leased");
        if let Err(error) = proof::check_range(&job, &catalog, &attempt, journal, &finish.finished) {
            return self.refuse_unproved(&attempt, &job, error);
        }
        let changed = changed_inputs(&job, inputs_now);
        if !changed.is_empty() && !crate::planted!(NoSourceCheck) {
            return self.cancel_changed(&job, &changed);
        }
        let host = self.host_of(&job, &attempt);
        self.emit(Event::RangeFinished {
            job: job.id,
            range: finish.range,
            finished: bounded_figures(&finish.finished),
        });
        let merged = self.state.jobs[&job.id].clone();
        let whole = merged.ranges.iter().all(|range| range.finished().is_some());
        if !whole && !crate::planted!(PublishedBeforeCommitted) {
            return Ok(Reply::Finished {
                publish: None,
                committed: None,
            });
        }
        if let Err(error) = proof::check_job(&merged)
            && whole
        {
            return self.abandon_unproved(&merged, error);
        }
        Ok(self.complete(&job, &attempt, &catalog, host))
    }

    /// All ranges are finished and proved. Where the journal is the catalog that is the commit.
    fn complete(&mut self, job: &Job, attempt: &Attempt, catalog: &Catalog, host: Option<HostLock>) -> Reply {
        let (mut publish, mut committed) = (None, None);
        match catalog {
            Catalog::Native => {
                self.emit(Event::JobCommitted { job: job.id });
                committed = self.committed(job.id).cloned();
            }
            Catalog::External => self.emit(Event::JobCompacted { job: job.id }),
            Catalog::InPlace | Catalog::Output { .. } => {
                self.emit(Event::JobCompacted { job: job.id });
                publish = Some(self.lease_publishing(job, attempt, host));
            }
        }
        Reply::Finished { publish, committed }
    }

    /// Whoever finished the last range publishes, without asking again.
    fn lease_publishing(&mut self, job: &Job, attempt: &Attempt, host: Option<HostLock>) -> Grant {
        let lease = lease_of(job, attempt);
        let token = self.state.next_token();
        self.emit(Event::RangeLeased {
            job: job.id,
            range: RangeId::Publish,
            worker: lease.worker.clone(),
            watcher: lease.watcher,
            embedded: lease.embedded,
            host,
            tenant: self.state.tenant_of(job),
            isolates: lease.isolates,
        });
        Grant {
            job: self.state.jobs[&job.id].clone(),
            range: RangeId::Publish,
            token,
            memory_bytes: 0,
        }
    }

    pub(super) fn publish(&mut self, job: JobId, token: Token, identities: &[Option<Identity>]) -> Answer {
        let attempt = Attempt {
            job,
            range: RangeId::Publish,
            token,
        };
        if let Some(committed) = self.committed(job) {
            return Ok(Reply::Committed(committed.clone()));
        }
        let leased = self.leased(&attempt)?;
        if self.state.has_external_catalog(&leased.table) {
            return Err(Refusal::NothingToPublish(job));
        }
        if identities.len() != leased.outputs().count() {
            return Err(Refusal::NotProved(
                "not every output was accounted for".to_owned(),
            ));
        }
        let lost: Vec<FilePath> = leased
            .outputs()
            .zip(identities)
            .filter(|(output, now)| now.as_ref().is_none_or(|now| now.bytes != output.bytes))
            .map(|(output, _)| output.path.clone())
            .collect();
        if !lost.is_empty() {
            return Ok(self.cancel_job(&leased, CancelReason::OutputsLost(lost)));
        }
        let identities: Vec<Identity> = identities.iter().flatten().cloned().collect();
        self.emit(Event::JobPublished {
            job,
            token,
            identities,
        });
        self.emit(Event::JobCommitted { job });
        Ok(Reply::Committed(summary(
            &leased,
            JobStatus::Committed,
            None,
            self.state.sequence,
        )))
    }

    pub(super) fn release(
        &mut self,
        attempt: &Attempt,
        why: &ReleaseReason,
        culprits: &[Quarantined],
    ) -> Answer {
        let job = self.leased(attempt)?;
        let blamed = |input: &File| culprits.iter().find(|culprit| is_of(culprit, input));
        let culprits: Vec<Quarantined> = job
            .inputs
            .iter()
            .filter_map(|input| blamed(input))
            .cloned()
            .map(bounded)
            .collect();
        self.emit(Event::RangeReleased {
            attempt: *attempt,
            why: bounded_reason(why),
        });
        match why {
            // Whatever hinders its publishing, a compacted job is beyond blaming its inputs.
            _ if job.status != JobStatus::Open => Ok(Reply::Done),
            ReleaseReason::InputsChanged if !culprits.is_empty() => {
                let changed: Vec<FilePath> = culprits.into_iter().map(|culprit| culprit.path).collect();
                self.cancel_changed(&job, &changed)
            }
            ReleaseReason::InputFault(_) if !culprits.is_empty() => self.cancel_quarantined(job.id, culprits),
            ReleaseReason::InputFault(error) | ReleaseReason::ChildDied(error) => {
                self.judge_faults(job.id, error)
            }
            _ => Ok(Reply::Done),
        }
    }

    pub(super) fn cancel(&mut self, job: JobId) -> Answer {
        match self.state.jobs.get(&job).map(|job| job.status) {
            None => Err(Refusal::NoSuchJob(job)),
            Some(JobStatus::Open) => {
                let job = self.state.jobs[&job].clone();
                self.cancel_job(&job, CancelReason::Operator);
                self.put_off(
                    &job,
                    None,
                    "its job was cancelled by an operator: retry lets it be planned again",
                );
                Ok(Reply::Done)
            }
            Some(_) => Err(Refusal::TooLate(job)),
        }
    }

    /// A message that came twice is no reason to call a finished range lost, or a committed job failed.
    fn was_finished_by(&self, attempt: &Attempt) -> Option<Reply> {
        let job = self.state.jobs.get(&attempt.job);
        let finished = job
            .and_then(|job| job.range(attempt.range))
            .and_then(|range| range.finished());
        let committed = self
            .committed(attempt.job)
            .filter(|summary| summary.finished_by.contains(&attempt.token));
        let finished = finished.is_some_and(|finished| finished.token == attempt.token);
        (finished || committed.is_some()).then(|| Reply::Finished {
            publish: None,
            committed: committed.cloned(),
        })
    }

    /// A job that was committed lately.
    pub(super) fn committed(&self, job: JobId) -> Option<&JobSummary> {
        let mut recent = self.state.recent.iter().map(AsRef::as_ref);
        recent.find(|summary: &&JobSummary| summary.id == job && summary.status == JobStatus::Committed)
    }

    pub(super) fn leased(&self, attempt: &Attempt) -> Result<Arc<Job>, Refusal> {
        let held = self.state.lease_held(attempt).cloned();
        held.ok_or_else(|| no_such_lease(attempt))
    }

    fn host_of(&self, job: &Job, attempt: &Attempt) -> Option<HostLock> {
        let watcher = self.state.watchers.get(&lease_of(job, attempt).watcher);
        watcher.and_then(|watcher| watcher.host.clone())
    }

    /// The outputs of finished ranges belong to the job: when it ends without a commit they are garbage, whether or
    /// not they reached their final names.
    pub(super) fn cancel_job(&mut self, job: &Job, why: CancelReason) -> Reply {
        self.emit(Event::JobCancelled { job: job.id, why });
        let outputs: Vec<FilePath> = job.outputs().map(|output| output.path.clone()).collect();
        self.emit_due(&job.table, &outputs);
        Reply::JobCancelled(job.id)
    }

    fn refuse_unproved(&mut self, attempt: &Attempt, job: &Job, error: String) -> Answer {
        let why = ReleaseReason::InputFault(error.as_str().into());
        self.emit(Event::RangeReleased {
            attempt: *attempt,
            why: bounded_reason(&why),
        });
        self.judge_faults(job.id, &error.as_str().into())?;
        Ok(Reply::Refused(Refusal::NotProved(error)))
    }

    /// All ranges are finished, yet together they do not add up: none of them can be trusted.
    fn abandon_unproved(&mut self, job: &Job, error: String) -> Answer {
        self.cancel_job(job, CancelReason::Bisected);
        self.split_or_quarantine(job, &error.as_str().into());
        Ok(Reply::Refused(Refusal::NotProved(error)))
    }

    /// What others wrote is let go: its new version is offered by whoever finds it. Names that Baler gave are offered by nobody, and
    /// what no table shows under such a name looks like a late write, so that one that is changed stays, and is named.
    fn cancel_changed(&mut self, job: &Job, changed: &[FilePath]) -> Answer {
        let reply = self.cancel_job(job, CancelReason::InputsChanged(changed.to_vec()));
        let inputs = job.inputs.iter().filter(|input| changed.contains(&input.path));
        let (others, ours): (Vec<&Arc<File>>, Vec<_>) =
            inputs.partition(|input| input.origin == Origin::Foreign);
        self.emit_lost(
            &job.table,
            others.iter().map(|input| input.path.clone()).collect(),
        );
        let files: Vec<Quarantined> = ours
            .iter()
            .map(|file| blame(file, &NOT_AS_WRITTEN.into()))
            .collect();
        if !files.is_empty() {
            self.emit(Event::FilesQuarantined {
                table: job.table.clone(),
                files,
            });
        }
        Ok(reply)
    }

    fn cancel_quarantined(&mut self, id: JobId, culprits: Vec<Quarantined>) -> Answer {
        let job = self.state.jobs[&id].clone();
        let paths = culprits.iter().map(|culprit| culprit.path.clone()).collect();
        let reply = self.cancel_job(&job, CancelReason::InputQuarantined(paths));
        self.emit(Event::FilesQuarantined {
            table: job.table.clone(),
            files: culprits,
        });
        Ok(reply)
    }

    /// Nobody knows which input is to blame: after a few tries, look for it by halving.
    fn judge_faults(&mut self, id: JobId, error: &Arc<str>) -> Answer {
        let job = self.state.jobs[&id].clone();
        let no_room = job.inputs.len() > 1 && !self.has_room_for_halves();
        if job.input_faults < INPUT_FAULTS_MAX || no_room {
            return Ok(Reply::Done);
        }
        if let [only] = &job.inputs[..] {
            return self.cancel_quarantined(id, vec![blame(only, error)]);
        }
        let reply = self.cancel_job(&job, CancelReason::Bisected);
        self.split_or_quarantine(&job, error);
        Ok(reply)
    }

    fn split_or_quarantine(&mut self, job: &Job, error: &Arc<str>) {
        match &job.inputs[..] {
            [only] => {
                let files = vec![blame(only, error)];
                self.emit(Event::FilesQuarantined {
                    table: job.table.clone(),
                    files,
                });
            }
            _ if self.has_room_for_halves() => self.plan_halves(job.id, job),
            _ => {}
        }
    }

    /// Without room a failing job stays open and is tried again; one that cannot stay leaves its files to the planner.
    fn has_room_for_halves(&self) -> bool {
        self.state.jobs.len() + 2 <= OPEN_JOBS_AND_HALVES_MAX
    }
}

/// All this stays in the state, so keys are rounded to a bound, and many stretches become few.
fn bounded_figures(finished: &Finished) -> Finished {
    let mut finished = finished.clone();
    finished.stretches = stretch::bounded(finished.stretches);
    for stretch in &mut finished.stretches {
        stretch.why = cut(&stretch.why);
    }
    for output in &mut finished.outputs {
        output.keys = output.keys.take().and_then(|keys| keys.bounded());
    }
    finished
}

fn blame(file: &File, error: &Arc<str>) -> Quarantined {
    bounded(Quarantined {
        path: file.path.clone(),
        identity: file.identity.clone(),
        reason: error.clone(),
    })
}

fn is_of(culprit: &Quarantined, input: &File) -> bool {
    input.path == culprit.path && input.identity == culprit.identity
}

fn no_such_lease(attempt: &Attempt) -> Refusal {
    Refusal::NoSuchLease {
        job: attempt.job,
        range: attempt.range,
    }
}

fn lease_of<'a>(job: &'a Job, attempt: &Attempt) -> &'a Lease {
    let range = job.range(attempt.range);
    range
        .and_then(|range| range.lease())
        .expect("it was leased until now")
}

/// What a HEAD of each input says. Without it nothing replaces a file of a plain table: others write there. One after the
/// last range says it for all.
fn inputs_now<'a>(
    job: &Job,
    now: Option<&'a [Option<Identity>]>,
    needed: bool,
) -> Result<&'a [Option<Identity>], Refusal> {
    match now {
        Some(now) if now.len() == job.inputs.len() => Ok(now),
        None if !needed => Ok(&[]),
        _ => Err(Refusal::InputsUnseen(job.id)),
    }
}

/// Inputs that a HEAD, begun after the merge, found gone or overwritten.
fn changed_inputs(job: &Job, now: &[Option<Identity>]) -> Vec<FilePath> {
    job.inputs
        .iter()
        .zip(now)
        .filter(|(input, now)| now.as_ref() != Some(&input.identity))
        .map(|(input, _)| input.path.clone())
        .collect()
}
