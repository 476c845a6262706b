//! One coordinator, as those who ask it see it.

use std::time::Duration;

use anyhow::{Context, anyhow, bail};
use reqwest::{Method, RequestBuilder, StatusCode};
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::desk::DeskError;

const CONNECT_MAX: Duration = Duration::from_secs(5);

/// How long somebody who only looks waits for an answer.
const LOOK_MAX: Duration = Duration::from_secs(30);

/// A connection that nobody used for this long is not used again: a coordinator closes it soon.
const IDLE_MAX: Duration = Duration::from_secs(5);

/// One coordinator.
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

    pub(super) fn name(&self) -> &str {
        &self.base
    }

    /// What it answers to a look at this path, like `/v1/status`.
    pub async fn look<T: DeserializeOwned>(&self, path: &str) -> Result<T, DeskError> {
        self.get(path, LOOK_MAX).await
    }

    pub(super) async fn get<T: DeserializeOwned>(
        &self,
        path: &str,
        patience: Duration,
    ) -> Result<T, DeskError> {
        self.send(self.request(Method::GET, path), patience).await
    }

    pub(super) async fn post<T: DeserializeOwned>(
        &self,
        path: &str,
        body: &(impl Serialize + Sync),
        patience: Duration,
    ) -> Result<T, DeskError> {
        let body = serde_json::to_vec(body).map_err(|error| DeskError::Lasting(error.into()))?;
        let request = self
            .request(Method::POST, path)
            .header("content-type", "application/json")
            .body(body);
        self.send(request, patience).await
    }

    fn request(&self, method: Method, path: &str) -> RequestBuilder {
        let request = self.http.request(method, format!("{}{path}", self.base));
        match &self.bearer {
            Some(bearer) => request.header("authorization", bearer),
            None => request,
        }
    }

    async fn send<T: DeserializeOwned>(
        &self,
        request: RequestBuilder,
        patience: Duration,
    ) -> Result<T, DeskError> {
        let unreachable = |error: reqwest::Error| {
            DeskError::Passing(anyhow!(error).context(format!("{} cannot be reached", self.base)))
        };
        let response = request.timeout(patience).send().await.map_err(unreachable)?;
        let status = response.status();
        let body = response.bytes().await.map_err(unreachable)?;
        if status.is_success() {
            return serde_json::from_slice(&body).map_err(|error| {
                DeskError::Lasting(anyhow!("{} answers what is not understood: {error}", self.base))
            });
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
