//! Figures in Prometheus' text form. Their names are in `docs/metrics.md`, and a test compares the two.

use std::fmt::Write;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use axum::extract::State;
use axum::http::header::CONTENT_TYPE;
use axum::response::{IntoResponse, Response};

use super::Api;
use crate::report::{OpenJob, Totals};

const TEXT: &str = "text/plain; version=0.0.4";

pub(super) async fn metrics(State(api): State<Arc<Api>>) -> Response {
    let mut page = Page::of(&api.station.root.site.root.to_string());
    api.write_state(&mut page);
    api.write_watch(&mut page);
    api.write_journal(&mut page);
    api.write_worker(&mut page);
    ([(CONTENT_TYPE, TEXT)], page.text).into_response()
}

impl Api {
    fn write_state(&self, page: &mut Page) {
        let state = self.station.root.replica.state();
        let tables = || state.tables.iter();
        let live = tables().map(|(name, table)| (name.as_str(), Totals::of(table)));
        let live: Vec<(&str, Totals)> = live.collect();
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
        let quarantined = tables().map(|(name, table)| (name.as_str(), table.quarantine.len() as u64));
        page.gauges(
            "baler_quarantined_files",
            "Files that are marked as bad.",
            "table",
            quarantined,
        );
        let jobs: Vec<OpenJob> = state.jobs.values().map(|job| OpenJob::of(&state, job)).collect();
        let of_status = |status| jobs.iter().filter(|job| job.status == status).count() as u64;
        let statuses = ["planned", "leased", "compacted"].map(|status| (status, of_status(status)));
        page.gauges("baler_jobs", "Jobs that have not ended.", "status", statuses);
        page.gauge(
            "baler_watchers",
            "Processes that answer for leases.",
            state.watchers.len() as u64,
        );
        page.gauge(
            "baler_garbage_objects",
            "Objects that wait for their deletion.",
            state.garbage.len() as u64,
        );
        page.gauge(
            "baler_journal_entry",
            "The last entry of the journal.",
            state.sequence.0,
        );
    }

    fn write_watch(&self, page: &mut Page) {
        let watch = &self.station.watch;
        page.gauge(
            "baler_workers",
            "Workers elsewhere that were heard of lately.",
            self.workers.all().len() as u64,
        );
        page.gauge(
            "baler_leases_watched",
            "Leases that this process answers for.",
            watch.watched().len() as u64,
        );
        page.counter(
            "baler_leases_let_go_total",
            "Leases of workers that were not heard of for the lease time.",
            watch.let_go_count(),
        );
    }

    fn write_journal(&self, page: &mut Page) {
        let counters = self.station.root.replica.journal().counters();
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

    fn write_worker(&self, page: &mut Page) {
        let tally = &self.tally;
        let now = |counter: &std::sync::atomic::AtomicU64| counter.load(Ordering::Relaxed);
        page.gauge(
            "baler_worker_attempts",
            "Attempts under way in this process.",
            now(&tally.running),
        );
        page.counter(
            "baler_worker_jobs_total",
            "Jobs that this process committed.",
            now(&tally.committed),
        );
        page.counter(
            "baler_worker_bytes_in_total",
            "Bytes that they replaced.",
            now(&tally.bytes_in),
        );
        page.counter(
            "baler_worker_bytes_out_total",
            "Bytes that replaced them.",
            now(&tally.bytes_out),
        );
        page.counter(
            "baler_worker_faults_total",
            "Attempts that this machine or the store failed.",
            now(&tally.faults),
        );
    }
}

/// The page, as it is written. Every figure says which root it is about.
struct Page {
    root: String,
    text: String,
}

impl Page {
    fn of(root: &str) -> Self {
        Self {
            root: escaped(root),
            text: String::new(),
        }
    }

    fn gauge(&mut self, name: &str, help: &str, value: u64) {
        self.head(name, help, "gauge");
        self.sample(name, None, value);
    }

    fn counter(&mut self, name: &str, help: &str, value: u64) {
        self.head(name, help, "counter");
        self.sample(name, None, value);
    }

    fn gauges<'a>(
        &mut self,
        name: &str,
        help: &str,
        label: &str,
        values: impl IntoIterator<Item = (&'a str, u64)>,
    ) {
        self.head(name, help, "gauge");
        for (of, value) in values {
            self.sample(name, Some((label, of)), value);
        }
    }

    fn head(&mut self, name: &str, help: &str, kind: &str) {
        // Writing to a string cannot fail.
        let _ = writeln!(self.text, "# HELP {name} {help}\n# TYPE {name} {kind}");
    }

    fn sample(&mut self, name: &str, label: Option<(&str, &str)>, value: u64) {
        let label = label.map_or_else(String::new, |(label, of)| format!(",{label}=\"{}\"", escaped(of)));
        let _ = writeln!(self.text, "{name}{{root=\"{}\"{label}}} {value}", self.root);
    }
}

fn escaped(text: &str) -> String {
    text.replace('\\', "\\\\")
        .replace('"', "\\\"")
        .replace('\n', "\\n")
}
