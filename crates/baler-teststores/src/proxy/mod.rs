//! A proxy that does to requests and answers what networks, time-outs and overloaded servers do. It passes bytes on as
//! they came, `Host` included, so that signatures made for the proxy's address hold at the server.
//!
//! One exchange a connection: whatever went wrong with one says nothing about the next.

mod exchange;
mod message;
mod script;

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;

use anyhow::{Context, Result};
use tokio::net::TcpListener;
use tokio::task::{JoinHandle, JoinSet};

use crate::s3::S3;
use exchange::Proxied;
use script::Script;

pub use script::{Exchange, Fault};

/// A proxy with scripted faults. It ends when it is dropped.
#[derive(Debug)]
pub struct FaultProxy {
    s3: S3,
    script: Arc<Script>,
    accepting: JoinHandle<()>,
}

impl FaultProxy {
    /// In front of an S3 server; without faults at first.
    pub async fn start(server: &S3) -> Result<Self> {
        let address = server.endpoint().strip_prefix("http://");
        let upstream: SocketAddr = address.context("the server speaks http")?.parse()?;
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
        let s3 = S3::on_port(listener.local_addr()?.port());
        let script = Arc::new(Script::default());
        let accepting = tokio::spawn(accept(listener, upstream, script.clone()));
        Ok(Self {
            s3,
            script,
            accepting,
        })
    }

    /// How to reach the server through the proxy.
    pub fn s3(&self) -> &S3 {
        &self.s3
    }

    /// The `nth` such request from now (1 is the next) on a path that contains `path_part` goes wrong. Only one fault
    /// happens to a request: the one planned first.
    pub fn plan(&self, method: &'static str, path_part: &str, nth: usize, fault: Fault) {
        self.script.plan(method, path_part, nth, fault);
    }

    /// Faults that were planned and have not happened yet.
    pub fn faults_left(&self) -> usize {
        self.script.faults_left()
    }

    /// From now on this befalls so many of a hundred requests, until `clear`.
    pub fn storm(&self, percent: u32, fault: Fault) {
        self.script.storm(percent, fault);
    }

    /// Forgets what was planned.
    pub fn clear(&self) {
        self.script.clear();
    }

    /// What was asked since this was last called, and what the server answered.
    pub fn take_exchanges(&self) -> Vec<Exchange> {
        self.script.take_exchanges()
    }

    /// Waits until every request that was to be applied late has been.
    pub async fn late_ones_landed(&self) {
        self.script.late_ones_landed().await;
    }
}

impl Drop for FaultProxy {
    fn drop(&mut self) {
        self.accepting.abort();
    }
}

/// Connections end with the task that accepts them.
async fn accept(listener: TcpListener, upstream: SocketAddr, script: Arc<Script>) {
    let mut connections = JoinSet::new();
    while let Ok((client, _)) = listener.accept().await {
        let proxied = Proxied {
            upstream,
            script: script.clone(),
        };
        // A connection that breaks is what this is for.
        connections.spawn(async move { drop(proxied.serve(client).await) });
        while connections.try_join_next().is_some() {}
    }
}
