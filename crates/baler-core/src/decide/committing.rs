//! Commits in external catalogs: one at a time for a table, each try written down before it is made. What was tried is
//! given up only on proof that it never landed.

use std::sync::Arc;

use super::files::cut;
use super::{Answer, Draft};
use crate::event::{Event, ReleaseReason};
use crate::external::{CommitOutcome, Tries};
use crate::file::FilePath;
use crate::ids::{JobId, RangeId, Token};
use crate::job::{Job, JobStatus};
use crate::limits::SHED_PUT_OFF;
use crate::names::Attempt;
use crate::request::{BeginCommit, Grant, Refusal, Reply};
use crate::table::Catalog;

impl Draft {
    pub(super) fn begin_commit(&mut self, begin: &BeginCommit) -> Answer {
        let job = self.to_commit(begin.job)?;
        if job.tries.as_ref().is_some_and(|tries| tries.stuck.is_some()) {
            return Err(Refusal::AsksOperator(job.id));
        }
        if let Some(newest) = job.tries.as_ref().map(|tries| tries.newest)
            && begin.base < newest
        {
            let (job, base) = (job.id, begin.base);
            return Err(Refusal::BaseGoesBack { job, base, newest });
        }
        let token = match job.publish.lease() {
            Some(lease) if lease.watcher == begin.watcher && lease.worker == begin.worker => lease.token,
            Some(_) => return Err(Refusal::CommitUnderWay { job: job.id }),
            None => self.lease_commit(&job, begin)?,
        };
        if job.tries.as_ref().map(|tries| tries.newest) != Some(begin.base) || job.publish.lease().is_none() {
            self.emit(Event::CommitTry {
                job: job.id,
                base: begin.base,
            });
        }
        Ok(Reply::MayCommit(Grant {
            job: self.state.jobs[&job.id].clone(),
            range: RangeId::Publish,
            token,
            memory_bytes: 0,
        }))
    }

    /// One at a time for a table: two that build on one version would only get into each other's way.
    fn lease_commit(&mut self, job: &Job, begin: &BeginCommit) -> Result<Token, Refusal> {
        let mut others = self.state.jobs.values().filter(|other| other.table == job.table);
        if let Some(other) = others.find(|other| other.publish.lease().is_some()) {
            return Err(Refusal::CommitUnderWay { job: other.id });
        }
        let token = self.state.next_token();
        self.emit(Event::RangeLeased {
            job: job.id,
            range: RangeId::Publish,
            worker: begin.worker.clone(),
            watcher: begin.watcher,
            embedded: true,
            host: begin.host.clone(),
            tenant: self.state.tenant_of(job),
            isolates: false,
        });
        Ok(token)
    }

    pub(super) fn report_commit(&mut self, id: JobId, token: Token, outcome: &CommitOutcome) -> Answer {
        if let Some(committed) = self.committed(id) {
            return Ok(Reply::Committed(committed.clone()));
        }
        let attempt = Attempt {
            job: id,
            range: RangeId::Publish,
            token,
        };
        self.leased(&attempt)?;
        let job = self.to_commit(id)?;
        let tries = tries_of(&job)?;
        match outcome {
            CommitOutcome::Committed => Ok(self.commit_landed(&job)),
            CommitOutcome::Refused { reason, history } => {
                let proof = tries.are_disproved_by(history);
                proof.map_err(Refusal::NotProved)?;
                Ok(self.fail(&job, reason))
            }
            CommitOutcome::Unknown { reason } => self.done(Event::RangeReleased {
                attempt,
                why: ReleaseReason::StoreFault(cut(reason)),
            }),
            CommitOutcome::HistoryCut { reason } => {
                self.emit(Event::RangeReleased {
                    attempt,
                    why: ReleaseReason::NodeFault(cut(reason)),
                });
                self.done(Event::CommitStuck {
                    job: id,
                    reason: cut(reason),
                })
            }
        }
    }

    /// Nobody else can tell: an operator has looked into the catalog.
    pub(super) fn settle_commit(&mut self, id: JobId, landed: bool) -> Answer {
        if let Some(committed) = self.committed(id).filter(|_| landed) {
            return Ok(Reply::Committed(committed.clone()));
        }
        let job = self.to_commit(id)?;
        if tries_of(&job)?.stuck.is_none() {
            return Err(Refusal::CommitUnderWay { job: id });
        }
        match landed {
            true => Ok(self.commit_landed(&job)),
            false => {
                let reason = "an operator has seen that it never landed in the catalog".into();
                Ok(self.fail(&job, &reason))
            }
        }
    }

    fn commit_landed(&mut self, job: &Job) -> Reply {
        self.emit(Event::JobCommitted { job: job.id });
        let committed = self.committed(job.id).cloned();
        Reply::Committed(committed.expect("it was committed a moment ago"))
    }

    /// The inputs stand as before, and are not planned again at once: the catalog would refuse them again.
    fn fail(&mut self, job: &Job, reason: &Arc<str>) -> Reply {
        self.emit(Event::JobFailed {
            job: job.id,
            reason: cut(reason),
        });
        let outputs: Vec<FilePath> = job.outputs().map(|output| output.path.clone()).collect();
        self.emit_due(&job.table, &outputs);
        self.put_off(
            job,
            Some(SHED_PUT_OFF),
            "the catalog refused what was made of it: it is planned again later",
        );
        Reply::JobFailed(job.id)
    }

    fn to_commit(&self, id: JobId) -> Result<Arc<Job>, Refusal> {
        let job = self.state.jobs.get(&id).ok_or(Refusal::NoSuchJob(id))?;
        let external = self.table(&job.table)?.spec.catalog == Catalog::External;
        let due = external && job.status == JobStatus::Compacted;
        due.then(|| job.clone()).ok_or(Refusal::NothingToCommit(id))
    }
}

fn tries_of(job: &Job) -> Result<&Tries, Refusal> {
    let untold = || Refusal::NotProved("no try at the commit was announced".to_owned());
    job.tries.as_ref().ok_or_else(untold)
}
