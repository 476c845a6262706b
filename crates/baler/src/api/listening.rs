//! Taking connections. Each is bounded: how many there are at once, and how long a client may take to say what it wants. A client that
//! sends a header byte by byte, or nothing at all, is cut.

use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Result;
use axum::Router;
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};
use tokio::task::JoinSet;

/// Connections at once. Whoever comes later waits until one of them ends.
const CONNECTIONS_MAX: usize = 2_048;

/// How long a client may take for the head of a request, from when the connection is free for it. Longer than clients of Baler
/// keep an idle connection.
const HEAD_MAX: Duration = Duration::from_secs(10);

/// How long requests that are under way may still take when the process is to stop.
const CLOSE_PATIENCE: Duration = Duration::from_secs(10);

/// After an error of the machine's own, like too many open files.
const ACCEPT_PAUSE: Duration = Duration::from_millis(200);

/// Answers until `close` says so, and then what is still under way.
pub(super) async fn listen(
    listener: TcpListener,
    router: Router,
    close: watch::Receiver<bool>,
) -> Result<()> {
    let room = Arc::new(Semaphore::new(CONNECTIONS_MAX));
    let mut open = JoinSet::new();
    loop {
        let permit = tokio::select! {
            permit = room.clone().acquire_owned() => permit?,
            () = closed(close.clone()) => break,
        };
        tokio::select! {
            accepted = listener.accept() => match accepted {
                Ok((stream, _)) => {
                    open.spawn(converse(stream, router.clone(), close.clone(), permit));
                }
                Err(error) => {
                    tracing::warn!("a connection could not be taken: {error}");
                    tokio::time::sleep(ACCEPT_PAUSE).await;
                }
            },
            () = closed(close.clone()) => break,
        }
        while open.try_join_next().is_some() {}
    }
    drop(listener);
    let under_way = async { while open.join_next().await.is_some() {} };
    let _cut_where_it_takes_longer = tokio::time::timeout(CLOSE_PATIENCE, under_way).await;
    Ok(())
}

async fn converse(
    stream: TcpStream,
    router: Router,
    close: watch::Receiver<bool>,
    _room: OwnedSemaphorePermit,
) {
    let service = TowerToHyperService::new(router);
    let mut connection = pin!(
        http1::Builder::new()
            .timer(TokioTimer::new())
            .header_read_timeout(HEAD_MAX)
            .serve_connection(TokioIo::new(stream), service)
    );
    let ended = tokio::select! {
        ended = connection.as_mut() => ended,
        () = closed(close) => {
            connection.as_mut().graceful_shutdown();
            connection.await
        }
    };
    if let Err(error) = ended {
        tracing::debug!("a connection ended: {error}");
    }
}

async fn closed(mut close: watch::Receiver<bool>) {
    // Whoever could close it has gone: that closes it too.
    let _ = close.wait_for(|close| *close).await;
}
