//! A root, as a process with a replica sees it: its files and jobs, who works on them, and the journal.

use std::collections::BTreeMap;

use super::{Page, Section};
use crate::report::{Heard, LeaseStatus, OpenJob, Queue, Totals, WorkerStatus};
use crate::station::Station;

/// What a process with a replica knows.
pub fn write_station(station: &Station, page: &mut Page) {
    let root = station.root.site.root.to_string();
    let mut section = page.about(&[("root", &root)]);
    write_tables(station, &mut section);
    write_fleet(station, &mut section);
    write_journal(station, &mut section);
}

fn write_tables(station: &Station, page: &mut Section<'_>) {
    let state = station.root.replica.state();
    let tables = || state.tables.iter();
    let live: Vec<(&str, Totals)> = tables()
        .map(|(name, table)| (name.as_str(), Totals::of(table)))
        .collect();
    let by_table = |of: fn(&Totals) -> u64| live.iter().map(move |(name, totals)| (*name, of(totals)));
    page.gauges(
        "baler_files",
        "Live files.",
        "table",
        by_table(|totals| totals.files),
    );
    page.gauges(
        "baler_bytes",
        "Bytes of live files.",
        "table",
        by_table(|totals| totals.bytes),
    );
    page.gauges(
        "baler_rows",
        "Rows of live files.",
        "table",
        by_table(|totals| totals.rows),
    );
    let quarantined = tables().map(|(name, table)| (name.as_str(), table.quarantine.len()));
    page.gauges(
        "baler_quarantined_files",
        "Files that are marked as bad.",
        "table",
        quarantined,
    );
    page.gauge(
        "baler_garbage_objects",
        "Objects that wait for their deletion.",
        state.garbage.len(),
    );
}

fn write_fleet(station: &Station, page: &mut Section<'_>) {
    let state = station.root.replica.state();
    let heard = Heard::by(&station.watch);
    let jobs = state.jobs.values();
    let jobs = jobs.map(|job| OpenJob::of(&state, &station.root.site, job, &heard));
    let (jobs, leases): (Vec<OpenJob>, Vec<Vec<LeaseStatus>>) = jobs.unzip();
    let leases: Vec<LeaseStatus> = leases.into_iter().flatten().collect();
    write_queue(&Queue::of(&jobs), page);
    write_leases(&leases, page);
    write_workers(&WorkerStatus::all(&leases, &heard), page);
    page.gauge(
        "baler_watchers",
        "Processes that answer for leases.",
        state.watchers.len(),
    );
    page.gauge(
        "baler_leases_watched",
        "Leases that this process answers for.",
        station.watch.watched().len(),
    );
    page.counter(
        "baler_leases_let_go_total",
        "Leases of workers that were not heard of for the lease time.",
        station.watch.let_go_count(),
    );
}

fn write_queue(queue: &Queue, page: &mut Section<'_>) {
    let statuses = [
        ("planned", queue.planned),
        ("leased", queue.leased),
        ("compacted", queue.compacted),
    ];
    page.gauges("baler_jobs", "Jobs that have not ended.", "status", statuses);
    page.gauge(
        "baler_jobs_bytes",
        "Bytes of the inputs of jobs that have not ended.",
        queue.bytes,
    );
    page.gauge(
        "baler_jobs_attempts",
        "Leases granted so far on jobs that have not ended.",
        queue.attempts,
    );
    page.gauge(
        "baler_queue_oldest_seconds",
        "How long the oldest planned job has waited, by this machine's clock; 0 where none waits.",
        queue.oldest_seconds.unwrap_or_default(),
    );
}

/// Leases of one worker are added up: a series for each job would never end.
fn write_leases(leases: &[LeaseStatus], page: &mut Section<'_>) {
    let mut of: BTreeMap<&str, Vec<&LeaseStatus>> = BTreeMap::new();
    for lease in leases {
        of.entry(&lease.worker).or_default().push(lease);
    }
    let by_worker = |figure: fn(&LeaseStatus) -> u64| {
        let sum = |leases: &Vec<&LeaseStatus>| leases.iter().map(|lease| figure(lease)).sum::<u64>();
        let sums = of.iter().map(|(worker, leases)| (*worker, sum(leases)));
        sums.collect::<Vec<_>>()
    };
    page.gauges("baler_leases", "Leases held.", "worker", by_worker(|_| 1));
    page.gauges(
        "baler_leases_done_bytes",
        "Bytes of inputs worked off under them, as far as this process has heard.",
        "worker",
        by_worker(|lease| lease.bytes_done.unwrap_or_default()),
    );
    page.gauges(
        "baler_leases_total_bytes",
        "Bytes of inputs that they are about, as far as this process has heard.",
        "worker",
        by_worker(|lease| lease.bytes_total.unwrap_or_default()),
    );
    let longest = of.iter().filter_map(|(worker, leases)| {
        let left: Option<Vec<f64>> = leases.iter().map(|lease| lease.seconds_left).collect();
        Some((*worker, left?.into_iter().reduce(f64::max)?))
    });
    page.gauges(
        "baler_leases_left_seconds",
        "How long the longest of them will still take at its rate; no sample where that is not known.",
        "worker",
        longest.collect::<Vec<_>>(),
    );
}

fn write_workers(workers: &[WorkerStatus], page: &mut Section<'_>) {
    page.gauge(
        "baler_workers",
        "Workers that hold leases or were heard of lately.",
        workers.len(),
    );
    let slots = workers
        .iter()
        .filter_map(|worker| Some((worker.worker.as_str(), worker.slots_free?)));
    page.gauges(
        "baler_workers_slots_free",
        "Attempts that a worker could begin when it last asked.",
        "worker",
        slots,
    );
    let silent = workers
        .iter()
        .filter_map(|worker| Some((worker.worker.as_str(), worker.silent_seconds?)));
    page.gauges(
        "baler_workers_silent_seconds",
        "How long ago a worker was last heard of.",
        "worker",
        silent,
    );
}

fn write_journal(station: &Station, page: &mut Section<'_>) {
    let state = station.root.replica.state();
    page.gauge(
        "baler_journal_entry",
        "The last entry of the journal.",
        state.sequence.0,
    );
    let counters = station.root.replica.journal().counters();
    page.counter(
        "baler_journal_appends_total",
        "Entries written by this process.",
        counters.commits.get(),
    );
    page.counter(
        "baler_journal_conflicts_total",
        "Entries that somebody else wrote first.",
        counters.conflicts.get(),
    );
    page.counter(
        "baler_journal_reads_total",
        "Entries read, or looked for.",
        counters.reads.get(),
    );
}
