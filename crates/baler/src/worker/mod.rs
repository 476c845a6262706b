//! A worker: asks for ranges, merges them, and tells what became of them. It keeps no state of its own: kill it at any
//! moment, and another goes on from the journal.

mod attempt;
mod bench;
pub mod child;
mod cutting;
mod endless;
mod engine;
mod hands;
#[cfg(debug_assertions)]
mod hook;
mod ledger;
mod memory;
mod meter;
mod publishing;
mod rereading;
mod slots;
mod tally;

#[cfg(feature = "cli")]
pub(crate) use cutting::ranges_wanted;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use anyhow::{Result, anyhow};
use baler_core::ids::RangeId;
use baler_core::job::JobSummary;
use baler_core::request::{Grant, Scope};
use baler_core::scheduler;
use baler_journal::host;
use tokio::task::JoinSet;
use tokio::time::Instant;

use crate::collector;
use crate::desk::{Assignment, DeskError, Offer, OwnDesk, Room};
use crate::merge::Merges;
use crate::report::{Cost, ProgressView};
use crate::root::Root;
use crate::settings::RunSettings;
use crate::upkeep;
use crate::watch::Watch;

pub use attempt::Outcome;
pub use endless::{Endless, Works};
pub use hands::{Handed, Hands};
pub use memory::{Budget, Loan};
pub use slots::{Place, Pool, Slots};
pub use tally::Tally;

/// Faults of the machine or the store in a row after which a run gives up: one of the two is not fit for the work.
const FAULTS_MAX: u32 = 3;

/// How often a worker that waits for the store looks whether it is to stop.
const DRAIN_POLL: Duration = Duration::from_millis(100);

/// A worker that works until nothing is left to do.
pub struct Worker {
    root: Arc<Root>,
    watch: Arc<Watch>,
    settings: RunSettings,
    desk: Arc<OwnDesk>,
    hands: Hands,
    budget: Arc<Budget>,
}

/// What a worker's run came to.
#[derive(Debug, Default)]
pub struct Work {
    /// Jobs it committed.
    pub committed: Vec<JobSummary>,
    /// Jobs it began.
    pub begun: usize,
    /// Jobs that ended without effect.
    pub cancelled: u64,
    /// Bytes it wrote that no job counts on.
    pub wasted: u64,
    /// Whether a bound left work undone.
    pub bounded: bool,
    /// Why it could not go on.
    pub failed: Option<String>,
}

impl Worker {
    /// A worker on this root. It stops soon after `drain` is set, and gives back what it has not finished.
    pub fn new(
        root: Arc<Root>,
        watch: Arc<Watch>,
        settings: RunSettings,
        progress: ProgressView,
        drain: Arc<AtomicBool>,
    ) -> Result<Self> {
        let offer = Offer {
            isolates: settings.isolation.is_some(),
            scope: Scope::default(),
        };
        let desk = Arc::new(OwnDesk::new(root.clone(), watch.clone(), offer)?);
        let hands = Hands {
            desk: desk.clone(),
            site: root.site.clone(),
            merges: Merges::default(),
            threads: settings.threads,
            range_bytes: settings.range_bytes,
            isolation: settings.isolation.clone(),
            reread: false,
            progress,
            drain,
            wasted: Arc::default(),
            next: None,
            cut: Arc::default(),
        };
        Ok(Self {
            budget: Budget::new(settings.memory_bytes, settings.workers),
            root,
            watch,
            settings,
            desk,
            hands,
        })
    }

    /// Works until there is nothing left to do, inside the scope.
    pub async fn run(&self, scope: Scope) -> Result<Work> {
        let mut work = Work::default();
        let mut running: JoinSet<Result<Outcome, DeskError>> = JoinSet::new();
        let mut bytes_left = scope.bytes_left;
        let mut faults = 0;
        loop {
            let stopping = self.hands.is_draining() || work.failed.is_some();
            let slots = self.settings.workers - running.len();
            if !stopping && slots > 0 && self.is_over_budget() {
                work.bounded = true;
            } else if !stopping && slots > 0 {
                let scope = Scope {
                    bytes_left,
                    jobs_left: scope.jobs_left.map(|left| left.saturating_sub(work.begun)),
                    ..scope.clone()
                };
                let memory = self.budget.lend(slots);
                for assignment in self.poll(memory.room(), scope, &mut work).await? {
                    let grant = &assignment.grant;
                    bytes_left = bytes_left.map(|left| left.saturating_sub(newly_planned(grant)));
                    work.begun += usize::from(grant.range == RangeId::Keys(0));
                    let memory = memory.part(grant.memory_bytes);
                    running.spawn(host::own(self.hands.begin(assignment, memory)));
                }
            }
            // With a job that was cut there is more to do at once, for slots that found nothing before.
            let ended = tokio::select! {
                biased;
                ended = running.join_next() => ended,
                () = self.hands.cut.notified(), if slots > 0 && !stopping => continue,
            };
            let Some(ended) = ended else {
                if !stopping && !work.bounded && self.waited_for_the_store(&scope).await? {
                    continue;
                }
                work.wasted = self.hands.wasted.load(Ordering::Relaxed);
                return Ok(work);
            };
            match ended.map_err(|panic| anyhow!("a merge panicked: {panic}"))?? {
                Outcome::Committed(summary) => {
                    faults = 0;
                    work.committed.push(*summary);
                }
                Outcome::Cancelled => work.cancelled += 1,
                Outcome::Released => {}
                Outcome::NodeFault(error) | Outcome::StoreFault(error) => {
                    faults += 1;
                    if faults >= FAULTS_MAX {
                        work.failed = Some(error);
                    }
                }
                Outcome::Impossible(error) => work.failed = Some(error),
            }
            collector::clear_sight(&self.root).await?;
        }
    }

    /// Ranges under which the store failed are not granted again at once. With nothing else to do, this waits for the
    /// next of them; false if there is none, or if the run is to stop. The state's time moves with entries only.
    async fn waited_for_the_store(&self, scope: &Scope) -> Result<bool> {
        let Some(wait) = scheduler::backed_off_for(&self.root.replica.state(), scope) else {
            return Ok(false);
        };
        let until = Instant::now() + Duration::from_millis(wait.0);
        while Instant::now() < until {
            if self.hands.is_draining() {
                return Ok(false);
            }
            tokio::time::sleep(DRAIN_POLL.min(until.saturating_duration_since(Instant::now()))).await;
        }
        upkeep::tell_the_time(&self.root).await?;
        Ok(true)
    }

    fn is_over_budget(&self) -> bool {
        let spent = || Cost::so_far(&self.root.site).price_usd;
        self.settings.scope.cost_max_usd.is_some_and(|max| spent() >= max)
    }

    /// Asks for work. The state is tried first without writing: a root at rest stays untouched.
    async fn poll(&self, room: Room, scope: Scope, work: &mut Work) -> Result<Vec<Assignment>> {
        let poll = self.desk.ask(room, scope);
        self.root.replica.catch_up().await?;
        let grants = self.watch.grant(poll.clone()).await?;
        if grants.is_empty() {
            work.bounded |= self.root.is_bounded(&poll);
        }
        let assignments = grants.into_iter().map(|grant| self.desk.assign(grant));
        assignments.collect()
    }
}

/// Input bytes that count against the run's bound: a job's first range, not its publishing.
fn newly_planned(grant: &Grant) -> u64 {
    match grant.range {
        RangeId::Keys(0) => grant.job.bytes(),
        RangeId::Keys(_) | RangeId::Publish => 0,
    }
}
