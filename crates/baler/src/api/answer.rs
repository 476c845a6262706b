//! JSON in and out, and refusals in words.

use axum::body::Body;
use axum::http::header::CONTENT_TYPE;
use axum::http::{HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use baler_journal::JournalError;
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::settings::Usage;

/// Why something is not done, in words.
#[derive(Debug)]
pub(super) struct Refused(pub(super) StatusCode, pub(super) String);

impl IntoResponse for Refused {
    fn into_response(self) -> Response {
        (self.0, self.1 + "\n").into_response()
    }
}

impl From<JournalError> for Refused {
    fn from(error: JournalError) -> Self {
        Self(StatusCode::SERVICE_UNAVAILABLE, error.to_string())
    }
}

impl From<anyhow::Error> for Refused {
    fn from(error: anyhow::Error) -> Self {
        match error.is::<Usage>() {
            true => Self(StatusCode::BAD_REQUEST, format!("{error:#}")),
            false => Self(StatusCode::SERVICE_UNAVAILABLE, format!("{error:#}")),
        }
    }
}

pub(super) fn asked<T: DeserializeOwned>(body: &[u8]) -> Result<T, Refused> {
    serde_json::from_slice(body).map_err(|error| Refused(StatusCode::BAD_REQUEST, error.to_string()))
}

/// Figures, as Prometheus reads them.
pub(super) fn metrics_page(text: String) -> Response {
    ([(CONTENT_TYPE, "text/plain; version=0.0.4")], text).into_response()
}

pub(super) fn json(value: &impl Serialize) -> Result<Response, Refused> {
    let text = serde_json::to_string(value)
        .map_err(|error| Refused(StatusCode::INTERNAL_SERVER_ERROR, error.to_string()))?;
    let mut response = Response::new(Body::from(text + "\n"));
    response
        .headers_mut()
        .insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    Ok(response)
}
