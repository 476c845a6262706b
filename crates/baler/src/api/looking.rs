//! How things stand, for people, programs and machines.

use std::sync::Arc;
use std::time::Duration;

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use serde::Serialize;

use super::Api;
use super::answer::{Refused, json};
use crate::desk::Progress;
use crate::report::{EndedJob, OpenJob, Status};

/// A state this young proves that the journal can be reached.
const HEALTHY: Duration = Duration::from_secs(15);

#[derive(Debug, Serialize)]
struct Standing {
    #[serde(flatten)]
    status: Status,
    workers: Vec<WorkerStatus>,
    leases: Vec<LeaseStatus>,
}

/// A worker, as this coordinator last heard of it.
#[derive(Debug, Serialize)]
struct WorkerStatus {
    worker: String,
    slots_free: usize,
    memory_bytes: u64,
    silent_seconds: f64,
}

/// A lease that this coordinator answers for.
#[derive(Debug, Serialize)]
struct LeaseStatus {
    job: u64,
    range: String,
    worker: String,
    silent_seconds: f64,
    #[serde(flatten)]
    progress: Progress,
}

#[derive(Debug, Serialize)]
struct Jobs {
    open: Vec<OpenJob>,
    ended: Vec<EndedJob>,
}

pub(super) async fn status(State(api): State<Arc<Api>>) -> Result<Response, Refused> {
    let workers = api.workers.all().into_iter().map(|(id, seen)| WorkerStatus {
        worker: id.to_string(),
        slots_free: seen.slots_free,
        memory_bytes: seen.memory_bytes,
        silent_seconds: seen.heard.elapsed().as_secs_f64(),
    });
    let leases = api.station.watch.watched().into_iter().map(|seen| LeaseStatus {
        job: seen.attempt.job.0,
        range: seen.attempt.range.to_string(),
        worker: seen.worker.to_string(),
        silent_seconds: seen.heard.elapsed().as_secs_f64(),
        progress: seen.progress,
    });
    json(&Standing {
        status: Status::of(&api.station.root, None)?,
        workers: workers.collect(),
        leases: leases.collect(),
    })
}

pub(super) async fn jobs(State(api): State<Arc<Api>>) -> Result<Response, Refused> {
    let state = api.station.root.replica.state();
    json(&Jobs {
        open: state.jobs.values().map(|job| OpenJob::of(&state, job)).collect(),
        ended: state.recent.iter().rev().map(|job| EndedJob::of(job)).collect(),
    })
}

/// Healthy is who can commit: who has read the journal a moment ago, or can do so now, and whose last append did not fail.
pub(super) async fn healthz(State(api): State<Arc<Api>>) -> Result<&'static str, Refused> {
    let watch = &api.station.watch;
    if watch.age() > HEALTHY {
        watch.catch_up().await?;
    }
    match watch.failing() {
        None => Ok("ok\n"),
        Some(error) => Err(Refused(StatusCode::SERVICE_UNAVAILABLE, error)),
    }
}
