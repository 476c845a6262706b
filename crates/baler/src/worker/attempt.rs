//! One try at a range: merge, look at the inputs once more, finish, publish.

use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use anyhow::anyhow;
use baler_core::event::{Quarantined, ReleaseReason};
use baler_core::file::Identity;
use baler_core::ids::{RangeId, Sequence};
use baler_core::job::{Finished, JobSummary};
use baler_core::planted;
use baler_core::request::{Finish, Grant, Refusal, Reply};
use baler_core::table::Verify;
use baler_journal::steps::Step;
use tokio::time::timeout;

use super::child::Isolation;
use super::cutting;
use super::engine::{self, MergeEnd};
use super::hands::Hands;
use super::ledger::Ledger;
use super::memory::Loan;
use super::meter::Meter;
use super::publishing;
use crate::cache::{Key, Spools};
use crate::depot::{Deletion, Depot};
use crate::desk::{Assignment, DeskError, End, Held, Holding, Phase, Word};
use crate::report::ProgressView;

/// How long a merge that is to stop is waited for. One that hangs is left behind: it counts for nothing any more.
const STOP_PATIENCE: Duration = Duration::from_secs(5);

/// What became of an attempt.
#[derive(Debug)]
pub enum Outcome {
    /// Its job is committed.
    Committed(Box<JobSummary>),
    /// Its job ended without effect; what can be merged will be planned anew.
    Cancelled,
    /// Its range is free again, or somebody else's by now, or finished with others of its job still to come.
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
    hands: Hands,
    assignment: Assignment,
    holding: Holding,
    /// What it merges with.
    memory: Loan,
    /// Whether the job has what this attempt wrote.
    counted_on: AtomicBool,
    /// What it wrote, on its way into the cache.
    spools: Arc<Spools>,
    /// What it takes.
    ledger: Arc<Ledger>,
}

impl Attempt {
    pub(super) fn new(hands: Hands, assignment: Assignment, memory: Loan) -> Self {
        let holding = hands.desk.leases().take(assignment.grant.attempt());
        Self {
            hands,
            assignment,
            holding,
            memory,
            counted_on: AtomicBool::new(false),
            spools: Arc::default(),
            ledger: Ledger::begin(),
        }
    }

    pub(super) async fn run(mut self) -> Result<Outcome, DeskError> {
        if self.grant().range == RangeId::Publish {
            return publishing::publish(&self.hands, self.grant(), self.held(), &self.memory).await;
        }
        match self.cut_if_large().await? {
            Some(ending) => self.tell(ending).await,
            None => self.merge().await,
        }
    }

    fn grant(&self) -> &Grant {
        &self.assignment.grant
    }

    fn held(&self) -> &Arc<Held> {
        self.holding.held()
    }

    /// Has a large job cut, so that others can help; then this attempt is at its first range. Whatever ends the look at
    /// the inputs would end the merge too.
    async fn cut_if_large(&mut self) -> Result<Option<MergeEnd>, DeskError> {
        let ranges = cutting::ranges_wanted(&self.grant().job, self.hands.range_bytes);
        if ranges < 2 {
            return Ok(None);
        }
        let edges = match self.unless_ended(self.edges(ranges)).await {
            Some(Ok(edges)) => edges,
            Some(Err(ending)) => return Ok(Some(ending)),
            None => return Ok(Some(MergeEnd::Stopped)),
        };
        if edges.is_empty() {
            return Ok(None);
        }
        let attempt = self.grant().attempt();
        match self.hands.desk.tell(Word::Cut { attempt, edges }).await? {
            Reply::Cut(grant) => {
                self.memory.shrink_to(grant.memory_bytes);
                self.assignment.grant = grant;
                self.hands.cut.notify_one();
                Ok(None)
            }
            Reply::Refused(refusal @ Refusal::CannotCut { .. }) => {
                tracing::warn!("{refusal}: it is merged by one worker");
                Ok(None)
            }
            Reply::Refused(Refusal::NoSuchLease { .. }) => Ok(Some(MergeEnd::Stopped)),
            other => Err(anyhow!("a cut was answered {other:?}").into()),
        }
    }

    async fn edges(&self, ranges: usize) -> Result<Vec<Vec<u8>>, MergeEnd> {
        match self.isolation() {
            Some(isolation) => {
                let meter = self.meter(ProgressView::silent());
                isolation.edges(self.order(), ranges, meter).await
            }
            None => cutting::edges(self.order(), ranges, &|| self.held().step()).await,
        }
    }

    fn meter(&self, progress: ProgressView) -> Arc<Meter> {
        let (drain, held) = (self.hands.drain.clone(), self.held().clone());
        Arc::new(Meter::new(progress, self.grant(), drain, held))
    }

    /// How to merge in a child, if that is what is to be done.
    fn isolation(&self) -> Option<&Isolation> {
        let range = self.grant().job.range(self.grant().range);
        let alone = range.is_some_and(|range| range.alone);
        let isolation = self.hands.isolation.as_ref();
        isolation.filter(|isolation| alone || isolation.is_of_every_merge())
    }

    async fn merge(self) -> Result<Outcome, DeskError> {
        Step::AfterGrant.reached();
        let meter = self.meter(self.hands.progress.clone());
        let ending = self.merge_until_ended(meter.clone()).await;
        self.held().enter(Phase::Finishing);
        let outcome = self.tell(ending).await?;
        let counted_on = self.counted_on.load(Ordering::Relaxed);
        match outcome {
            Outcome::Committed(_) => meter.complete(),
            Outcome::Cancelled => self.waste(&meter),
            _ if counted_on => meter.complete(),
            _ => self.waste(&meter),
        }
        Ok(outcome)
    }

    fn waste(&self, meter: &Meter) {
        self.hands.wasted.fetch_add(meter.written(), Ordering::Relaxed);
        meter.take_back();
    }

    /// An attempt that is to end is told so through the meter. Where it does not hear it, nobody waits for it.
    async fn merge_until_ended(&self, meter: Arc<Meter>) -> MergeEnd {
        let ended = match self.isolation() {
            Some(isolation) => self.unless_ended(isolation.merge(self.order(), meter)).await,
            None => self.unless_ended(engine::merge(self.order(), meter)).await,
        };
        ended.unwrap_or(MergeEnd::Stopped)
    }

    /// What comes of this, if it comes before the attempt is to end, or soon after.
    async fn unless_ended<T>(&self, doing: impl Future<Output = T>) -> Option<T> {
        let mut doing = pin!(doing);
        tokio::select! {
            biased;
            done = &mut doing => Some(done),
            () = self.held().until_ended() => timeout(STOP_PATIENCE, doing).await.ok(),
        }
    }

    fn order(&self) -> engine::Order {
        engine::Order {
            site: self.hands.site.clone(),
            journal: self.hands.desk.journal(),
            catalog: self.assignment.catalog.clone(),
            grant: self.grant().clone(),
            merge: self.hands.merges.of(self.grant().job.merge.format()),
            threads: self.hands.threads,
            memory_bytes: self.memory.bytes(),
            reread: self.hands.reread || self.grant().job.merge.verify == Verify::Reread,
            ledger: self.ledger.clone(),
            spools: self.spools.clone(),
        }
    }

    async fn tell(&self, ending: MergeEnd) -> Result<Outcome, DeskError> {
        match ending {
            MergeEnd::Merged { finished, inputs_now } => {
                Step::OutputsWritten.reached();
                let outputs = keys_of(&self.hands.site.root, &finished);
                let outcome = self.finish(*finished, inputs_now).await?;
                if let (Outcome::Committed(_), Some(cache)) = (&outcome, &self.hands.site.cache) {
                    cache.enter(self.spools.clone(), outputs);
                }
                Ok(outcome)
            }
            MergeEnd::Stopped => self.stop().await,
            MergeEnd::InputsChanged(changed) => self.release(ReleaseReason::InputsChanged, changed).await,
            MergeEnd::InputFault { error, culprits } => {
                self.release(ReleaseReason::InputFault(error.into()), culprits)
                    .await
            }
            MergeEnd::ChildDied(error) => {
                tracing::warn!(job = %self.grant().job.id, range = %self.grant().range, "{error}");
                self.release(ReleaseReason::ChildDied(error.into()), vec![]).await
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

    async fn stop(&self) -> Result<Outcome, DeskError> {
        match self.held().ended() {
            None => self.release(ReleaseReason::Drained, vec![]).await,
            // What is not held cannot be given back.
            Some(End::Lost) => Ok(Outcome::Released),
            Some(End::Stalled) => {
                self.release(ReleaseReason::Stalled, vec![]).await?;
                Ok(Outcome::NodeFault(
                    "a merge moved nothing for too long".to_owned(),
                ))
            }
        }
    }

    /// Publishing goes on in the same slot.
    async fn tell_finished(&self, finish: Finish) -> Result<Reply, DeskError> {
        let word = Word::Finish(Box::new(finish));
        match self.assignment.catalog.publishes() {
            true => self.hands.desk.tell(word).await,
            false => self.hands.tell_last(word, &self.memory).await,
        }
    }

    async fn finish(
        &self,
        finished: Finished,
        inputs_now: Option<Vec<Option<Identity>>>,
    ) -> Result<Outcome, DeskError> {
        let mut finish = Finish {
            job: self.grant().job.id,
            range: self.grant().range,
            finished,
            inputs_now,
        };
        let told = self.tell_finished(finish.clone()).await;
        if planted!(DeleteOnUnknown) && told.is_err() {
            self.delete_outputs(&finish.finished).await;
        }
        let mut reply = told?;
        if let Reply::Refused(Refusal::InputsUnseen(_)) = reply {
            finish.inputs_now = match engine::look_again(&self.order()).await {
                Ok(inputs_now) => Some(inputs_now),
                Err(ending) => return Box::pin(self.tell(ending)).await,
            };
            reply = self.tell_finished(finish).await?;
        }
        Step::AfterFinish.reached();
        let finished = matches!(reply, Reply::Finished { .. });
        self.counted_on.store(finished, Ordering::Relaxed);
        match reply {
            Reply::Finished {
                publish: Some(grant), ..
            } => {
                let holding = self.hands.desk.leases().take(grant.attempt());
                publishing::publish(&self.hands, &grant, holding.held(), &self.memory).await
            }
            Reply::Finished {
                committed: Some(summary),
                ..
            } => Ok(Outcome::Committed(Box::new(summary))),
            Reply::Finished { .. } => Ok(Outcome::Released),
            Reply::JobCancelled(_) => Ok(Outcome::Cancelled),
            Reply::Refused(Refusal::NoSuchLease { .. }) => Ok(Outcome::Released),
            Reply::Refused(refusal @ Refusal::NotProved(_)) => {
                tracing::error!(job = %self.grant().job.id, "{refusal}");
                Ok(Outcome::Cancelled)
            }
            other => Err(anyhow!("a finished range was answered {other:?}").into()),
        }
    }

    /// Planted, and wrong: what was written may be in the table.
    async fn delete_outputs(&self, finished: &Finished) {
        let list = finished.outputs.iter().map(|output| Deletion {
            path: output.path.clone(),
            original: None,
            replaced: Sequence(0),
            names_once: false,
            keep: None,
        });
        let site = &self.hands.site;
        let _failed = site.root.delete(self.hands.desk.journal(), list.collect()).await;
    }

    async fn release(&self, why: ReleaseReason, culprits: Vec<Quarantined>) -> Result<Outcome, DeskError> {
        let word = Word::Release {
            attempt: self.grant().attempt(),
            why,
            culprits,
        };
        match self.hands.desk.tell(word).await? {
            Reply::JobCancelled(_) => Ok(Outcome::Cancelled),
            _ => Ok(Outcome::Released),
        }
    }
}

/// What the outputs are called in the cache, once they are committed.
fn keys_of(root: &Depot, finished: &Finished) -> Vec<(u32, Key)> {
    let depot = root.to_string();
    let outputs = finished.outputs.iter();
    let keys = outputs.map(|output| {
        let key = Key::of_output(&depot, &output.path, output.bytes, output.checksum);
        (output.part, key)
    });
    keys.collect()
}
