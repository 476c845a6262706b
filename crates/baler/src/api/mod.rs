//! A coordinator's HTTP API: JSON below `/v1`, health and metrics beside it. Everything is bounded: bodies, requests at once,
//! and how long each may take.
//!
//! | path | who asks | what |
//! |---|---|---|
//! | `GET /v1/root`, `POST /v1/poll`, `/v1/renew`, `/v1/rewatch` | workers | see `desk::protocol` |
//! | `POST /v1/files` | those who write files | these are new |
//! | `GET /v1/status`, `GET /v1/jobs` | people and programs | how things stand |
//! | `GET /healthz`, `GET /metrics` | machines | whether it can commit; figures |

mod answer;
mod files;
mod guard;
mod looking;
mod metrics;
mod work;

pub use guard::Bearer;

use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result};
use axum::Router;
use axum::extract::DefaultBodyLimit;
use axum::middleware::from_fn_with_state;
use axum::routing::{get, post};
use tokio::net::TcpListener;
use tokio::sync::{Semaphore, watch};

use crate::desk::protocol;
use crate::station::Station;
use crate::store::OutputSettings;
use crate::worker::Tally;
use work::Workers;

/// A body may be this long. The end of an attempt names each input and output of its range.
const BODY_BYTES_MAX: usize = 32 << 20;

/// Requests at once; polls that wait count too.
const REQUESTS_MAX: usize = 1_024;

/// How long a request may take, waiting for work included.
const REQUEST_MAX: Duration = Duration::from_secs(90);

/// How long requests that are under way may still take when the process is to stop.
const CLOSE_PATIENCE: Duration = Duration::from_secs(10);

/// What the handlers share.
#[derive(Debug)]
pub struct Api {
    station: Arc<Station>,
    outputs: OutputSettings,
    bearer: Option<Bearer>,
    room: Semaphore,
    workers: Workers,
    /// What the worker of this process has done.
    tally: Arc<Tally>,
}

impl Api {
    /// For a coordinator. Without a token everybody who can reach it is heard.
    pub fn new(
        station: Arc<Station>,
        outputs: OutputSettings,
        bearer: Option<Bearer>,
        tally: Arc<Tally>,
    ) -> Self {
        Self {
            station,
            outputs,
            bearer,
            room: Semaphore::new(REQUESTS_MAX),
            workers: Workers::default(),
            tally,
        }
    }

    /// Answers until `close` says so, and then what is still under way.
    pub async fn serve(self: Arc<Self>, listener: TcpListener, close: watch::Receiver<bool>) -> Result<()> {
        let serving = axum::serve(listener, self.router()).with_graceful_shutdown(closed(close.clone()));
        tokio::select! {
            served = serving.into_future() => served.context("the API ended"),
            () = async { closed(close).await; tokio::time::sleep(CLOSE_PATIENCE).await } => Ok(()),
        }
    }

    fn router(self: Arc<Self>) -> Router {
        Router::new()
            .route(protocol::HELLO, get(work::hello))
            .route(protocol::POLL, post(work::poll))
            .route(protocol::RENEW, post(work::renew))
            .route(protocol::REWATCH, post(work::rewatch))
            .route("/v1/files", post(files::add))
            .route("/v1/status", get(looking::status))
            .route("/v1/jobs", get(looking::jobs))
            .route("/metrics", get(metrics::metrics))
            .route("/healthz", get(looking::healthz))
            .layer(DefaultBodyLimit::max(BODY_BYTES_MAX))
            .layer(from_fn_with_state(self.clone(), guard::admit))
            .with_state(self)
    }
}

async fn closed(mut close: watch::Receiver<bool>) {
    // Whoever could close it has gone: that closes it too.
    let _ = close.wait_for(|close| *close).await;
}
