//! Files are pushed: their names come one a line, as JSON objects with a `path`, or as the events that S3 sends.

use std::sync::Arc;

use axum::body::Bytes;
use axum::extract::State;
use axum::http::{StatusCode, Uri};
use axum::response::Response;
use baler_core::ids::TableName;
use serde::Serialize;

use super::Api;
use super::answer::{Refused, json};
use super::looking::table_in;
use crate::adding::{self, AddReport};
use crate::report::ProgressView;

#[derive(Debug, Serialize)]
struct Pushed {
    /// What became of the files of a native table.
    #[serde(flatten)]
    report: Option<AddReport>,
    /// Whether a plain root is listed now: what is new is found there.
    rescan: bool,
}

pub(super) async fn add(State(api): State<Arc<Api>>, uri: Uri, body: Bytes) -> Result<Response, Refused> {
    let root = &api.station.root;
    let names: Vec<anyhow::Result<String>> = adding::from_lines(&body[..]).collect();
    if !root.is_native() {
        // What is pushed must be whole and settled like everything else, so it is found the same way.
        names
            .into_iter()
            .collect::<anyhow::Result<Vec<_>>>()
            .map_err(|error| wrong(&error))?;
        api.station.nudge.notify_one();
        return json(&Pushed {
            report: None,
            rescan: true,
        });
    }
    let Some(table) = table_in(&uri) else {
        return Err(Refused(
            StatusCode::BAD_REQUEST,
            "say for which table: POST /v1/files?table=NAME".to_owned(),
        ));
    };
    let names = names.into_iter().collect::<anyhow::Result<Vec<_>>>();
    let names = names.map_err(|error| wrong(&error))?.into_iter().map(Ok);
    let table = TableName::from(table);
    let report = adding::add(root, &table, names, &ProgressView::silent()).await?;
    json(&Pushed {
        report: Some(report),
        rescan: false,
    })
}

fn wrong(error: &anyhow::Error) -> Refused {
    Refused(StatusCode::BAD_REQUEST, format!("{error:#}"))
}
