//! What a worker tells of itself (`baler worker --listen`): its figures, and whether somebody gives it work.

use std::sync::Arc;

use anyhow::Result;
use axum::Router;
use axum::extract::State;
use axum::http::StatusCode;
use axum::middleware::from_fn_with_state;
use axum::routing::get;
use tokio::net::TcpListener;
use tokio::sync::watch;

use super::answer::{Refused, metrics_page};
use super::guard::{self, Bearer, Gate};
use super::listening::listen;
use crate::metrics::Board;

/// What a worker tells of itself.
#[derive(Debug)]
pub struct WorkerApi {
    gate: Arc<Gate>,
    board: Arc<Board>,
}

impl WorkerApi {
    /// Without a token everybody who can reach it is answered.
    pub fn new(bearer: Option<Bearer>, board: Arc<Board>) -> Self {
        Self {
            gate: Arc::new(Gate::new(bearer)),
            board,
        }
    }

    /// Answers until `close` says so.
    pub async fn serve(self, listener: TcpListener, close: watch::Receiver<bool>) -> Result<()> {
        let router = Router::new()
            .route("/metrics", get(metrics))
            .route("/healthz", get(healthz))
            .layer(from_fn_with_state(self.gate, guard::admit))
            .with_state(self.board);
        listen(listener, router, close).await
    }
}

async fn metrics(State(board): State<Arc<Board>>) -> impl axum::response::IntoResponse {
    metrics_page(board.text())
}

/// A worker is healthy while one of its roots answers: another process would not do better with the rest.
async fn healthz(State(board): State<Arc<Board>>) -> Result<&'static str, Refused> {
    match board.unreachable() {
        None => Ok("ok\n"),
        Some(errors) => Err(Refused(StatusCode::SERVICE_UNAVAILABLE, errors)),
    }
}
