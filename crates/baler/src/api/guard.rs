//! Who is let in: with the right token, while there is room, and not for ever.

use std::fmt;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use axum::extract::{Request, State};
use axum::http::StatusCode;
use axum::http::header::AUTHORIZATION;
use axum::middleware::Next;
use axum::response::Response;
use subtle::ConstantTimeEq;
use tokio::sync::Semaphore;

use super::answer::Refused;

/// A shorter token could be guessed.
const TOKEN_BYTES_MIN: usize = 16;

/// The token that workers must show.
pub struct Bearer(String);

impl fmt::Debug for Bearer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Bearer(…)")
    }
}

impl Bearer {
    /// Reads it from a file; white space around it does not count.
    pub fn read(path: &Path) -> Result<Self> {
        let text = std::fs::read_to_string(path);
        let text = text.with_context(|| format!("--token-file {} cannot be read", path.display()))?;
        Self::new(text.trim()).with_context(|| format!("--token-file {}", path.display()))
    }

    /// Checks one.
    pub fn new(token: &str) -> Result<Self> {
        if token.len() < TOKEN_BYTES_MIN || !token.chars().all(|c| c.is_ascii_graphic()) {
            bail!(
                "a token is at least {TOKEN_BYTES_MIN} printable ASCII characters without spaces, as \
                 `openssl rand -hex 32` makes them"
            );
        }
        Ok(Self(token.to_owned()))
    }

    /// The token itself.
    pub fn token(&self) -> &str {
        &self.0
    }

    /// How long the comparison takes says nothing about how much of the token was right.
    fn is_shown_by(&self, request: &Request) -> bool {
        let shown = request.headers().get(AUTHORIZATION);
        let shown = shown.and_then(|value| value.to_str().ok()?.strip_prefix("Bearer "));
        shown.is_some_and(|shown| shown.as_bytes().ct_eq(self.0.as_bytes()).into())
    }
}

/// Whether the process lives is nobody's secret.
const OPEN_PATH: &str = "/healthz";

/// Requests at once; polls that wait count too.
const REQUESTS_MAX: usize = 1_024;

/// How long a request may take, waiting for work included.
const REQUEST_MAX: Duration = Duration::from_secs(90);

/// Who is let in.
#[derive(Debug)]
pub(super) struct Gate {
    bearer: Option<Bearer>,
    room: Semaphore,
}

impl Gate {
    /// Without a token everybody who can reach it.
    pub(super) fn new(bearer: Option<Bearer>) -> Self {
        Self {
            bearer,
            room: Semaphore::new(REQUESTS_MAX),
        }
    }
}

pub(super) async fn admit(
    State(gate): State<Arc<Gate>>,
    request: Request,
    next: Next,
) -> Result<Response, Refused> {
    let open = request.uri().path() == OPEN_PATH;
    let bearer = gate.bearer.as_ref();
    let allowed = bearer.is_none_or(|bearer| bearer.is_shown_by(&request));
    if !open && !allowed {
        return Err(Refused(
            StatusCode::UNAUTHORIZED,
            "the token is missing or wrong: give --token-file, or the header Authorization: Bearer …"
                .to_owned(),
        ));
    }
    let Ok(_room) = gate.room.try_acquire() else {
        return Err(Refused(
            StatusCode::SERVICE_UNAVAILABLE,
            "too many requests at once: try again".to_owned(),
        ));
    };
    let answered = tokio::time::timeout(REQUEST_MAX, next.run(request)).await;
    answered.map_err(|_| {
        Refused(
            StatusCode::SERVICE_UNAVAILABLE,
            "it took too long: try again".to_owned(),
        )
    })
}
