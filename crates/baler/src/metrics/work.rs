//! A worker's own figures: what it has under way, and what became of what it began.

use std::sync::atomic::{AtomicU64, Ordering};

use super::Page;
use crate::desk::Leases;
use crate::worker::Tally;

/// Of the worker of this process that works for this root.
pub fn write_worker(root: &str, worker: &str, tally: &Tally, leases: &Leases, page: &mut Page) {
    let now = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
    let mut page = page.about(&[("root", root), ("worker", worker)]);
    page.gauge(
        "baler_worker_attempts",
        "Attempts under way.",
        now(&tally.running),
    );
    let under_way: Vec<_> = leases.all().iter().map(|held| held.progress()).collect();
    page.gauge(
        "baler_worker_done_bytes",
        "Bytes of inputs that those have worked off.",
        under_way.iter().map(|progress| progress.done).sum::<u64>(),
    );
    page.gauge(
        "baler_worker_total_bytes",
        "Bytes of inputs that those are about.",
        under_way.iter().map(|progress| progress.total).sum::<u64>(),
    );
    page.counter(
        "baler_worker_attempts_total",
        "Attempts begun.",
        now(&tally.begun),
    );
    page.counter(
        "baler_worker_jobs_total",
        "Jobs committed.",
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
    page.gauge(
        "baler_worker_reachable",
        "Whether the last poll of this root was answered.",
        u8::from(tally.unreachable_for().is_none()),
    );
    page.counter(
        "baler_worker_unanswered_total",
        "Polls that nobody answered.",
        now(&tally.unanswered),
    );
}
