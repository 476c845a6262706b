//! One request: what kind it is, how long it takes, and what it does.

use std::convert::Infallible;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use bytes::Bytes;
use http::header::{IF_MATCH, IF_NONE_MATCH, RANGE};
use http::{HeaderMap, Method, Request, StatusCode};
use http_body_util::BodyExt;
use hyper::body::Incoming;
use tokio::time::sleep;

use super::layers::{Layers, Stored};
use super::listing::{self, Query};
use super::objects::Objects;
use super::reply::{self, Reply};
use super::{BUCKET, Conditions, Tallies};

/// Between looking and writing, for a store that does one after the other.
const GAP: Duration = Duration::from_millis(5);

#[derive(Debug)]
pub(super) struct Service {
    layers: Layers,
    latency: Duration,
    conditions: Conditions,
    tallies: Arc<Tallies>,
}

impl Service {
    pub(super) fn new(
        objects: Objects,
        latency: Duration,
        conditions: Conditions,
        tallies: Arc<Tallies>,
    ) -> Self {
        Self {
            layers: Layers::new(objects),
            latency,
            conditions,
            tallies,
        }
    }

    pub(super) async fn answer(&self, request: Request<Incoming>) -> Result<Reply, Infallible> {
        let at_once = self.tallies.at_once.fetch_add(1, Ordering::Relaxed) + 1;
        self.tallies.at_once_max.fetch_max(at_once, Ordering::Relaxed);
        if !self.latency.is_zero() {
            sleep(self.latency).await;
        }
        let reply = self.route(request).await;
        self.tallies.at_once.fetch_sub(1, Ordering::Relaxed);
        Ok(reply)
    }

    async fn route(&self, request: Request<Incoming>) -> Reply {
        let (head, body) = request.into_parts();
        let Some((bucket, key)) = split_path(head.uri.path()) else {
            return reply::error(StatusCode::BAD_REQUEST, "InvalidURI");
        };
        if bucket != BUCKET {
            return reply::error(StatusCode::NOT_FOUND, "NoSuchBucket");
        }
        let query = head.uri.query().unwrap_or_default();
        let Ok(body) = body.collect().await else {
            return reply::error(StatusCode::BAD_REQUEST, "IncompleteBody");
        };
        let body = body.to_bytes();
        match (head.method, key.is_empty()) {
            (Method::GET, true) => self.list(query),
            (Method::GET, false) => self.get(&key, &head.headers),
            (Method::HEAD, _) => self.head(&key),
            (Method::PUT, false) if query.is_empty() => self.put(&key, body, &head.headers).await,
            (Method::DELETE, false) if query.is_empty() => self.delete(&key, &head.headers),
            (Method::POST, true) if query.starts_with("delete") => self.delete_many(&body),
            _ => reply::error(StatusCode::NOT_IMPLEMENTED, "NotImplemented"),
        }
    }

    fn list(&self, query: &str) -> Reply {
        count(&self.tallies.lists);
        match parse_query(query) {
            Some(query) => reply::xml(listing::page(&self.layers, &query)),
            None => reply::error(StatusCode::BAD_REQUEST, "InvalidArgument"),
        }
    }

    fn get(&self, key: &str, headers: &HeaderMap) -> Reply {
        count(&self.tallies.gets);
        let range = headers.get(RANGE).and_then(|range| range.to_str().ok());
        match self.layers.get(key) {
            None => reply::error(StatusCode::NOT_FOUND, "NoSuchKey"),
            Some(stored) if !is_match(headers, Some(&stored)) => precondition_failed(),
            Some(stored) => reply::body(&stored, range),
        }
    }

    fn head(&self, key: &str) -> Reply {
        count(&self.tallies.heads);
        match self.layers.get(key) {
            None => reply::empty(StatusCode::NOT_FOUND),
            Some(stored) => reply::head(&stored),
        }
    }

    async fn put(&self, key: &str, body: Bytes, headers: &HeaderMap) -> Reply {
        count(&self.tallies.puts);
        let allowed = |now: Option<&Stored>| is_match(headers, now) && (now.is_none() || !is_create(headers));
        let written = match self.conditions {
            Conditions::Kept => self.layers.put(key, body, allowed),
            Conditions::Ignored => self.layers.put(key, body, |_| true),
            Conditions::CheckedThenActed if allowed(self.layers.get(key).as_ref()) => {
                sleep(GAP).await;
                self.layers.put(key, body, |_| true)
            }
            Conditions::CheckedThenActed => None,
        };
        written.map_or_else(precondition_failed, |etag| reply::written(&etag))
    }

    fn delete(&self, key: &str, headers: &HeaderMap) -> Reply {
        count(&self.tallies.deletes);
        match self.layers.delete(key, |now| is_match(headers, now)) {
            true => reply::empty(StatusCode::NO_CONTENT),
            false => precondition_failed(),
        }
    }

    fn delete_many(&self, body: &[u8]) -> Reply {
        count(&self.tallies.deletes);
        let text = String::from_utf8_lossy(body);
        let mut deleted = String::new();
        for part in text.split("<Key>").skip(1) {
            let key = part.split("</Key>").next().unwrap_or_default();
            self.layers.delete(&unescape(key), |_| true);
            deleted += &format!("<Deleted><Key>{key}</Key></Deleted>");
        }
        reply::xml(format!(
            "<?xml version=\"1.0\"?><DeleteResult>{deleted}</DeleteResult>"
        ))
    }
}

fn count(tally: &AtomicU64) {
    tally.fetch_add(1, Ordering::Relaxed);
}

fn precondition_failed() -> Reply {
    reply::error(StatusCode::PRECONDITION_FAILED, "PreconditionFailed")
}

fn is_create(headers: &HeaderMap) -> bool {
    headers.get(IF_NONE_MATCH).is_some_and(|value| value == "*")
}

fn is_match(headers: &HeaderMap, now: Option<&Stored>) -> bool {
    match headers.get(IF_MATCH) {
        Some(wanted) => now.is_some_and(|now| wanted == now.etag.as_str()),
        None => true,
    }
}

/// `/bucket/key`, decoded.
fn split_path(path: &str) -> Option<(String, String)> {
    let path = path.strip_prefix('/')?;
    let (bucket, key) = path.split_once('/').unwrap_or((path, ""));
    Some((decode(bucket)?, decode(key)?))
}

fn parse_query(text: &str) -> Option<Query> {
    let mut query = Query::default();
    for pair in text.split('&') {
        let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
        let value = decode(&value.replace('+', " "))?;
        match name {
            "prefix" => query.prefix = value,
            "delimiter" => query.delimiter = Some(value),
            "start-after" => query.start_after = Some(value),
            "continuation-token" => query.token = Some(value),
            "max-keys" => query.keys_max = Some(value.parse().ok()?),
            _ => {}
        }
    }
    Some(query)
}

fn decode(text: &str) -> Option<String> {
    percent_encoding::percent_decode_str(text)
        .decode_utf8()
        .ok()
        .map(Into::into)
}

fn unescape(text: &str) -> String {
    text.replace("&lt;", "<")
        .replace("&gt;", ">")
        .replace("&quot;", "\"")
        .replace("&apos;", "'")
        .replace("&amp;", "&")
}
