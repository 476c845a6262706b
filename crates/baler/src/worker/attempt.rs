//! One try at a range: merge, look at the inputs once more, finish, publish.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use anyhow::{Context, Result, anyhow};
use baler_core::event::{Quarantined, ReleaseReason};
use baler_core::file::Identity;
use baler_core::ids::RangeId;
use baler_core::job::{Finished, JobSummary};
use baler_core::request::{Finish, Grant, Refusal, Reply, Request};

use super::engine::{self, MergeEnd};
use super::meter::Meter;
use super::publishing;
use crate::report::ProgressView;
use crate::root::Root;
use crate::watch::Watch;

/// What became of an attempt.
#[derive(Debug)]
pub enum Outcome {
    /// Its job is committed.
    Committed(JobSummary),
    /// Its job ended without effect; what can be merged will be planned anew.
    Cancelled,
    /// Its range is free again, or somebody else's by now.
    Released,
    /// This machine could not do it.
    NodeFault(String),
    /// The store failed or refused.
    StoreFault(String),
    /// Nobody can do it as it was asked for.
    Impossible(String),
}

/// One try at a range.
pub(super) struct Attempt {
    pub(super) root: Arc<Root>,
    pub(super) grant: Grant,
    pub(super) threads: usize,
    pub(super) memory_bytes: u64,
    pub(super) progress: ProgressView,
    pub(super) drain: Arc<AtomicBool>,
    pub(super) watch: Arc<Watch>,
    /// Bytes that attempts wrote for nothing.
    pub(super) wasted: Arc<AtomicU64>,
}

impl Attempt {
    pub(super) async fn run(self) -> Result<Outcome> {
        match self.grant.range {
            RangeId::Keys(_) => self.merge().await,
            RangeId::Publish => publishing::publish(&self.root, &self.grant).await,
        }
    }

    async fn merge(self) -> Result<Outcome> {
        let lost = self.watch.lost_flag(self.grant.token);
        let meter = Arc::new(Meter::new(
            self.progress.clone(),
            &self.grant.job,
            self.drain.clone(),
            lost,
        ));
        let ending = engine::merge(self.order()?, meter.clone()).await?;
        let outcome = self.tell(ending).await?;
        match outcome {
            Outcome::Committed(_) => meter.complete(),
            _ if self.is_counted_on() => meter.take_back(),
            _ => {
                self.wasted.fetch_add(meter.written(), Ordering::Relaxed);
                meter.take_back();
            }
        }
        Ok(outcome)
    }

    /// Whether an open job has what this attempt wrote, and only waits to be published.
    fn is_counted_on(&self) -> bool {
        let state = self.root.replica.state();
        let job = state.jobs.get(&self.grant.job.id);
        job.is_some_and(|job| {
            job.finished()
                .any(|(_, finished)| finished.token == self.grant.token)
        })
    }

    fn order(&self) -> Result<engine::Order> {
        let state = self.root.replica.state();
        let table = state.tables.get(&self.grant.job.table);
        Ok(engine::Order {
            site: self.root.site.clone(),
            journal: self.root.journal()?,
            catalog: table.context("the job's table is gone")?.spec.catalog.clone(),
            grant: self.grant.clone(),
            threads: self.threads,
            memory_bytes: self.memory_bytes,
        })
    }

    async fn tell(&self, ending: MergeEnd) -> Result<Outcome> {
        match ending {
            MergeEnd::Merged { finished, inputs_now } => self.finish(finished, inputs_now).await,
            MergeEnd::Stopped => self.release(ReleaseReason::Drained, vec![]).await,
            MergeEnd::InputsChanged(changed) => self.release(ReleaseReason::InputsChanged, changed).await,
            MergeEnd::InputFault { error, culprits } => {
                self.release(ReleaseReason::InputFault(error.into()), culprits)
                    .await
            }
            MergeEnd::NodeFault(error) => {
                self.release(ReleaseReason::NodeFault(error.as_str().into()), vec![])
                    .await?;
                Ok(Outcome::NodeFault(error))
            }
            MergeEnd::StoreFault(error) => {
                self.release(ReleaseReason::StoreFault(error.as_str().into()), vec![])
                    .await?;
                Ok(Outcome::StoreFault(error))
            }
            MergeEnd::Impossible(error) => {
                self.release(ReleaseReason::NodeFault(error.as_str().into()), vec![])
                    .await?;
                Ok(Outcome::Impossible(error))
            }
        }
    }

    async fn finish(&self, finished: Finished, inputs_now: Vec<Option<Identity>>) -> Result<Outcome> {
        let finish = Finish {
            job: self.grant.job.id,
            range: self.grant.range,
            finished,
            inputs_now: Some(inputs_now),
        };
        match self.root.replica.submit(Request::Finish(finish)).await? {
            Reply::Finished {
                publish: Some(grant), ..
            } => publishing::publish(&self.root, &grant).await,
            Reply::Finished {
                committed: Some(summary),
                ..
            } => Ok(Outcome::Committed(summary)),
            Reply::Finished { .. } => Ok(Outcome::Released),
            Reply::JobCancelled(_) => Ok(Outcome::Cancelled),
            Reply::Refused(Refusal::NoSuchLease { .. }) => Ok(Outcome::Released),
            Reply::Refused(refusal @ Refusal::NotProved(_)) => {
                tracing::error!(job = %self.grant.job.id, "{refusal}");
                Ok(Outcome::Cancelled)
            }
            other => Err(anyhow!("a finished range was answered {other:?}")),
        }
    }

    async fn release(&self, why: ReleaseReason, culprits: Vec<Quarantined>) -> Result<Outcome> {
        let attempt = self.grant.attempt();
        match self
            .root
            .replica
            .submit(Request::Release {
                attempt,
                why,
                culprits,
            })
            .await?
        {
            Reply::JobCancelled(_) => Ok(Outcome::Cancelled),
            _ => Ok(Outcome::Released),
        }
    }
}
