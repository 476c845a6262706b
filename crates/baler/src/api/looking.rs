//! How things stand, for people, programs and machines.

use std::sync::Arc;
use std::time::Duration;

use axum::extract::State;
use axum::http::{StatusCode, Uri};
use axum::response::Response;
use baler_core::ids::TableName;

use super::Api;
use super::answer::{Refused, json, metrics_page};
use crate::report::{Heard, Jobs, Status};

/// A state this young proves that the journal can be reached.
const HEALTHY: Duration = Duration::from_secs(15);

pub(super) async fn status(State(api): State<Arc<Api>>, uri: Uri) -> Result<Response, Refused> {
    let only = table_in(&uri).map(TableName::from);
    let station = &api.station;
    json(&Status::of(
        &station.root,
        only.as_ref(),
        &Heard::by(&station.watch),
    )?)
}

pub(super) async fn jobs(State(api): State<Arc<Api>>, uri: Uri) -> Result<Response, Refused> {
    let only = table_in(&uri).map(TableName::from);
    let station = &api.station;
    json(&Jobs::of(
        &station.root,
        only.as_ref(),
        &Heard::by(&station.watch),
    )?)
}

pub(super) async fn metrics(State(api): State<Arc<Api>>) -> Response {
    metrics_page(api.board.text())
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

/// Names of tables are plain: there is nothing to unescape.
pub(super) fn table_in(uri: &Uri) -> Option<&str> {
    let mut pairs = uri.query()?.split('&');
    pairs.find_map(|pair| pair.strip_prefix("table="))
}
