//! An S3 server that holds far more objects than a test could write, with the latency of a distant one: their names
//! are computed, and their bodies are a few that the test hands in. What clients write lies over them, in memory. It can
//! also break its promises about conditions, as some real stores do. It checks no signatures.

mod layers;
mod listing;
mod objects;
mod query;
mod reply;
mod service;
mod uploads;

use std::net::Ipv4Addr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use anyhow::Result;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use tokio::net::TcpListener;
use tokio::task::{JoinHandle, JoinSet};

use crate::s3::S3;
use service::Service;

pub use objects::Objects;

/// The only bucket there is.
pub const BUCKET: &str = "synthetic";

/// What becomes of `If-None-Match: *`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Conditions {
    /// One writer wins.
    #[default]
    Kept,
    /// Everybody wins.
    Ignored,
    /// Looked at first, written a moment later: right in turn, wrong when raced.
    CheckedThenActed,
}

/// A synthetic S3 server. It ends when it is dropped.
#[derive(Debug)]
pub struct Synthetic {
    s3: S3,
    tallies: Arc<Tallies>,
    accepting: JoinHandle<()>,
}

impl Synthetic {
    /// Serves these objects; each request takes at least `latency`.
    pub async fn start(objects: Objects, latency: Duration, conditions: Conditions) -> Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
        let s3 = S3::on_port(listener.local_addr()?.port());
        let tallies = Arc::new(Tallies::default());
        let service = Service::new(objects, latency, conditions, tallies.clone());
        let accepting = tokio::spawn(accept(listener, Arc::new(service)));
        Ok(Self {
            s3,
            tallies,
            accepting,
        })
    }

    /// How to reach it; the bucket is [`BUCKET`].
    pub fn s3(&self) -> &S3 {
        &self.s3
    }

    /// Requests so far.
    pub fn counts(&self) -> Counts {
        let read = |tally: &AtomicU64| tally.load(Ordering::Relaxed);
        Counts {
            lists: read(&self.tallies.lists),
            gets: read(&self.tallies.gets),
            heads: read(&self.tallies.heads),
            puts: read(&self.tallies.puts),
            deletes: read(&self.tallies.deletes),
            at_once_max: read(&self.tallies.at_once_max),
        }
    }
}

impl Drop for Synthetic {
    fn drop(&mut self) {
        self.accepting.abort();
    }
}

/// How often each kind of request came.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Pages of listings.
    pub lists: u64,
    /// Reads, of whole objects or ranges.
    pub gets: u64,
    /// Looks at an object.
    pub heads: u64,
    /// Writes, copies and the requests of uploads in parts; those refused by a condition included.
    pub puts: u64,
    /// Deletions, of one or many.
    pub deletes: u64,
    /// The most requests under way at one moment.
    pub at_once_max: u64,
}

#[derive(Debug, Default)]
struct Tallies {
    lists: AtomicU64,
    gets: AtomicU64,
    heads: AtomicU64,
    puts: AtomicU64,
    deletes: AtomicU64,
    at_once: AtomicU64,
    at_once_max: AtomicU64,
}

/// Connections end with the task that accepts them.
async fn accept(listener: TcpListener, service: Arc<Service>) {
    let mut connections = JoinSet::new();
    while let Ok((stream, _)) = listener.accept().await {
        let service = service.clone();
        let answers = service_fn(move |request| {
            let service = service.clone();
            async move { service.answer(request).await }
        });
        let _slower_without = stream.set_nodelay(true);
        let connection =
            hyper::server::conn::http1::Builder::new().serve_connection(TokioIo::new(stream), answers);
        connections.spawn(async move { drop(connection.await) });
        while connections.try_join_next().is_some() {}
    }
}
