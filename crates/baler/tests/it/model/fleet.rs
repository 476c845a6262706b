//! The processes of a fleet in one: each with a replica, a watcher and a station of its own, or with nothing but a
//! coordinator. Only the wire, the disk and the merge are modelled.

use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use anyhow::anyhow;
use async_trait::async_trait;
use axum::Router;
use axum::body::Body;
use axum::http::Request as HttpRequest;
use baler::api::Api;
use baler::depot::Depot;
use baler::desk::{Assignment, Coordinator, Desk, DeskError, Leases, Offer, OwnDesk, RemoteDesk, Room, Word};
use baler::folder::Folder;
use baler::root::Root;
use baler::site::Site;
use baler::station::{RescanSettings, Station};
use baler::store::OutputSettings;
use baler::worker::{Endless, Handed, Loan, Outcome, Works};
use baler_core::event::Event;
use baler_core::ids::{JournalId, Sequence, WorkerId};
use baler_core::request::{Reply, Request};
use baler_core::time::StoreTime;
use baler_journal::replica::Settings;
use baler_journal::{Access, Journal, ObjectLog, Replica};
use bytes::Bytes;
use tempfile::TempDir;
use tokio::sync::{mpsc, watch};
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep};
use tower::ServiceExt;

use super::store::{Distant, LATENCY};
use super::work;

/// What a request to a coordinator takes, there and back.
const NEIGHBOUR: Duration = Duration::from_millis(1);

/// How work reaches the workers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Shape {
    BucketOnly,
    Coordinator,
}

impl fmt::Display for Shape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::BucketOnly => "bucket only",
            Self::Coordinator => "coordinator",
        })
    }
}

/// A root and those who work on it.
pub(super) struct Fleet {
    dir: TempDir,
    first: Distant,
    pub(super) drain: Arc<AtomicBool>,
    pub(super) work: Arc<Work>,
    pub(super) processes: Vec<Process>,
    running: JoinSet<anyhow::Result<()>>,
}

/// A process with a replica.
pub(super) struct Process {
    pub(super) store: Arc<Distant>,
    pub(super) station: Arc<Station>,
}

impl Process {
    pub(super) fn journal(&self) -> &dyn Journal {
        self.station.root.replica.journal().as_ref()
    }
}

/// What the workers did together.
#[derive(Debug)]
pub(super) struct Work {
    committed: watch::Sender<u64>,
    /// From a free slot to a grant for it.
    pub(super) claims: Mutex<Vec<Duration>>,
    /// From the end of a merge to the answer that it is committed.
    pub(super) commits: Mutex<Vec<Duration>>,
    /// From the moment that a file is written to the answer that it is committed.
    pub(super) drains: Mutex<Vec<Duration>>,
}

impl Fleet {
    /// An empty table on a distant store.
    pub(super) async fn begin() -> Self {
        let fleet = Self {
            dir: tempfile::tempdir().unwrap(),
            first: Distant::new(),
            drain: Arc::default(),
            work: Arc::new(Work {
                committed: watch::Sender::new(0),
                claims: Mutex::default(),
                commits: Mutex::default(),
                drains: Mutex::default(),
            }),
            processes: Vec::new(),
            running: JoinSet::new(),
        };
        let founder = fleet.replica(fleet.first.again()).await.0;
        let created = Request::CreateJournal(JournalId(1));
        founder.submit(created).await.unwrap();
        founder.submit(work::create_table()).await.unwrap();
        founder.close().await;
        fleet
    }

    async fn replica(&self, store: Distant) -> (Replica, Arc<Distant>) {
        let store = Arc::new(store);
        let log = ObjectLog::open(store.clone(), Access::ReadWrite).await.unwrap();
        let replica = Replica::open(Arc::new(log), Settings::default()).await;
        (replica.unwrap(), store)
    }

    /// A replica of somebody who writes files.
    pub(super) async fn writer(&self) -> Replica {
        self.replica(self.first.again()).await.0
    }

    /// What the store's clock says.
    pub(super) fn now(&self) -> StoreTime {
        self.first.now()
    }

    /// Entries after this one that say nothing but that a watcher lives.
    pub(super) async fn renewals(&self, after: Sequence) -> u64 {
        let log = ObjectLog::open(Arc::new(self.first.again()), Access::ReadOnly);
        let log = log.await.unwrap();
        let mut renewals = 0;
        for sequence in (after.0 + 1..).map(Sequence) {
            let Some(entry) = log.read(sequence).await.unwrap() else {
                break;
            };
            let renews = |event: &Event| matches!(event, Event::WatcherRenewed { .. });
            renewals += u64::from(entry.batch.events.iter().all(renews));
        }
        renewals
    }

    async fn process(&self, lease: Duration) -> Process {
        let (replica, store) = self.replica(self.first.again()).await;
        let folder = Folder::open_root(self.dir.path()).unwrap();
        let site = Site::new(Depot::Folder(Arc::new(folder)), None);
        let rescan = RescanSettings {
            every: None,
            settle: Duration::ZERO,
            adopt_foreign: false,
        };
        let root = Arc::new(Root::new(site, replica));
        let station = Station::new(root, lease, rescan, self.drain.clone());
        Process {
            store,
            station: Arc::new(station),
        }
    }

    /// Opens so many workers in this shape. Nothing is asked for yet.
    pub(super) async fn open(&mut self, shape: Shape, workers: usize) -> Vec<Endless<Hands>> {
        match shape {
            Shape::BucketOnly => {
                let mut opened = Vec::new();
                for _ in 0..workers {
                    let process = self.process(Duration::from_secs(60)).await;
                    let (root, watch) = (process.station.root.clone(), process.station.watch.clone());
                    opened.push(self.endless(Arc::new(OwnDesk::new(root, watch, Offer::default()).unwrap())));
                    self.processes.push(process);
                }
                opened
            }
            Shape::Coordinator => self.open_behind_coordinator(workers).await,
        }
    }

    async fn open_behind_coordinator(&mut self, workers: usize) -> Vec<Endless<Hands>> {
        let process = self.process(Duration::from_secs(15)).await;
        let api = Api::new(
            process.station.clone(),
            OutputSettings::default(),
            None,
            Arc::default(),
        );
        let neighbour: Arc<dyn Coordinator> = Arc::new(Neighbour(Arc::new(api).router()));
        let mut opened = Vec::new();
        for number in 0..workers {
            let id = WorkerId(format!("worker-{number}").into());
            let desk = RemoteDesk::connect_to(vec![neighbour.clone()], id, Offer::default()).await;
            let desk = Arc::new(desk.unwrap());
            opened.push(self.endless(desk.clone()));
            self.running.spawn(async move {
                desk.keep_alive().await;
                Ok(())
            });
        }
        self.processes.push(process);
        opened
    }

    fn endless(&self, desk: Arc<dyn Desk>) -> Endless<Hands> {
        let desk = Timed {
            desk,
            free_since: Mutex::new(None),
            work: self.work.clone(),
        };
        let hands = Hands {
            desk: Arc::new(desk),
            drain: self.drain.clone(),
            work: self.work.clone(),
            store: Arc::new(self.first.again()),
            next: None,
        };
        Endless::new(hands, 1, 1 << 30, Arc::default())
    }

    /// All begin at once.
    pub(super) fn start(&mut self, shape: Shape, workers: Vec<Endless<Hands>>) {
        let nobody = std::future::pending::<anyhow::Result<()>>;
        match shape {
            Shape::BucketOnly => {
                for (process, worker) in self.processes.iter().zip(workers) {
                    self.running
                        .spawn(process.station.clone().run(Some(worker), nobody(), || {}));
                }
            }
            Shape::Coordinator => {
                for process in &self.processes {
                    let station = process.station.clone();
                    self.running
                        .spawn(station.run(None::<Endless<Hands>>, nobody(), || {}));
                }
                for worker in workers {
                    self.running.spawn(worker.run());
                }
            }
        }
    }

    /// Returns once so many jobs are committed.
    pub(super) async fn until_committed(&mut self, jobs: u64) {
        let mut committed = self.work.committed.subscribe();
        tokio::select! {
            done = committed.wait_for(|committed| *committed >= jobs) => drop(done.unwrap()),
            Some(ended) = self.running.join_next() => panic!("a process ended: {ended:?}"),
        }
    }
}

/// What a worker works with, with a merge that sleeps.
#[derive(Clone, Debug)]
pub(super) struct Hands {
    desk: Arc<dyn Desk>,
    drain: Arc<AtomicBool>,
    work: Arc<Work>,
    store: Arc<Distant>,
    next: Option<mpsc::UnboundedSender<Handed>>,
}

impl Works for Hands {
    fn desk(&self) -> &Arc<dyn Desk> {
        &self.desk
    }

    fn is_draining(&self) -> bool {
        self.drain.load(Ordering::Relaxed)
    }

    fn hand_on(&mut self, next: mpsc::UnboundedSender<Handed>) {
        self.next = Some(next);
    }

    fn begin(
        &self,
        assignment: Assignment,
        memory: Loan,
    ) -> impl Future<Output = Result<Outcome, DeskError>> + Send + 'static {
        let Self {
            desk,
            work,
            store,
            next,
            ..
        } = self.clone();
        let holding = desk.leases().take(assignment.grant.attempt());
        async move {
            let mut assignment = assignment;
            cut_if_large(&*desk, &mut assignment).await?;
            let job = &assignment.grant.job;
            tokio::select! {
                () = sleep(work::takes(job.bytes() / job.ranges.len() as u64)) => {}
                () = holding.held().until_ended() => return Ok(Outcome::Released),
            }
            let begun = Instant::now();
            let finish = work::finish(&assignment, desk.journal());
            let (reply, assignments) = desk
                .tell_and_ask(Word::Finish(Box::new(finish)), memory.room())
                .await?;
            for assignment in assignments {
                let memory = memory.part(assignment.grant.memory_bytes);
                let handed = Handed { assignment, memory };
                next.as_ref().unwrap().send(handed).unwrap();
            }
            match reply {
                Reply::Finished {
                    committed: Some(job), ..
                } => {
                    work.commits.lock().unwrap().push(begun.elapsed());
                    let oldest = assignment
                        .grant
                        .job
                        .inputs
                        .iter()
                        .map(|file| file.identity.modified);
                    let waited = store.now().since(oldest.min().unwrap());
                    work.drains.lock().unwrap().push(Duration::from_millis(waited.0));
                    work.committed.send_modify(|committed| *committed += 1);
                    Ok(Outcome::Committed(Box::new(job)))
                }
                Reply::Finished { .. } => Ok(Outcome::Released),
                other => panic!("a finished job was answered {other:?}"),
            }
        }
    }
}

/// Footers are read, and the job is cut where they say.
async fn cut_if_large(desk: &dyn Desk, assignment: &mut Assignment) -> Result<(), DeskError> {
    let edges = work::edges(&assignment.grant.job);
    if edges.is_empty() {
        return Ok(());
    }
    sleep(3 * LATENCY).await;
    let attempt = assignment.grant.attempt();
    match desk.tell(Word::Cut { attempt, edges }).await? {
        Reply::Cut(grant) => assignment.grant = grant,
        other => panic!("a cut was answered {other:?}"),
    }
    Ok(())
}

/// A desk, with a look at the clock before and after.
#[derive(Debug)]
struct Timed {
    desk: Arc<dyn Desk>,
    free_since: Mutex<Option<Instant>>,
    work: Arc<Work>,
}

#[async_trait]
impl Desk for Timed {
    fn journal(&self) -> JournalId {
        self.desk.journal()
    }

    fn worker(&self) -> &WorkerId {
        self.desk.worker()
    }

    fn leases(&self) -> &Arc<Leases> {
        self.desk.leases()
    }

    async fn poll(&self, room: Room, wait: Duration) -> Result<Vec<Assignment>, DeskError> {
        let since = *self.free_since.lock().unwrap().get_or_insert_with(Instant::now);
        let assignments = self.desk.poll(room, wait).await?;
        if !assignments.is_empty() {
            self.work.claims.lock().unwrap().push(since.elapsed());
            *self.free_since.lock().unwrap() = None;
        }
        Ok(assignments)
    }

    async fn tell(&self, word: Word) -> Result<Reply, DeskError> {
        self.desk.tell(word).await
    }

    async fn tell_and_ask(&self, word: Word, room: Room) -> Result<(Reply, Vec<Assignment>), DeskError> {
        let since = Instant::now();
        let (reply, assignments) = self.desk.tell_and_ask(word, room).await?;
        match assignments.is_empty() {
            true => *self.free_since.lock().unwrap() = Some(since),
            false => self.work.claims.lock().unwrap().push(since.elapsed()),
        }
        Ok((reply, assignments))
    }
}

/// A coordinator's API without the sockets.
struct Neighbour(Router);

impl fmt::Debug for Neighbour {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Neighbour")
    }
}

#[async_trait]
impl Coordinator for Neighbour {
    fn name(&self) -> &str {
        "the coordinator"
    }

    async fn exchange(
        &self,
        path: &str,
        body: Option<Vec<u8>>,
        _patience: Duration,
    ) -> Result<Bytes, DeskError> {
        sleep(NEIGHBOUR).await;
        let method = if body.is_some() { "POST" } else { "GET" };
        let request = HttpRequest::builder().method(method).uri(path);
        let request = request.body(Body::from(body.unwrap_or_default())).unwrap();
        let answer = self.0.clone().oneshot(request).await.unwrap();
        let status = answer.status();
        let body = axum::body::to_bytes(answer.into_body(), usize::MAX)
            .await
            .unwrap();
        match status.is_success() {
            true => Ok(body),
            false => Err(DeskError::Passing(anyhow!("{status}: {body:?}"))),
        }
    }
}
