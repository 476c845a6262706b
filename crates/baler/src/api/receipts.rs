//! What committed jobs did, for those who cannot reach the bucket.

use std::sync::Arc;
use std::time::Duration;

use axum::extract::{Path, State};
use axum::http::{StatusCode, Uri};
use axum::response::Response;
use baler_core::ids::{JobId, TableName};

use super::Api;
use super::answer::{Refused, json};
use super::looking::table_in;
use crate::receipts::{Receipts, Wanted};

/// The youngest receipts, and how many older ones there are besides.
pub(super) async fn list(State(api): State<Arc<Api>>, uri: Uri) -> Result<Response, Refused> {
    let wanted = Wanted {
        table: table_in(&uri).map(TableName::from),
        since: since_in(&uri)?,
    };
    json(&Receipts::of(&api.station.root)?.find(&wanted).await?)
}

/// One of them, or null.
pub(super) async fn show(State(api): State<Arc<Api>>, Path(job): Path<String>) -> Result<Response, Refused> {
    let odd = |_| Refused(StatusCode::BAD_REQUEST, format!("{job} is no job's number"));
    let job: u64 = job.parse().map_err(odd)?;
    json(&Receipts::of(&api.station.root)?.get(JobId(job)).await?)
}

fn since_in(uri: &Uri) -> Result<Option<Duration>, Refused> {
    let mut pairs = uri.query().unwrap_or_default().split('&');
    let Some(text) = pairs.find_map(|pair| pair.strip_prefix("since_ms=")) else {
        return Ok(None);
    };
    let millis: Result<u64, _> = text.parse();
    let odd = |_| {
        let why = format!("since_ms={text} is no number of milliseconds");
        Refused(StatusCode::BAD_REQUEST, why)
    };
    millis.map(Duration::from_millis).map(Some).map_err(odd)
}
