//! Workers of roots that answer at once, or never.

use std::sync::atomic::AtomicUsize;

use async_trait::async_trait;
use baler_core::file::Place as FilePlace;
use baler_core::ids::{JournalId, WorkerId};
use baler_core::request::Reply;
use tempfile::TempDir;

use super::super::slots::Pool;
use super::*;
use crate::depot::Depot;
use crate::desk::{Desk, Leases, Room};
use crate::folder::Folder;
use crate::merge::Merges;
use crate::report::ProgressView;
use crate::site::Site;

/// A root that answers at once, or never.
#[derive(Debug)]
struct Root {
    hangs: bool,
    polls: AtomicUsize,
    worker: WorkerId,
    leases: Arc<Leases>,
}

#[async_trait]
impl Desk for Root {
    fn journal(&self) -> JournalId {
        JournalId(1)
    }

    fn worker(&self) -> &WorkerId {
        &self.worker
    }

    fn leases(&self) -> &Arc<Leases> {
        &self.leases
    }

    async fn stirred(&self, _: Room, _: Duration) -> Result<bool, DeskError> {
        tokio::time::sleep(Duration::from_millis(100)).await;
        Ok(true)
    }

    async fn poll(&self, _: Room, _: Duration) -> Result<Vec<Assignment>, DeskError> {
        self.polls.fetch_add(1, Ordering::Relaxed);
        if self.hangs {
            std::future::pending::<()>().await;
        }
        Ok(vec![])
    }

    async fn tell(&self, _: Word) -> Result<Reply, DeskError> {
        Ok(Reply::Done)
    }

    async fn tell_and_ask(&self, _: Word, _: Room) -> Result<(Reply, Vec<Assignment>), DeskError> {
        Ok((Reply::Done, vec![]))
    }
}

fn root(hangs: bool) -> Arc<Root> {
    Arc::new(Root {
        hangs,
        polls: AtomicUsize::new(0),
        worker: WorkerId::from("here"),
        leases: Arc::default(),
    })
}

fn worker(dir: &TempDir, desk: &Arc<Root>, pool: &Arc<Pool>) -> Endless {
    let folder = Folder::open_root(dir.path()).unwrap();
    assert_eq!(folder.place(), FilePlace::Root);
    let hands = Hands {
        desk: desk.clone(),
        site: Site::new(Depot::Folder(Arc::new(folder)), None),
        merges: Merges::default(),
        threads: 1,
        range_bytes: 1 << 30,
        isolation: None,
        reread: false,
        progress: ProgressView::silent(),
        drain: Arc::default(),
        wasted: Arc::default(),
        next: None,
        cut: Arc::default(),
    };
    Endless::sharing(hands, pool.share(), Arc::default())
}

/// Trap: a root that does not answer keeps the only place, and with it every other root.
#[tokio::test(start_paused = true)]
async fn a_root_that_hangs_keeps_no_place_from_the_others() {
    let dir = tempfile::tempdir().unwrap();
    let pool = Pool::new(1, 1, 1 << 30);
    let (hanging, lively) = (root(true), root(false));
    let workers = [worker(&dir, &hanging, &pool), worker(&dir, &lively, &pool)];
    let mut running = JoinSet::new();
    for worker in workers {
        running.spawn(worker.run());
    }
    tokio::time::sleep(Duration::from_secs(60)).await;
    assert_eq!(hanging.polls.load(Ordering::Relaxed), 1);
    let polls = lively.polls.load(Ordering::Relaxed);
    assert!(polls > 100, "it was asked {polls} times in a minute");
}
