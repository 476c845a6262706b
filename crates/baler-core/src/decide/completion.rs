//! The end of an attempt. A result counts only under the present token, only if it is proved, and only if every input
//! is still what it was when the job was planned.

use std::sync::Arc;

use super::{Answer, Draft, files::bounded, proof};
use crate::apply::summary;
use crate::event::{Event, Quarantined, ReleaseReason};
use crate::file::{FilePath, Identity};
use crate::ids::{JobId, RangeId, Token};
use crate::job::{CancelReason, Job, JobStatus};
use crate::limits::INPUT_FAULTS_MAX;
use crate::names::Attempt;
use crate::request::{Finish, Grant, Refusal, Reply};

impl Draft {
    pub(super) fn finish(&mut self, finish: &Finish) -> Answer {
        let attempt = Attempt {
            job: finish.job,
            range: finish.range,
            token: finish.finished.token,
        };
        if self.was_finished_by(&attempt) {
            return Ok(Reply::Finished {
                publish: None,
                committed: None,
            });
        }
        let job = self.leased(&attempt)?;
        let journal = self
            .state
            .journal
            .expect("a journal has begun before anything is leased");
        if let Err(error) = proof::check_range(&job, &attempt, journal, &finish.finished) {
            return self.refuse_unproved(&attempt, &job, error);
        }
        let changed = changed_inputs(&job, finish.inputs_now.as_deref());
        if !changed.is_empty() {
            return self.cancel_changed(&job, changed);
        }
        self.emit(Event::RangeFinished {
            job: job.id,
            range: finish.range,
            finished: finish.finished.clone(),
        });
        let merged = self.state.jobs[&job.id].clone();
        if merged.ranges.iter().any(|range| range.finished().is_none()) {
            return Ok(Reply::Finished {
                publish: None,
                committed: None,
            });
        }
        if let Err(error) = proof::check_job(&merged) {
            return self.abandon_unproved(&merged, error);
        }
        if !self.table(&job.table)?.spec.catalog.publishes() {
            self.emit(Event::JobCommitted { job: job.id });
            let committed = self.state.recent.back().map(|summary| summary.as_ref().clone());
            return Ok(Reply::Finished {
                publish: None,
                committed,
            });
        }
        self.emit(Event::JobCompacted { job: job.id });
        Ok(Reply::Finished {
            publish: Some(self.lease_publishing(&job, &attempt)),
            committed: None,
        })
    }

    /// Whoever finished the last range publishes, without asking again.
    fn lease_publishing(&mut self, job: &Job, attempt: &Attempt) -> Grant {
        let lease = job
            .range(attempt.range)
            .and_then(|range| range.lease())
            .expect("it was leased until now");
        let host = self
            .state
            .watchers
            .get(&lease.watcher)
            .and_then(|watcher| watcher.host.clone());
        let token = self.state.next_token();
        self.emit(Event::RangeLeased {
            job: job.id,
            range: RangeId::Publish,
            worker: lease.worker.clone(),
            watcher: lease.watcher,
            embedded: lease.embedded,
            host,
        });
        Grant {
            job: self.state.jobs[&job.id].clone(),
            range: RangeId::Publish,
            token,
        }
    }

    pub(super) fn publish(&mut self, job: JobId, token: Token, identities: &[Option<Identity>]) -> Answer {
        let attempt = Attempt {
            job,
            range: RangeId::Publish,
            token,
        };
        let leased = self.leased(&attempt)?;
        let lost: Vec<FilePath> = leased
            .outputs()
            .zip(identities)
            .filter(|(output, now)| now.as_ref().is_none_or(|now| now.bytes != output.bytes))
            .map(|(output, _)| output.path.clone())
            .collect();
        if !lost.is_empty() {
            self.emit(Event::JobCancelled {
                job,
                why: CancelReason::OutputsLost(lost),
            });
            return Ok(Reply::JobCancelled(job));
        }
        let identities: Vec<Identity> = identities.iter().flatten().cloned().collect();
        if identities.len() != leased.outputs().count() {
            return Err(Refusal::NotProved(
                "not every output was accounted for".to_owned(),
            ));
        }
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
        let culprits: Vec<Quarantined> = culprits
            .iter()
            .filter(|culprit| is_input(&job, culprit))
            .cloned()
            .map(bounded)
            .collect();
        self.emit(Event::RangeReleased {
            attempt: *attempt,
            why: why.clone(),
        });
        match why {
            ReleaseReason::InputsChanged if !culprits.is_empty() && job.status == JobStatus::Open => {
                self.cancel_changed(&job, culprits.into_iter().map(|culprit| culprit.path).collect())
            }
            ReleaseReason::InputFault(_) if !culprits.is_empty() => self.cancel_quarantined(job.id, culprits),
            ReleaseReason::InputFault(error) => self.judge_faults(job.id, error),
            _ => Ok(Reply::Done),
        }
    }

    pub(super) fn cancel(&mut self, job: JobId) -> Answer {
        match self.state.jobs.get(&job).map(|job| job.status) {
            None => Err(Refusal::NoSuchJob(job)),
            Some(JobStatus::Open) => self.done(Event::JobCancelled {
                job,
                why: CancelReason::Operator,
            }),
            Some(_) => Err(Refusal::TooLate(job)),
        }
    }

    /// A message that came twice is no reason to call a finished range lost.
    fn was_finished_by(&self, attempt: &Attempt) -> bool {
        let job = self.state.jobs.get(&attempt.job);
        let finished = job
            .and_then(|job| job.range(attempt.range))
            .and_then(|range| range.finished());
        finished.is_some_and(|finished| finished.token == attempt.token)
    }

    fn leased(&self, attempt: &Attempt) -> Result<Arc<Job>, Refusal> {
        let refusal = Refusal::NoSuchLease {
            job: attempt.job,
            range: attempt.range,
        };
        self.state.lease_held(attempt).cloned().ok_or(refusal)
    }

    fn refuse_unproved(&mut self, attempt: &Attempt, job: &Job, error: String) -> Answer {
        let why = ReleaseReason::InputFault(error.as_str().into());
        self.emit(Event::RangeReleased {
            attempt: *attempt,
            why,
        });
        self.judge_faults(job.id, &error.as_str().into())?;
        Ok(Reply::Refused(Refusal::NotProved(error)))
    }

    /// All ranges are finished, yet together they do not add up: none of them can be trusted.
    fn abandon_unproved(&mut self, job: &Job, error: String) -> Answer {
        self.emit(Event::JobCancelled {
            job: job.id,
            why: CancelReason::Bisected,
        });
        self.split_or_quarantine(job, &error.as_str().into());
        Ok(Reply::Refused(Refusal::NotProved(error)))
    }

    fn cancel_changed(&mut self, job: &Job, changed: Vec<FilePath>) -> Answer {
        self.emit(Event::JobCancelled {
            job: job.id,
            why: CancelReason::InputsChanged(changed.clone()),
        });
        self.emit_lost(&job.table, changed);
        Ok(Reply::JobCancelled(job.id))
    }

    fn cancel_quarantined(&mut self, id: JobId, culprits: Vec<Quarantined>) -> Answer {
        let job = self.state.jobs[&id].clone();
        let paths = culprits.iter().map(|culprit| culprit.path.clone()).collect();
        self.emit(Event::JobCancelled {
            job: id,
            why: CancelReason::InputQuarantined(paths),
        });
        self.emit(Event::FilesQuarantined {
            table: job.table.clone(),
            files: culprits,
        });
        Ok(Reply::JobCancelled(id))
    }

    /// Nobody knows which input is to blame: after a few tries, look for it by halving.
    fn judge_faults(&mut self, id: JobId, error: &Arc<str>) -> Answer {
        let job = self.state.jobs[&id].clone();
        if job.input_faults < INPUT_FAULTS_MAX {
            return Ok(Reply::Done);
        }
        if let [only] = &job.inputs[..] {
            return self.cancel_quarantined(id, vec![blame(only, error)]);
        }
        self.emit(Event::JobCancelled {
            job: id,
            why: CancelReason::Bisected,
        });
        self.split_or_quarantine(&job, error);
        Ok(Reply::JobCancelled(id))
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
            _ => self.plan_halves(job.id, job),
        }
    }
}

fn blame(file: &crate::file::File, error: &Arc<str>) -> Quarantined {
    bounded(Quarantined {
        path: file.path.clone(),
        identity: file.identity.clone(),
        reason: error.clone(),
    })
}

fn is_input(job: &Job, culprit: &Quarantined) -> bool {
    job.inputs
        .iter()
        .any(|input| input.path == culprit.path && input.identity == culprit.identity)
}

/// Inputs that a HEAD, begun after the merge, found gone or overwritten.
fn changed_inputs(job: &Job, now: Option<&[Option<Identity>]>) -> Vec<FilePath> {
    let Some(now) = now else { return Vec::new() };
    job.inputs
        .iter()
        .zip(now)
        .filter(|(input, now)| now.as_ref() != Some(&input.identity))
        .map(|(input, _)| input.path.clone())
        .collect()
}
