//! One run of compaction: take over what was left, adopt what is new or drop what is past its time, merge until nothing
//! is left to do, clean up.

mod adopting;

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use anyhow::Result;
use baler_core::ids::{Partition, TableName};
use baler_core::job::Job;
use baler_core::request::{Grace, Scope};
use baler_core::state::Table;

use crate::adoption::Settled;
use crate::collector;
use crate::receipts;
use crate::report::{Cost, NamedReason, ProgressView, RunReport, Totals};
use crate::root::{Root, plain_table};
use crate::settings::{RunSettings, ScopeSettings, TableSettings};
use crate::upkeep;
use crate::watch::Watch;
use crate::worker::Worker;

/// Rounds of one run: the first, and those that follow up on files that changed under a merge.
const ROUNDS_MAX: u32 = 3;

/// How soon a listing under way notices that the run is to end.
const STOP_CHECK: Duration = Duration::from_millis(50);

/// Compacts a root until nothing is left to do, or `drain` is set.
pub async fn compact(
    root: Arc<Root>,
    settings: &RunSettings,
    table: &TableSettings,
    progress: &ProgressView,
    drain: Arc<AtomicBool>,
) -> Result<RunReport> {
    let began = Instant::now();
    let watch = Arc::new(Watch::new(root.clone(), settings.lease));
    let signs_of_life = {
        let watch = watch.clone();
        tokio::spawn(async move { watch.keep_alive().await })
    };
    let mut run = Run {
        root,
        watch,
        settings,
        table,
        progress,
        drain,
        report: RunReport::default(),
        jobs_begun: 0,
    };
    let receipts = tokio::spawn(receipts::keep_writing(run.root.clone(), run.watch.id()));
    let ended = run.work().await;
    receipts.abort();
    write_receipts(&run.root).await;
    signs_of_life.abort();
    run.watch.leave()?;
    run.root.replica.clone().close().await;
    progress.end();
    ended?;
    let counters = run.root.replica.journal().counters();
    run.report.appends = counters.commits.get();
    run.report.append_conflicts = counters.conflicts.get();
    run.report.seconds = began.elapsed().as_secs_f64();
    Ok(run.report)
}

/// Whoever works on this root next writes what is not written now.
async fn write_receipts(root: &Root) {
    if let Err(error) = receipts::write_due(root).await {
        tracing::warn!("receipts are written later: {error:#}");
    }
}

struct Run<'a> {
    root: Arc<Root>,
    watch: Arc<Watch>,
    settings: &'a RunSettings,
    table: &'a TableSettings,
    progress: &'a ProgressView,
    drain: Arc<AtomicBool>,
    report: RunReport,
    jobs_begun: usize,
}

impl Run<'_> {
    async fn work(&mut self) -> Result<()> {
        self.watch.take_over_silent().await?;
        self.report.warnings = self.root.site.root.warnings().await;
        collector::clear_sight(&self.root).await?;
        if self.root.is_native() {
            let expired = upkeep::apply_retention(&self.root, &self.tables()).await?;
            self.report.expired_files = expired.files;
            self.report.expired_rows = expired.rows;
            self.report.expired_bytes = expired.bytes;
        }
        for round in 1..=ROUNDS_MAX {
            let (again, mut cancelled) = match self.root.is_native() {
                true => (false, self.merge(None).await?),
                false => self.adopt_and_merge().await?,
            };
            while !self.is_stopping() && self.outwait_others().await? {
                cancelled += self.merge(None).await?;
            }
            let unsettled = again || cancelled > 0;
            if !unsettled || round == ROUNDS_MAX || self.is_stopping() {
                break;
            }
        }
        if self.report.error.is_none() {
            let collected = collector::collect(&self.root, Grace::Kept).await?;
            for path in collected.put_back {
                let reason =
                    "written while its old version was being replaced: put back under this name".to_owned();
                self.report.skipped.push(NamedReason { path, reason });
            }
        }
        self.sum_up();
        Ok(())
    }

    /// Jobs that others hold are theirs while they live. Answers whether one of them turned out to be dead.
    async fn outwait_others(&self) -> Result<bool> {
        let held = self.held_by_others();
        if held == 0 {
            return Ok(false);
        }
        self.progress.note(format!(
            "{held} job(s) are held by another process; waiting for a sign of life"
        ));
        self.watch.outwait_silent().await
    }

    fn held_by_others(&self) -> usize {
        let state = self.root.replica.state();
        let theirs = |job: &&Arc<Job>| job.leases().any(|(_, lease)| lease.watcher != self.watch.id());
        state.jobs.values().filter(theirs).count()
    }

    /// Returns when somebody wants the run to end.
    async fn asked_to_stop(&self) {
        while !self.drain.load(Ordering::Relaxed) {
            tokio::time::sleep(STOP_CHECK).await;
        }
    }

    fn is_stopping(&self) -> bool {
        self.drain.load(Ordering::Relaxed) || self.report.error.is_some()
    }

    /// Merges in the folders that a listing has settled, or in all. Answers how many jobs ended without effect.
    async fn merge(&mut self, settled: Option<&Settled>) -> Result<u64> {
        let scope = self.scope(settled);
        upkeep::ask_for_the_present(&self.root, &self.tables(), &scope).await?;
        let worker = Worker::new(
            self.root.clone(),
            self.watch.clone(),
            self.settings.clone(),
            self.progress.clone(),
            self.drain.clone(),
        )?;
        let work = worker.run(scope).await?;
        self.jobs_begun += work.begun;
        for job in &work.committed {
            self.report.count_job(job);
        }
        self.report.jobs_cancelled += work.cancelled;
        self.report.bytes_wasted += work.wasted;
        self.report.bounded |= work.bounded;
        self.report.error = work.failed;
        Ok(work.cancelled)
    }

    fn scope(&self, settled: Option<&Settled>) -> Scope {
        let ScopeSettings {
            partition,
            bytes_max,
            jobs_max,
            ..
        } = &self.settings.scope;
        let partitions = match (partition, settled) {
            (None, None) => None,
            (None, Some(settled)) => Some(settled.partitions.clone()),
            (Some(_), None) => Some(self.covered_partitions()),
            (Some(_), Some(settled)) => {
                let covered = self.covered_partitions();
                Some(covered.intersection(&settled.partitions).cloned().collect())
            }
        };
        let used = self.report.bytes_in;
        let bytes_left = bytes_max.map(|max| max.saturating_sub(used));
        Scope {
            table: self.only_table(),
            partitions,
            bytes_left,
            jobs_left: jobs_max.map(|max| max.saturating_sub(self.jobs_begun)),
            ..Scope::default()
        }
    }

    /// The table that the run is about; none if it is about all native tables.
    fn only_table(&self) -> Option<TableName> {
        match self.root.is_native() {
            true => self.settings.scope.table.clone(),
            false => Some(plain_table()),
        }
    }

    fn tables(&self) -> Vec<(TableName, Table)> {
        let state = self.root.replica.state();
        let only = self.only_table();
        let ours = |name: &TableName| only.as_ref().is_none_or(|only| only == name);
        let tables = state
            .tables
            .iter()
            .filter(|(name, table)| ours(name) && !table.is_dropped());
        tables
            .map(|(name, table)| (name.clone(), table.clone()))
            .collect()
    }

    fn covered_partitions(&self) -> BTreeSet<Partition> {
        let tables = self.tables();
        let partitions = tables.iter().flat_map(|(_, table)| table.agenda.all());
        let covered = partitions.filter(|partition| self.settings.scope.covers(partition.as_str()));
        covered.cloned().collect()
    }

    fn sum_up(&mut self) {
        let tables = self.tables();
        self.report
            .compare_with(tables.iter().map(|(_, table)| Totals::of(table)).sum());
        let marks = tables.iter().flat_map(|(_, table)| table.quarantine.values());
        self.report.quarantined_files = marks
            .map(|mark| NamedReason {
                path: mark.path.to_string(),
                reason: mark.reason.to_string(),
            })
            .collect();
        self.report.quarantined = self.report.quarantined_files.len() as u64;
        self.report.held_by_others = self.held_by_others() as u64;
        let state = self.root.replica.state();
        self.report.paused = tables.iter().any(|(name, _)| state.is_paused(name));
        self.report.native = self.root.is_native();
        self.report.set_aside = self.root.replica.state().garbage.len() as u64;
        self.report.cost = Cost::so_far(&self.root.site);
        self.report.cache = self
            .root
            .site
            .cache
            .as_ref()
            .map(|cache| cache.counters().report());
        self.report.interrupted = self.drain.load(Ordering::Relaxed);
    }
}
