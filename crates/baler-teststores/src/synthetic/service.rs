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
use super::listing;
use super::objects::Objects;
use super::query::{Query, keys_of, split_path};
use super::reply::{self, Reply};
use super::uploads::Uploads;
use super::{BUCKET, Conditions, Tallies};

/// Between looking and writing, for a store that does one after the other.
const GAP: Duration = Duration::from_millis(5);

#[derive(Debug)]
pub(super) struct Service {
    layers: Layers,
    uploads: Uploads,
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
            uploads: Uploads::default(),
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
        let Some(query) = Query::parse(head.uri.query().unwrap_or_default()) else {
            return reply::error(StatusCode::BAD_REQUEST, "InvalidArgument");
        };
        let Ok(body) = body.collect().await else {
            return reply::error(StatusCode::BAD_REQUEST, "IncompleteBody");
        };
        let body = body.to_bytes();
        match (head.method, key.is_empty()) {
            (Method::GET, true) if query.list || query.uploads => self.list(&query),
            (Method::GET, true) => reply::error(StatusCode::NOT_FOUND, "NoSuchConfiguration"),
            (Method::GET, false) => self.get(&key, &head.headers),
            (Method::HEAD, _) => self.head(&key),
            (Method::PUT, false) if query.upload.is_some() => self.put_part(&query, body),
            (Method::PUT, false) => self.put(&key, body, &head.headers).await,
            (Method::POST, false) => self.post(&key, &query),
            (Method::DELETE, false) => self.delete(&key, &query, &head.headers),
            (Method::POST, true) if query.delete => self.delete_many(&body),
            _ => reply::error(StatusCode::NOT_IMPLEMENTED, "NotImplemented"),
        }
    }

    fn list(&self, query: &Query) -> Reply {
        count(&self.tallies.lists);
        reply::xml(match query.uploads {
            true => self.uploads.list(&query.prefix),
            false => listing::page(&self.layers, query),
        })
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
        let Some(source) = headers.get("x-amz-copy-source") else {
            let written = self.write(key, body, headers).await;
            return written.map_or_else(precondition_failed, |etag| reply::written(&etag));
        };
        let source = source.to_str().ok().and_then(split_path);
        let Some(stored) = source.and_then(|(_, key)| self.layers.get(&key)) else {
            return reply::error(StatusCode::NOT_FOUND, "NoSuchKey");
        };
        let written = self.write(key, stored.bytes, headers).await;
        written.map_or_else(precondition_failed, |etag| {
            reply::result("CopyObjectResult", "ETag", &etag)
        })
    }

    /// Keeps, ignores or breaks the conditions; the new ETag if they let it be written.
    async fn write(&self, key: &str, body: Bytes, headers: &HeaderMap) -> Option<String> {
        let allowed = |now: Option<&Stored>| is_match(headers, now) && (now.is_none() || !is_create(headers));
        match self.conditions {
            Conditions::Kept => self.layers.put(key, body, allowed),
            Conditions::Ignored => self.layers.put(key, body, |_| true),
            Conditions::CheckedThenActed if allowed(self.layers.get(key).as_ref()) => {
                sleep(GAP).await;
                self.layers.put(key, body, |_| true)
            }
            Conditions::CheckedThenActed => None,
        }
    }

    fn put_part(&self, query: &Query, body: Bytes) -> Reply {
        count(&self.tallies.puts);
        let id = query.upload.as_deref().unwrap_or_default();
        let added = query.part.and_then(|part| self.uploads.add(id, part, body));
        added.map_or_else(no_such_upload, |etag| reply::written(&etag))
    }

    /// Begins or completes an upload.
    fn post(&self, key: &str, query: &Query) -> Reply {
        count(&self.tallies.puts);
        let Some(id) = &query.upload else {
            return reply::result(
                "InitiateMultipartUploadResult",
                "UploadId",
                &self.uploads.begin(key),
            );
        };
        let whole = self.uploads.end(id);
        let written = whole.and_then(|whole| self.layers.put(key, whole, |_| true));
        written.map_or_else(no_such_upload, |etag| {
            reply::result("CompleteMultipartUploadResult", "ETag", &etag)
        })
    }

    fn delete(&self, key: &str, query: &Query, headers: &HeaderMap) -> Reply {
        count(&self.tallies.deletes);
        let deleted = match &query.upload {
            Some(id) => return self.uploads.end(id).map_or_else(no_such_upload, |_| no_content()),
            None => self.layers.delete(key, |now| is_match(headers, now)),
        };
        if deleted {
            no_content()
        } else {
            precondition_failed()
        }
    }

    fn delete_many(&self, body: &[u8]) -> Reply {
        count(&self.tallies.deletes);
        let mut deleted = String::new();
        for key in keys_of(body) {
            self.layers.delete(&key, |_| true);
            deleted += &format!("<Deleted><Key>{}</Key></Deleted>", listing::escape(&key));
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

fn no_such_upload() -> Reply {
    reply::error(StatusCode::NOT_FOUND, "NoSuchUpload")
}

fn no_content() -> Reply {
    reply::empty(StatusCode::NO_CONTENT)
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
