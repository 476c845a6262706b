//! One process that works for many roots: one pool of places and one budget of memory for all of them. Each root has its own
//! replica or coordinators, and its own troubles: one that fails or is slow is named, tried again later, and stops nobody else.
//!
//! | file | what |
//! |---|---|
//! | `bucket` | a root without a coordinator |
//! | `remote` | the coordinators of one root, or of several |
//! | `finding` | roots below a place, those that come later too |
//! | `standing` | whether a root can be worked for, for machines to see |

mod bucket;
mod finding;
mod remote;
mod standing;

pub use remote::Urls;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use baler_core::request::Scope;
use futures::future::BoxFuture;
use tokio::task::{Id, JoinSet};

use crate::cache::Cache;
use crate::desk::{Desk, Offer};
use crate::merge::Merges;
use crate::metrics::{Board, WorkerFigures};
use crate::report::ProgressView;
use crate::settings::Merging;
use crate::site::Site;
use crate::station::RescanSettings;
use crate::store::{Location, OutputSettings};
use crate::watch::jittered;
use crate::worker::child::Isolation;
use crate::worker::{Endless, Hands, Pool, Tally};
use finding::Finder;
use standing::Standing;

/// Roots that one process works for.
const ROOTS_MAX: usize = 1_000;

/// How often it is looked for new roots.
const LOOK_EVERY: Duration = Duration::from_secs(10);

const PAUSE_MIN: Duration = Duration::from_secs(1);
const PAUSE_MAX: Duration = Duration::from_secs(60);

/// How soon it is noticed that the process is to stop.
const STOP_CHECK: Duration = Duration::from_millis(50);

/// A process that works for many roots.
#[derive(Debug)]
pub struct Crew {
    /// How it merges.
    pub merging: Merging,
    /// Whether every merge runs in a child process.
    pub isolate: bool,
    /// Whether outputs are read back also where their table does not ask for it.
    pub reread: bool,
    /// What it is willing to work on.
    pub scope: Scope,
    /// How it looks for new files, where no coordinator does.
    pub rescan: RescanSettings,
    /// How long a silent process keeps its leases, where there is no coordinator.
    pub lease: Duration,
    /// The places of all roots.
    pub pool: Arc<Pool>,
    /// Where inputs may be found nearer, if somewhere.
    pub cache: Option<Arc<Cache>>,
    /// Where its figures are shown.
    pub board: Arc<Board>,
    /// Once set, it ends soon.
    pub drain: Arc<AtomicBool>,
}

/// Where the roots are that have no coordinator.
#[derive(Clone, Debug, Default)]
pub struct Roots {
    /// These.
    pub named: Vec<Location>,
    /// And those below these.
    pub under: Vec<Location>,
}

/// How a root came to be known.
#[derive(Clone, Copy)]
enum Told {
    /// It is waited for until it is there.
    ByName,
    /// It is forgotten when it is gone.
    ByALook,
}

/// One try at working for a root. It ends well only when the process is to stop, or the root is gone.
type Work = Box<dyn Fn() -> BoxFuture<'static, Result<()>> + Send + Sync>;

impl Crew {
    /// Works for these roots until it is asked to stop. A root that is the only one must be there: who mistyped it should hear of it.
    pub async fn work_on(self: &Arc<Self>, roots: &Roots) -> Result<()> {
        if let ([only], []) = (&roots.named[..], &roots.under[..]) {
            return self.clone().on_bucket(only).await;
        }
        if roots.named.len() > 1 {
            eprintln!("working on {} roots", roots.named.len());
        }
        let mut members = Members::default();
        for root in &roots.named {
            self.begin(root, Told::ByName, &mut members);
        }
        let mut finders = roots.under.iter().map(Finder::open).collect::<Result<Vec<_>>>()?;
        for place in &roots.under {
            eprintln!("working on the roots below {place}");
        }
        while !self.is_draining() {
            for finder in &mut finders {
                self.begin_found(finder, &mut members).await;
            }
            let looked = Instant::now();
            while looked.elapsed() < LOOK_EVERY && !self.is_draining() {
                self.pause(STOP_CHECK).await;
                while let Some(gone) = members.ended() {
                    finders.iter_mut().for_each(|finder| finder.forget(&gone));
                }
            }
        }
        members.all_ended().await;
        Ok(())
    }

    async fn begin_found(self: &Arc<Self>, finder: &mut Finder, members: &mut Members) {
        match finder.new_roots().await {
            Ok(roots) => roots
                .iter()
                .for_each(|root| self.begin(root, Told::ByALook, members)),
            Err(error) => tracing::warn!("{}: no roots can be looked for: {error:#}", finder.place()),
        }
    }

    fn begin(self: &Arc<Self>, root: &Location, told: Told, members: &mut Members) {
        if members.tasks.len() >= ROOTS_MAX {
            tracing::error!(
                "{root} is left alone: one process works for {ROOTS_MAX} roots at most. Start another one"
            );
            return;
        }
        let (crew, location) = (self.clone(), root.clone());
        let work: Work = Box::new(move || {
            let (crew, location) = (crew.clone(), location.clone());
            Box::pin(async move {
                match told {
                    Told::ByName => crew.on_bucket(&location).await,
                    Told::ByALook => crew.on_bucket_while_it_is_there(&location).await,
                }
            })
        });
        members.spawn(root, self.clone().tend(root.to_string(), work));
    }

    /// Works, and where that fails, tries again later, until the process is to stop.
    async fn tend(self: Arc<Self>, name: String, work: Work) {
        let standing = Arc::new(Standing::of(&name));
        let mut pause = PAUSE_MIN;
        while !self.is_draining() {
            self.board.take_down(&name);
            self.board.put_up(&name, standing.clone());
            standing.begins();
            let begun = Instant::now();
            let Err(error) = work().await else { break };
            standing.failed();
            if begun.elapsed() > PAUSE_MAX {
                pause = PAUSE_MIN;
            }
            tracing::warn!(
                root = name,
                "it is tried again in {} s: {error:#}",
                pause.as_secs()
            );
            self.pause(jittered(pause)).await;
            pause = (pause * 2).min(PAUSE_MAX);
        }
        self.board.take_down(&name);
    }

    fn offer(&self) -> Offer {
        Offer {
            isolates: true,
            scope: self.scope.clone(),
        }
    }

    fn is_draining(&self) -> bool {
        self.drain.load(Ordering::Relaxed)
    }

    /// Waits, unless the process is to stop.
    async fn pause(&self, length: Duration) {
        let until = Instant::now() + length;
        while Instant::now() < until && !self.is_draining() {
            let left = until.saturating_duration_since(Instant::now());
            tokio::time::sleep(STOP_CHECK.min(left)).await;
        }
    }

    /// A worker for one root, shown under this name.
    fn worker(
        &self,
        name: &str,
        desk: Arc<dyn Desk>,
        mut site: Site,
        outputs: OutputSettings,
        drain: &Drain,
    ) -> Result<Endless> {
        let isolation = Isolation::with_own_program(outputs)?.of_every_merge(self.isolate)?;
        site.cache.clone_from(&self.cache);
        let tally = Arc::new(Tally::default());
        let figures = WorkerFigures {
            root: site.root.to_string(),
            desk: desk.clone(),
            tally: tally.clone(),
        };
        self.board.put_up(name, Arc::new(figures));
        let hands = Hands {
            desk,
            site,
            merges: Merges::default(),
            threads: self.merging.threads,
            range_bytes: self.merging.range_bytes,
            isolation: Some(isolation),
            reread: self.reread,
            progress: ProgressView::silent(),
            drain: drain.flag.clone(),
            wasted: Arc::default(),
            next: None,
            cut: Arc::default(),
        };
        Ok(Endless::sharing(hands, self.pool.share(), tally))
    }
}

/// The roots that are worked for.
#[derive(Default)]
struct Members {
    tasks: JoinSet<()>,
    roots: BTreeMap<Id, Location>,
}

impl Members {
    fn spawn(&mut self, root: &Location, task: impl Future<Output = ()> + Send + 'static) {
        let id = self.tasks.spawn(task).id();
        self.roots.insert(id, root.clone());
    }

    /// One that is worked for no more.
    fn ended(&mut self) -> Option<Location> {
        let id = match self.tasks.try_join_next_with_id()? {
            Ok((id, ())) => id,
            Err(panic) => {
                tracing::error!("what works for a root panicked: {panic}");
                panic.id()
            }
        };
        self.roots.remove(&id)
    }

    async fn all_ended(mut self) {
        while self.tasks.join_next().await.is_some() {}
    }
}

/// One root's own sign to stop: set when the process is to stop, or when this root alone has ended.
struct Drain {
    flag: Arc<AtomicBool>,
    _forwarding: JoinSet<()>,
}

impl Drain {
    fn follow(all: &Arc<AtomicBool>) -> Self {
        let flag = Arc::new(AtomicBool::new(all.load(Ordering::Relaxed)));
        let (from, to) = (all.clone(), flag.clone());
        let mut forwarding = JoinSet::new();
        forwarding.spawn(async move {
            while !from.load(Ordering::Relaxed) {
                tokio::time::sleep(STOP_CHECK).await;
            }
            to.store(true, Ordering::Relaxed);
        });
        Self {
            flag,
            _forwarding: forwarding,
        }
    }
}

/// The same root has one name, however it was typed.
pub fn settled_name(location: &Location) -> Result<Location> {
    match location {
        Location::Local(path) => {
            let absolute = std::path::absolute(path).with_context(|| format!("{location} is no path"))?;
            Ok(Location::Local(
                std::fs::canonicalize(&absolute).unwrap_or(absolute),
            ))
        }
        Location::Bucket(_) => Ok(location.clone()),
    }
}
