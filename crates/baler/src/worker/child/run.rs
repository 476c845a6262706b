//! What a child does: reads its order from standard input, limits its own memory, does what it was asked for, and says on
//! standard output how it ended.

use std::io::{self, BufRead, Write};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use anyhow::{Context, Result, anyhow};

use super::limit;
use super::line::{ChildOrder, Line, Said, Signs, TELL, Task};
use crate::cache::Cache;
use crate::desk::{Held, Leases};
use crate::merge::Merges;
use crate::report::ProgressView;
use crate::root::Root;
use crate::site::Site;
use crate::worker::cutting;
use crate::worker::engine::{self, MergeEnd, Order};
use crate::worker::ledger::Ledger;
use crate::worker::meter::Meter;

/// How long a child that is done waits for what still enters the cache.
const CACHE_PATIENCE: Duration = Duration::from_secs(5);

/// What a child does that knows these formats.
pub async fn run(merges: Merges) -> Result<()> {
    let order = tokio::task::spawn_blocking(read_order).await??;
    if let Some(bytes) = order.limit_bytes {
        limit::keep_within(bytes)?;
    }
    let site = match open(&order) {
        Ok(site) => site,
        Err(error) => {
            let fault = MergeEnd::NodeFault(format!("a child process could not begin: {error:#}"));
            return say(&Line::Done(Signs::default(), Said::Ended(Box::new(fault))));
        }
    };
    let held = Arc::<Leases>::default().take(order.grant.attempt());
    let teller = Teller::start(held.held().clone(), site.clone())?;
    let cache = site.cache.clone();
    let said = work(order, site, &merges, held.held()).await;
    teller.end_with(said)?;
    if let Some(cache) = cache {
        let _whether_or_not = tokio::task::spawn_blocking(move || cache.settle(CACHE_PATIENCE)).await;
    }
    Ok(())
}

fn read_order() -> Result<ChildOrder> {
    let mut line = String::new();
    io::stdin().lock().read_line(&mut line)?;
    let order = serde_json::from_str(&line).context("this command is for Baler itself to start")?;
    // Nobody waits for the result once standard input is closed.
    thread::spawn(|| {
        let _end = io::copy(&mut io::stdin().lock(), &mut io::sink());
        std::process::exit(1);
    });
    Ok(order)
}

/// Whoever gave the order has found this journal at this place, so the journal is not asked again.
fn open(order: &ChildOrder) -> Result<Site> {
    let root = order.root.parse()?;
    let source = order.source.as_deref().map(str::parse).transpose()?;
    let mut site = Root::site_to_merge(&root, source.as_ref(), order.outputs.clone())?;
    let cache = order.cache.as_ref();
    site.cache = cache
        .map(|cache| Cache::open(&cache.dir, cache.bytes_max))
        .transpose()?;
    Ok(site)
}

async fn work(order: ChildOrder, site: Site, merges: &Merges, held: &Arc<Held>) -> Said {
    let task = order.task;
    let meter = Meter::new(ProgressView::silent(), &order.grant, Arc::default(), held.clone());
    let order = Order {
        site,
        journal: order.journal,
        catalog: order.catalog,
        merge: merges.of(order.grant.job.merge.format()),
        grant: order.grant,
        threads: order.threads,
        memory_bytes: order.memory_bytes,
        reread: order.reread,
        ledger: Ledger::begin(),
        spools: Arc::default(),
    };
    match task {
        Task::Merge => Said::Ended(Box::new(engine::merge(order, Arc::new(meter)).await)),
        Task::Cut { ranges } => match cutting::edges(order, ranges, &|| meter.step()).await {
            Ok(edges) => Said::Cut(edges),
            Err(ending) => Said::Ended(Box::new(ending)),
        },
    }
}

/// Says how far a child is. A thread of its own does, so that nothing that hangs keeps it from doing so.
struct Teller {
    end: Sender<Said>,
    telling: JoinHandle<Result<()>>,
}

impl Teller {
    fn start(held: Arc<Held>, site: Site) -> Result<Self> {
        let (end, ended) = channel();
        let telling = thread::Builder::new()
            .name("teller".to_owned())
            .spawn(move || tell(&held, &site, &ended))?;
        Ok(Self { end, telling })
    }

    fn end_with(self, said: Said) -> Result<()> {
        let _gone_if_nobody_listens = self.end.send(said);
        self.telling.join().map_err(|_| anyhow!("the teller panicked"))?
    }
}

fn tell(held: &Held, site: &Site, ended: &Receiver<Said>) -> Result<()> {
    loop {
        let end = ended.recv_timeout(TELL);
        let usages = site.usages().into_iter();
        let signs = Signs {
            progress: held.progress(),
            steps: held.steps(),
            cpu_ms: cpu_ms(),
            usages: usages.map(|(usage, _)| usage).collect(),
        };
        match end {
            Ok(said) => return say(&Line::Done(signs, said)),
            Err(RecvTimeoutError::Timeout) => say(&Line::Lives(signs))?,
            Err(RecvTimeoutError::Disconnected) => return Ok(()),
        }
    }
}

fn cpu_ms() -> u64 {
    let spent = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    let (seconds, nanos) = (spent.tv_sec.unsigned_abs(), spent.tv_nsec.unsigned_abs());
    seconds * 1_000 + nanos / 1_000_000
}

fn say(line: &Line) -> Result<()> {
    let mut out = io::stdout().lock();
    writeln!(out, "{}", serde_json::to_string(line)?)?;
    Ok(out.flush()?)
}
