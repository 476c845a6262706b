//! One coordinator, as those who ask it see it: behind HTTP, or behind whatever a program puts in its place.

use std::fmt;
use std::time::Duration;

use anyhow::{Context, anyhow, bail};
use async_trait::async_trait;
use bytes::Bytes;
use reqwest::StatusCode;
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::desk::DeskError;
use crate::desk::protocol::{self, Hello};

/// The way to a coordinator. Requests and answers are those of [`crate::desk::protocol`], as JSON.
#[async_trait]
pub trait Coordinator: fmt::Debug + Send + Sync {
    /// What people know it by.
    fn name(&self) -> &str;

    /// Sends a request, a `POST` if it has a body, and returns the body of a good answer.
    async fn exchange(
        &self,
        path: &str,
        body: Option<Vec<u8>>,
        patience: Duration,
    ) -> Result<Bytes, DeskError>;
}

impl dyn Coordinator {
    /// Which root it is about. One that speaks another version is of no use.
    pub async fn hello(&self) -> Result<Hello, DeskError> {
        let hello: Hello = self.get(protocol::HELLO, LOOK_MAX).await?;
        match hello.version {
            protocol::VERSION => Ok(hello),
            other => Err(DeskError::Lasting(anyhow!(
                "{} speaks version {other} of the protocol, this program {}: install the same version",
                self.name(),
                protocol::VERSION
            ))),
        }
    }

    pub(super) async fn get<T: DeserializeOwned>(
        &self,
        path: &str,
        patience: Duration,
    ) -> Result<T, DeskError> {
        self.understood(&self.exchange(path, None, patience).await?)
    }

    pub(super) async fn post<T: DeserializeOwned>(
        &self,
        path: &str,
        body: &(impl Serialize + Sync),
        patience: Duration,
    ) -> Result<T, DeskError> {
        let body = serde_json::to_vec(body).map_err(|error| DeskError::Lasting(error.into()))?;
        self.understood(&self.exchange(path, Some(body), patience).await?)
    }

    fn understood<T: DeserializeOwned>(&self, answer: &[u8]) -> Result<T, DeskError> {
        serde_json::from_slice(answer).map_err(|error| {
            DeskError::Lasting(anyhow!("{} answers what is not understood: {error}", self.name()))
        })
    }
}

const CONNECT_MAX: Duration = Duration::from_secs(5);

/// How long somebody who only looks waits for an answer.
const LOOK_MAX: Duration = Duration::from_secs(30);

/// A connection that nobody used for this long is not used again: a coordinator closes it soon.
const IDLE_MAX: Duration = Duration::from_secs(5);

/// A coordinator behind HTTP.
#[derive(Debug)]
pub struct Client {
    base: String,
    bearer: Option<String>,
    http: reqwest::Client,
}

impl Client {
    /// At this URL; the token is shown with each request.
    pub fn new(url: &str, token: Option<&str>) -> anyhow::Result<Self> {
        let base = url.trim_end_matches('/').to_owned();
        let parsed = reqwest::Url::parse(&base).with_context(|| format!("{url} is no URL"))?;
        if !matches!(parsed.scheme(), "http" | "https") || parsed.host().is_none() {
            bail!("{url}: a coordinator is named like http://host:7070");
        }
        let _chosen_before = rustls::crypto::ring::default_provider().install_default();
        // Coordinators are neighbours: what leads out of the house does not lead to them.
        let http = reqwest::Client::builder()
            .connect_timeout(CONNECT_MAX)
            .pool_idle_timeout(IDLE_MAX)
            .no_proxy()
            .build()?;
        let bearer = token.map(|token| format!("Bearer {token}"));
        Ok(Self { base, bearer, http })
    }

    /// What it answers to a look at this path, like `/v1/status`.
    pub async fn look<T: DeserializeOwned>(&self, path: &str) -> Result<T, DeskError> {
        (self as &dyn Coordinator).get(path, LOOK_MAX).await
    }
}

#[async_trait]
impl Coordinator for Client {
    fn name(&self) -> &str {
        &self.base
    }

    async fn exchange(
        &self,
        path: &str,
        body: Option<Vec<u8>>,
        patience: Duration,
    ) -> Result<Bytes, DeskError> {
        let url = format!("{}{path}", self.base);
        let mut request = match body {
            None => self.http.get(url),
            Some(body) => self
                .http
                .post(url)
                .header("content-type", "application/json")
                .body(body),
        };
        if let Some(bearer) = &self.bearer {
            request = request.header("authorization", bearer);
        }
        let unreachable = |error: reqwest::Error| {
            DeskError::Passing(anyhow!(error).context(format!("{} cannot be reached", self.base)))
        };
        let response = request.timeout(patience).send().await.map_err(unreachable)?;
        let status = response.status();
        let body = response.bytes().await.map_err(unreachable)?;
        if status.is_success() {
            return Ok(body);
        }
        let words = String::from_utf8_lossy(&body);
        let error = anyhow!("{} answers {status}: {}", self.base, words.trim());
        Err(match status {
            StatusCode::TOO_MANY_REQUESTS | StatusCode::REQUEST_TIMEOUT => DeskError::Passing(error),
            status if status.is_server_error() => DeskError::Passing(error),
            _ => DeskError::Lasting(error),
        })
    }
}
