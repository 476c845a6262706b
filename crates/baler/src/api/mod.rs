//! A coordinator's HTTP API: JSON below `/v1`, health and metrics beside it. Everything is bounded: connections, heads, bodies,
//! requests at once, and how long each may take. A worker that listens answers the last line only.
//!
//! | path | who asks | what |
//! |---|---|---|
//! | `GET /v1/root`, `POST /v1/poll`, `/v1/renew`, `/v1/rewatch` | workers | see `desk::protocol` |
//! | `POST /v1/files` | those who write files | these are new |
//! | `GET /v1/receipts`, `GET /v1/receipts/{job}` | people and programs | what committed jobs did |
//! | `GET /v1/status`, `GET /v1/jobs` | people and programs | how things stand |
//! | `GET /healthz`, `GET /metrics` | machines | whether it can commit; figures |

mod answer;
#[cfg(feature = "parquet")]
mod files;
mod guard;
mod listening;
mod looking;
mod receipts;
mod work;
mod worker;

pub use guard::Bearer;
pub use worker::WorkerApi;

use std::sync::Arc;

use anyhow::Result;
use axum::Router;
use axum::extract::DefaultBodyLimit;
use axum::middleware::from_fn_with_state;
use axum::routing::{get, post};
use tokio::net::TcpListener;
use tokio::sync::watch;

use crate::desk::protocol;
use crate::metrics::Board;
use crate::station::Station;
use crate::store::OutputSettings;
use guard::Gate;
use listening::listen;

/// A body may be this long. The end of an attempt names each input and output of its range.
const BODY_BYTES_MAX: usize = 32 << 20;

/// What the handlers share.
#[derive(Debug)]
pub struct Api {
    station: Arc<Station>,
    outputs: OutputSettings,
    gate: Arc<Gate>,
    board: Arc<Board>,
}

impl Api {
    /// For a coordinator. Without a token everybody who can reach it is heard.
    pub fn new(
        station: Arc<Station>,
        outputs: OutputSettings,
        bearer: Option<Bearer>,
        board: Arc<Board>,
    ) -> Self {
        Self {
            station,
            outputs,
            gate: Arc::new(Gate::new(bearer)),
            board,
        }
    }

    /// Answers until `close` says so, and then what is still under way.
    pub async fn serve(self: Arc<Self>, listener: TcpListener, close: watch::Receiver<bool>) -> Result<()> {
        listen(listener, self.router(), close).await
    }

    /// All of it, for programs that answer other requests too.
    pub fn router(self: Arc<Self>) -> Router {
        let router = Router::new();
        #[cfg(feature = "parquet")]
        let router = router.route("/v1/files", post(files::add));
        router
            .route(protocol::HELLO, get(work::hello))
            .route(protocol::POLL, post(work::poll))
            .route(protocol::RENEW, post(work::renew))
            .route(protocol::REWATCH, post(work::rewatch))
            .route("/v1/status", get(looking::status))
            .route("/v1/jobs", get(looking::jobs))
            .route("/v1/receipts", get(receipts::list))
            .route("/v1/receipts/{job}", get(receipts::show))
            .route("/metrics", get(looking::metrics))
            .route("/healthz", get(looking::healthz))
            .layer(DefaultBodyLimit::max(BODY_BYTES_MAX))
            .layer(from_fn_with_state(self.gate.clone(), guard::admit))
            .with_state(self)
    }
}
