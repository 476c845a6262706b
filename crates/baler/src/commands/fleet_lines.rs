//! Workers, leases and what waits, on a line each. What is not known is called so.

use std::time::Duration;

use crate::desk::{Phase, Spent};
use crate::report::{LeaseStatus, OpenJob, Queue, Status, WorkerStatus, bytes, count, seconds};

pub(super) fn print(status: &Status) {
    if let Some(line) = queue_line(&status.queue) {
        println!("{line}");
    }
    for worker in &status.workers {
        println!("{}", worker_line(worker));
    }
    for lease in &status.leases {
        println!("{}", lease_line(lease));
    }
    if let Some(spent) = &status.spent {
        println!("asked of stores since they began: {}", spent_words(spent));
    }
}

fn queue_line(queue: &Queue) -> Option<String> {
    let open = queue.planned + queue.leased + queue.compacted;
    if open == 0 {
        return None;
    }
    let oldest = match queue.oldest_seconds {
        Some(age) => format!(", the oldest waiting for {}", duration(age)),
        None => String::new(),
    };
    let rate = match queue.bytes_per_second {
        Some(rate) => format!("; {} a second", bytes(rate as u64)),
        None => String::new(),
    };
    Some(format!(
        "queue: {} planned{oldest}, {} leased, {} compacted; {} in all{rate}; {} attempt(s)",
        queue.planned,
        queue.leased,
        queue.compacted,
        bytes(queue.bytes),
        queue.attempts
    ))
}

fn worker_line(worker: &WorkerStatus) -> String {
    let mut line = format!("worker {}: {} lease(s)", worker.worker, worker.leases);
    if let Some(slots) = worker.slots_free {
        line += &format!(", {slots} slot(s) free when it last asked");
    }
    if let Some(memory) = worker.memory_free_bytes {
        line += &format!(" with {} of memory", bytes(memory));
    }
    if let Some(silent) = worker.silent_seconds {
        line += &format!(", heard of {} ago", duration(silent));
    }
    if let Some(spent) = &worker.spent {
        line += &format!(", {}", spent_words(spent));
    }
    line
}

fn lease_line(lease: &LeaseStatus) -> String {
    let attempt = format!("attempt {}", lease.attempt);
    format!(
        "lease on job {}, range {}: {}, {attempt}, {}, {}",
        lease.job,
        lease.range,
        lease.worker,
        progress_words(lease),
        left_words(lease.seconds_left),
    )
}

fn progress_words(lease: &LeaseStatus) -> String {
    let phase = match lease.phase {
        None => return "how far it is only its own process knows".to_owned(),
        Some(Phase::Opening) => "opening",
        Some(Phase::Merging) => "merging",
        Some(Phase::Finishing) => "finishing",
        Some(Phase::Publishing) => "publishing",
    };
    let (done, total) = (
        lease.bytes_done.unwrap_or_default(),
        lease.bytes_total.unwrap_or_default(),
    );
    let percent = done * 100 / total.max(1);
    let rate = match lease.bytes_per_second {
        Some(rate) => format!(" at {} a second", bytes(rate as u64)),
        None => String::new(),
    };
    format!("{phase}, {} of {} ({percent} %){rate}", bytes(done), bytes(total))
}

/// How far an open job is, and what it is estimated to cost.
pub(super) fn job_words(job: &OpenJob) -> String {
    let mut words = String::new();
    if let (Some(done), true) = (job.bytes_done, job.attempts > 0) {
        words += &format!(", {} % done", done * 100 / job.bytes.max(1));
    }
    if !job.workers.is_empty() {
        words += &format!(", {}", left_words(job.seconds_left));
    }
    if job.estimate.requests > 0 {
        words += &format!(", estimated at {}", spent_words(&job.estimate));
    }
    words
}

fn left_words(left: Option<f64>) -> String {
    match left {
        Some(left) => format!("{} left", duration(left)),
        None => "time left unknown".to_owned(),
    }
}

pub(super) fn spent_words(spent: &Spent) -> String {
    format!(
        "{} requests, about ${:.4} at list price",
        count(spent.requests),
        spent.price_usd
    )
}

pub(super) fn duration(length: f64) -> String {
    seconds(Duration::try_from_secs_f64(length).unwrap_or(Duration::MAX))
}
