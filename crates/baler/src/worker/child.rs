//! A merge in a process of its own. A range that workers did not survive runs in such a child: if it dies, whoever started
//! it lives on and says so. The two talk in lines of JSON: the order goes in, signs of progress and the end come out. A
//! child whose parent is gone ends too.

use std::io::{self, BufRead, BufReader, Write};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use baler_core::ids::JournalId;
use baler_core::request::Grant;
use baler_core::table::Catalog;
use serde::{Deserialize, Serialize};

use super::engine::{self, MergeEnd, Order};
use super::meter::Meter;
use crate::desk::{Held, Leases, Progress};
use crate::merge::Merges;
use crate::report::ProgressView;
use crate::root::Root;
use crate::store::OutputSettings;

/// The hidden command that a child is started with.
pub const COMMAND: &str = "merge-child";

/// How often a child says how far it is. It says so also while it does not move, so that it can be stopped.
const TELL: Duration = Duration::from_millis(200);

/// How a process starts a child of its own kind.
#[derive(Clone, Debug)]
pub struct Isolation {
    program: PathBuf,
    outputs: OutputSettings,
}

/// What a child is to merge.
#[derive(Debug, Serialize, Deserialize)]
struct ChildOrder {
    root: String,
    outputs: OutputSettings,
    journal: JournalId,
    catalog: Catalog,
    grant: Grant,
    threads: usize,
    memory_bytes: u64,
}

/// What a child says.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Line {
    Progress(Progress),
    Ended(Box<MergeEnd>),
}

impl Isolation {
    /// Children that run the same program, and write outputs marked like this.
    pub fn with_own_program(outputs: OutputSettings) -> Result<Self> {
        let program = std::env::current_exe().context("this program's own file cannot be found")?;
        Ok(Self { program, outputs })
    }

    /// Merges in a child, and waits for its end on a thread that may block.
    pub(super) async fn merge(&self, order: Order, meter: Arc<Meter>) -> MergeEnd {
        let isolation = self.clone();
        let merging = tokio::task::spawn_blocking(move || isolation.supervise(order, &meter));
        match merging.await {
            Ok(Ok(ending)) => ending,
            Ok(Err(error)) => MergeEnd::NodeFault(format!("a child process could not be started: {error:#}")),
            Err(panic) => MergeEnd::NodeFault(format!("whoever watched a child process panicked: {panic}")),
        }
    }

    fn supervise(&self, order: Order, meter: &Meter) -> Result<MergeEnd> {
        let order = ChildOrder {
            root: order.site.root.to_string(),
            outputs: self.outputs.clone(),
            journal: order.journal,
            catalog: order.catalog,
            grant: order.grant,
            threads: order.threads,
            memory_bytes: order.memory_bytes,
        };
        let order = serde_json::to_string(&order)?;
        let mut child = Command::new(&self.program)
            .arg(COMMAND)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()?;
        let ending = listen(&mut child, &order, meter);
        // Whatever it still does counts for nothing.
        let _gone_already = child.kill();
        let status = child.wait()?;
        match ending {
            Ok(Some(ending)) => Ok(ending),
            Ok(None) => Ok(MergeEnd::ChildDied(format!(
                "its merge ended the process: {status}"
            ))),
            Err(error) => Ok(MergeEnd::ChildDied(format!(
                "its merge ended the process: {status} ({error})"
            ))),
        }
    }
}

/// What the child says in the end; nothing if it says no more before it has.
fn listen(child: &mut Child, order: &str, meter: &Meter) -> io::Result<Option<MergeEnd>> {
    let (to, from) = (child.stdin.take(), child.stdout.take());
    let (Some(mut to), Some(from)) = (to, from) else {
        return Err(io::Error::other("no pipe leads to it"));
    };
    writeln!(to, "{order}")?;
    let mut told = Progress::default();
    for line in BufReader::new(from).lines() {
        match serde_json::from_str(&line?)? {
            Line::Ended(ending) => return Ok(Some(*ending)),
            Line::Progress(now) => {
                meter.relay(&told, &now);
                told = now;
            }
        }
        if meter.is_cancelled() {
            return Ok(Some(MergeEnd::Stopped));
        }
    }
    // Held until here: a child ends when its standard input does.
    drop(to);
    Ok(None)
}

/// What a child does: reads its order from standard input, merges, and says on standard output how it ended.
pub async fn run() -> Result<()> {
    let order = tokio::task::spawn_blocking(read_order).await??;
    let held = Arc::<Leases>::default().take(order.grant.attempt());
    let telling = tokio::spawn(tell_progress(held.held().clone()));
    let ending = merge(order, held.held()).await;
    telling.abort();
    say(&Line::Ended(Box::new(ending)))
}

fn read_order() -> Result<ChildOrder> {
    let mut line = String::new();
    io::stdin().lock().read_line(&mut line)?;
    let order = serde_json::from_str(&line).context("this command is for Baler itself to start")?;
    // Nobody waits for the result once standard input is closed.
    std::thread::spawn(|| {
        let _end = io::copy(&mut io::stdin().lock(), &mut io::sink());
        std::process::exit(1);
    });
    Ok(order)
}

async fn merge(order: ChildOrder, held: &Arc<Held>) -> MergeEnd {
    let root = match open(&order).await {
        Ok(root) => root,
        Err(error) => return MergeEnd::NodeFault(format!("a child process could not begin: {error:#}")),
    };
    let meter = Meter::new(ProgressView::silent(), &order.grant, Arc::default(), held.clone());
    let order = Order {
        site: root.site,
        journal: order.journal,
        catalog: order.catalog,
        merge: Merges::default().of(order.grant.job.merge.format()),
        grant: order.grant,
        threads: order.threads,
        memory_bytes: order.memory_bytes,
        spools: Arc::default(),
    };
    engine::merge(order, Arc::new(meter)).await
}

async fn open(order: &ChildOrder) -> Result<Root> {
    let root = Root::open_to_merge(&order.root.parse()?, order.outputs.clone()).await?;
    if root.journal()? != order.journal {
        bail!("another journal lies in {}", order.root);
    }
    Ok(root)
}

async fn tell_progress(held: Arc<Held>) {
    loop {
        tokio::time::sleep(TELL).await;
        if say(&Line::Progress(held.progress())).is_err() {
            return;
        }
    }
}

fn say(line: &Line) -> Result<()> {
    let mut out = io::stdout().lock();
    writeln!(out, "{}", serde_json::to_string(line)?)?;
    Ok(out.flush()?)
}
