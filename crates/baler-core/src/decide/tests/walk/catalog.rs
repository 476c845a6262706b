//! An external catalog, and those who commit there: commits land late or never, others commit in between, and old
//! versions are forgotten.

use super::super::fixtures::{CHIEF, DEPUTY, LONER};
use super::world::World;
use super::{EXTERNAL, Verdict};
use crate::external::{CatalogVersion, CommitOutcome, History};
use crate::ids::{JobId, Token};
use crate::job::JobStatus;
use crate::request::{BeginCommit, Reply, Request};

/// The catalog: which job made each version, from 1 on.
#[derive(Default)]
pub(super) struct Ledger {
    versions: Vec<Option<JobId>>,
    /// Versions up to this one are not shown any more.
    forgotten: u64,
    /// Tries that may still arrive, with what they build on.
    flying: Vec<(JobId, u64)>,
    /// Those who were told that they may try.
    begun: Vec<(JobId, Token)>,
}

impl Ledger {
    fn present(&self) -> u64 {
        self.versions.len() as u64
    }

    pub(super) fn holds(&self, job: JobId) -> bool {
        self.versions.contains(&Some(job))
    }
}

impl World {
    pub(super) fn committer_acts(&mut self) -> Verdict {
        match self.any(9) {
            0 => self.ledger.versions.push(None),
            1 if self.chance(3) => self.ledger.forgotten = self.ledger.present(),
            2 => return self.operator_settles(),
            3 | 4 => return self.begin_commit(),
            5 | 6 => return self.try_lands(),
            _ => return self.report_commit(),
        }
        Ok(())
    }

    fn begin_commit(&mut self) -> Verdict {
        let waiting = self.compacted();
        let Some(job) = self.pick(&waiting) else {
            return Ok(());
        };
        let back = u64::from(self.chance(3));
        let base = self.ledger.present().saturating_sub(back);
        let request = Request::BeginCommit(BeginCommit {
            job,
            base: CatalogVersion(base),
            worker: "committer".into(),
            watcher: [LONER, CHIEF, DEPUTY][self.any(3)],
            host: None,
        });
        if let Reply::MayCommit(grant) = self.ask(&request)? {
            self.ledger.flying.push((job, base));
            self.ledger.begun.push((job, grant.token));
        }
        Ok(())
    }

    fn compacted(&self) -> Vec<JobId> {
        let jobs = self.state.jobs.values();
        let compacted =
            jobs.filter(|job| job.table.as_str() == EXTERNAL && job.status == JobStatus::Compacted);
        compacted.map(|job| job.id).collect()
    }

    /// The catalog takes a commit that builds on its present version, and a job once.
    fn try_lands(&mut self) -> Verdict {
        let flying = self.ledger.flying.clone();
        let Some((job, base)) = self.pick(&flying) else {
            return Ok(());
        };
        if base != self.ledger.present() || self.ledger.holds(job) {
            return Ok(());
        }
        if self.failed.contains(&job) {
            return Err(format!("job {job} was given up, and landed in the catalog"));
        }
        self.ledger.versions.push(Some(job));
        Ok(())
    }

    /// What is reported is what the catalog shows; what is left out is left out by the catalog.
    fn report_commit(&mut self) -> Verdict {
        let begun = self.ledger.begun.clone();
        let Some((job, token)) = self.pick(&begun) else {
            return Ok(());
        };
        let shown = &self.ledger.versions[self.ledger.forgotten as usize..];
        let outcome = match shown.contains(&Some(job)) {
            true => CommitOutcome::Committed,
            false => self.not_landed(job),
        };
        self.ask(&Request::ReportCommit { job, token, outcome }).map(drop)
    }

    /// Many are in a hurry to give up. Few may: what was refused is not planned again for a long time.
    fn not_landed(&mut self, job: JobId) -> CommitOutcome {
        let tries = self.state.jobs.get(&job).and_then(|job| job.tries.as_ref());
        let may_land = tries.is_some_and(|tries| tries.newest.0 >= self.ledger.present());
        let history = History {
            after: CatalogVersion(self.ledger.forgotten),
            until: CatalogVersion(self.ledger.present()),
        };
        match self.any(6) {
            0 if self.is_cut(job) => CommitOutcome::HistoryCut {
                reason: "forgotten".into(),
            },
            choice if may_land || choice == 1 => CommitOutcome::Refused {
                reason: "no".into(),
                history,
            },
            _ => CommitOutcome::Unknown {
                reason: "timed out".into(),
            },
        }
    }

    fn is_cut(&self, job: JobId) -> bool {
        let tries = self.state.jobs.get(&job).and_then(|job| job.tries.as_ref());
        tries.is_some_and(|tries| tries.oldest.0 < self.ledger.forgotten)
    }

    /// Whoever looks into the catalog sees to it first that nothing can land any more.
    fn operator_settles(&mut self) -> Verdict {
        let waiting = self.compacted();
        let Some(job) = self.pick(&waiting) else {
            return Ok(());
        };
        self.ledger.versions.push(None);
        let landed = self.ledger.holds(job);
        self.ask(&Request::SettleCommit { job, landed }).map(drop)
    }

    /// Everything that was merged is committed, and everybody hears of it.
    pub(super) fn commit_everything(&mut self) -> Verdict {
        self.ledger.begun.clear();
        for job in self.compacted() {
            self.ledger.versions.push(None);
            let base = CatalogVersion(self.ledger.present());
            let request = Request::BeginCommit(BeginCommit {
                job,
                base,
                worker: "committer".into(),
                watcher: CHIEF,
                host: None,
            });
            if let Reply::MayCommit(grant) = self.ask(&request)? {
                if !self.ledger.holds(job) {
                    self.ledger.versions.push(Some(job));
                }
                let outcome = CommitOutcome::Committed;
                let token = grant.token;
                self.ask(&Request::ReportCommit { job, token, outcome })?;
            }
            let landed = self.ledger.holds(job);
            self.ask(&Request::SettleCommit { job, landed })?;
        }
        Ok(())
    }
}
