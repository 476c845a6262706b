//! Catalogs of the owner's that lose answers, are moved by others, refuse, or forget.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Result, bail};
use async_trait::async_trait;
use baler::embed::Baler;
use baler::owner::{Catalog, Commit, History, Tried};
use baler::settings::Merging;
use baler_core::external::CatalogVersion;
use baler_core::ids::TableName;
use baler_core::job::JobStatus;
use baler_core::request::Request;

use super::format;
use super::manifest::Manifests;
use super::store::{self, FourByFour, Store, TABLE};

/// How a catalog behaves at its first commits.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Mood {
    /// The commit lands, and the answer is lost.
    LosesAnswers,
    /// Nothing lands, and nobody hears why.
    Fails,
    /// Others commit all the time.
    IsMoved,
    /// It does not want it.
    Refuses,
    /// The commit lands, the answer is lost, and then its history.
    Forgets,
}

#[derive(Debug)]
struct Moody {
    manifests: Manifests,
    mood: Mood,
    tries: Arc<AtomicU32>,
}

#[async_trait]
impl Catalog for Moody {
    async fn version(&self) -> Result<CatalogVersion> {
        self.manifests.version().await
    }

    async fn commit(&self, commit: &Commit, base: CatalogVersion) -> Result<Tried> {
        let tries = self.tries.fetch_add(1, Ordering::Relaxed);
        match self.mood {
            Mood::Refuses => return Ok(Tried::Refused("the owner does not want it".to_owned())),
            _ if tries >= 2 => {}
            Mood::LosesAnswers | Mood::Forgets => {
                self.manifests.commit(commit, base).await?;
                bail!("the answer was lost");
            }
            Mood::Fails => bail!("the disk is full"),
            Mood::IsMoved => self.manifests.update(|_| {})?,
        }
        self.manifests.commit(commit, base).await
    }

    async fn history(&self, after: CatalogVersion) -> Result<History> {
        match self.mood {
            Mood::Forgets => Ok(History::Cut {
                reason: "old versions are gone".to_owned(),
            }),
            _ => self.manifests.history(after).await,
        }
    }

    async fn pass(&self, base: CatalogVersion) -> Result<()> {
        self.manifests.pass(base).await
    }
}

/// Four files are written and merged, and the commit meets a catalog in this mood.
async fn merged(folder: &Path, mood: Mood) -> (Store, Baler, Arc<AtomicU32>) {
    let mut store = Store::open(folder).unwrap();
    let tries: Arc<AtomicU32> = Arc::default();
    let catalog = Moody {
        manifests: store.manifests().clone(),
        mood,
        tries: tries.clone(),
    };
    let merging = Merging::new(Some(1), Some(1), 64 << 20, 1 << 30).unwrap();
    let baler = Baler::builder(&folder.display().to_string())
        .table(TABLE, store::table())
        .format(format::merge())
        .policy(TABLE, FourByFour)
        .catalog(TABLE, catalog)
        .worker(merging);
    let baler = baler.start().await.unwrap();
    for file in 0..4 {
        store.add("counter", 1);
        store.set("file", &file.to_string());
        store.set("tmp/x", "y");
        store.flush(&baler).await.unwrap();
    }
    (store, baler, tries)
}

async fn until(what: &str, mut is_so: impl FnMut() -> bool) {
    let begun = Instant::now();
    while !is_so() {
        assert!(begun.elapsed() < Duration::from_secs(30), "{what}");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

fn live(baler: &Baler) -> usize {
    baler.state().tables[&TableName::from(TABLE)].files.len()
}

fn told(story: impl Future<Output = ()>) {
    let runtime = tokio::runtime::Builder::new_multi_thread();
    let runtime = { runtime }.worker_threads(2).enable_all().build().unwrap();
    runtime.block_on(story);
    runtime.shutdown_background();
}

#[test]
fn a_commit_whose_answer_was_lost_is_found_and_not_made_again() {
    told(async {
        let folder = tempfile::tempdir().unwrap();
        let (store, baler, tries) = merged(folder.path(), Mood::LosesAnswers).await;
        until("it is committed", || live(&baler) == 1).await;
        assert_eq!(tries.load(Ordering::Relaxed), 1, "it had landed");
        assert_eq!(store.read_all().unwrap()["counter"], "4");
        assert!(
            !store.read_all().unwrap().contains_key("tmp/x"),
            "the filter dropped it"
        );
        baler.stop().await.unwrap();
    });
}

#[test]
fn a_commit_that_failed_or_was_overtaken_is_tried_again() {
    for mood in [Mood::Fails, Mood::IsMoved] {
        told(async {
            let folder = tempfile::tempdir().unwrap();
            let (store, baler, tries) = merged(folder.path(), mood).await;
            until("it is committed", || live(&baler) == 1).await;
            assert_eq!(tries.load(Ordering::Relaxed), 3);
            assert_eq!(store.read_all().unwrap()["counter"], "4");
            baler.stop().await.unwrap();
        });
    }
}

#[test]
fn what_the_catalog_refuses_fails_and_the_inputs_stand() {
    told(async {
        let folder = tempfile::tempdir().unwrap();
        let (store, baler, _) = merged(folder.path(), Mood::Refuses).await;
        let failed = || {
            baler
                .state()
                .recent
                .iter()
                .any(|job| job.status == JobStatus::Failed)
        };
        until("it failed", failed).await;
        assert_eq!(live(&baler), 4);
        assert_eq!(store.read_all().unwrap()["counter"], "4");
        baler.stop().await.unwrap();
    });
}

#[test]
fn where_the_history_is_cut_an_operator_is_asked() {
    told(async {
        let folder = tempfile::tempdir().unwrap();
        let (_store, baler, _) = merged(folder.path(), Mood::Forgets).await;
        let stuck = || {
            let state = baler.state();
            let mut jobs = state.jobs.values();
            jobs.any(|job| job.tries.as_ref().is_some_and(|tries| tries.stuck.is_some()))
        };
        until("it is stuck", stuck).await;
        let job = *baler.state().jobs.keys().next().unwrap();
        let settle = Request::SettleCommit { job, landed: true };
        baler.root().replica.submit(settle).await.unwrap();
        assert_eq!(live(&baler), 1);
        baler.stop().await.unwrap();
    });
}
