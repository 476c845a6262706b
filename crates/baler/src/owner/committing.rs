//! Commits merged jobs in the catalogs of their owners. The catalog is the truth: what landed there landed, whoever heard of
//! it. So each try is written down before it is made, what was tried before is looked for first, and nothing is given
//! up before the catalog is past all that was tried and shows none of it.

use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result, anyhow};
use baler_core::external::{CatalogVersion, CommitOutcome, History as Proof};
use baler_core::ids::{JobId, WorkerId};
use baler_core::job::{Job, JobStatus};
use baler_core::request::{BeginCommit, Grant, Reply, Request};
use baler_core::scheduler;
use baler_core::state::State;

use super::{Catalog, Commit, History, Owners, Tried};
use crate::root::Root;
use crate::station::Station;
use crate::upkeep;
use crate::watch::Watch;

/// How often somebody else may be first before others get a turn.
const TRIES_IN_A_ROW: usize = 8;

/// An answer of a catalog that takes longer is taken for lost.
const ANSWER_MAX: Duration = Duration::from_secs(60);

/// After something failed, the next look comes this soon.
const PAUSE: Duration = Duration::from_secs(1);

/// Commits for as long as it is polled.
pub(crate) struct Committer {
    root: Arc<Root>,
    watch: Arc<Watch>,
    owners: Owners,
    worker: WorkerId,
}

impl Committer {
    pub(crate) fn of(station: &Station) -> Self {
        let watch = station.watch.clone();
        Self {
            root: station.root.clone(),
            worker: WorkerId(format!("committer-{}", watch.id()).into()),
            watch,
            owners: station.owners.clone(),
        }
    }

    pub(crate) async fn run(&self) {
        if self.owners.catalogs.is_empty() {
            return std::future::pending().await;
        }
        let states = self.root.replica.watch();
        loop {
            let state = states.now();
            let mut pause = None;
            for (job, catalog) in self.due(&state) {
                if let Err(error) = self.commit(&job, &*catalog).await {
                    tracing::warn!(job = %job.id, "a commit goes on later: {error:#}");
                    pause = Some(PAUSE);
                }
            }
            let backed_off = scheduler::commits_backed_off_for(&state);
            let backed_off = backed_off.map(|wait| Duration::from_millis(wait.0));
            let changed = states.after(state.sequence);
            let told = match pause.or(backed_off) {
                None => Ok(changed.await),
                Some(wait) => tokio::time::timeout(wait, changed).await,
            };
            if let Ok(None) = told {
                // The replica has stopped, and no commit is to come.
                return std::future::pending().await;
            }
            // The state's time moves with entries only: whoever waited tells it.
            if backed_off.is_some()
                && let Err(error) = upkeep::tell_the_time(&self.root).await
            {
                tracing::warn!("the time could not be told: {error:#}");
            }
        }
    }

    /// What may be begun, and what this process began and has not brought to an end.
    fn due(&self, state: &State) -> Vec<(Arc<Job>, Arc<dyn Catalog>)> {
        let due = state.commits_due();
        let mine = |job: &Job| {
            let lease = job.publish.lease();
            lease.is_some_and(|lease| lease.watcher == self.watch.id() && lease.worker == self.worker)
        };
        let jobs = state.jobs.values();
        let jobs =
            jobs.filter(|job| job.status == JobStatus::Compacted && (due.contains(&job.id) || mine(job)));
        let reachable = |job: &Arc<Job>| Some((job.clone(), self.owners.catalogs.get(&job.table)?.clone()));
        jobs.filter_map(reachable).collect()
    }

    async fn commit(&self, job: &Job, catalog: &dyn Catalog) -> Result<()> {
        let mut outcome = CommitOutcome::Unknown {
            reason: "others commit all the time".into(),
        };
        let mut token = None;
        for _ in 0..TRIES_IN_A_ROW {
            let base = within(catalog.version()).await?;
            let Some(grant) = self.begin(job.id, base).await? else {
                return Ok(());
            };
            token = Some(grant.token);
            let tried = self.try_on(&grant, catalog, base).await;
            match tried {
                Ok(Some(known)) => {
                    outcome = known;
                    break;
                }
                Ok(None) => {}
                Err(error) => {
                    outcome = CommitOutcome::Unknown {
                        reason: format!("{error:#}").into(),
                    };
                    break;
                }
            }
        }
        match token {
            Some(token) => self.report(job.id, token, outcome).await,
            None => Ok(()),
        }
    }

    /// The right to try on this version, written down; `None` if it is somebody else's to do, or nobody's any more.
    async fn begin(&self, job: JobId, base: CatalogVersion) -> Result<Option<Grant>> {
        let request = Request::BeginCommit(BeginCommit {
            job,
            base,
            worker: self.worker.clone(),
            watcher: self.watch.id(),
            host: self.watch.host()?,
        });
        match self.root.replica.submit(request).await? {
            Reply::MayCommit(grant) => Ok(Some(grant)),
            Reply::Refused(refusal) => {
                tracing::debug!("{refusal}");
                Ok(None)
            }
            other => Err(anyhow!("the beginning of a commit was answered {other:?}")),
        }
    }

    /// One try; `None` if somebody else was first.
    async fn try_on(
        &self,
        grant: &Grant,
        catalog: &dyn Catalog,
        base: CatalogVersion,
    ) -> Result<Option<CommitOutcome>> {
        let commit = Commit::of(self.root.journal()?, &grant.job);
        let tries = grant.job.tries.as_ref().context("the try is not written down")?;
        if tries.count > 1
            && let Some(known) = landed_since(catalog, &commit, tries.oldest).await?
        {
            return Ok(Some(known));
        }
        match within(catalog.commit(&commit, base)).await? {
            Tried::Landed => Ok(Some(CommitOutcome::Committed)),
            Tried::Moved => Ok(None),
            Tried::Refused(reason) => {
                within(catalog.pass(base)).await?;
                Ok(Some(refused(catalog, &commit, tries.oldest, &reason).await?))
            }
        }
    }

    async fn report(&self, job: JobId, token: baler_core::ids::Token, outcome: CommitOutcome) -> Result<()> {
        let request = Request::ReportCommit { job, token, outcome };
        match self.root.replica.submit(request).await? {
            Reply::Committed(job) => tracing::info!(job = %job.id, "committed in its catalog"),
            Reply::JobFailed(job) => tracing::warn!(%job, "refused by its catalog"),
            Reply::Refused(refusal) => tracing::warn!(%job, "{refusal}"),
            _ => {}
        }
        Ok(())
    }
}

/// Whether one of the earlier tries landed; `None` if none did.
async fn landed_since(
    catalog: &dyn Catalog,
    commit: &Commit,
    oldest: CatalogVersion,
) -> Result<Option<CommitOutcome>> {
    Ok(match within(catalog.history(oldest)).await? {
        History::Whole { jobs, .. } if jobs.contains(&commit.id) => Some(CommitOutcome::Committed),
        History::Whole { .. } => None,
        History::Cut { reason } => Some(CommitOutcome::HistoryCut {
            reason: reason.into(),
        }),
    })
}

/// The catalog does not take it, and is past every version that it was tried on.
async fn refused(
    catalog: &dyn Catalog,
    commit: &Commit,
    oldest: CatalogVersion,
    reason: &str,
) -> Result<CommitOutcome> {
    Ok(match within(catalog.history(oldest)).await? {
        History::Whole { jobs, .. } if jobs.contains(&commit.id) => CommitOutcome::Committed,
        History::Whole { until, .. } => CommitOutcome::Refused {
            reason: reason.into(),
            history: Proof { after: oldest, until },
        },
        History::Cut { reason } => CommitOutcome::HistoryCut {
            reason: reason.into(),
        },
    })
}

async fn within<T>(asked: impl Future<Output = Result<T>>) -> Result<T> {
    let answer = tokio::time::timeout(ANSWER_MAX, asked).await;
    answer.map_err(|_| anyhow!("the catalog has not answered in time"))?
}
