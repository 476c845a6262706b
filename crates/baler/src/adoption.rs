//! Adopting what is there, while merging goes on: a listing sends its findings, and this asks the state to take them.

use std::collections::BTreeSet;
use std::sync::Arc;

use anyhow::{Result, anyhow, bail};
use baler_core::ids::Partition;
use baler_core::request::{Reply, Request};
use baler_journal::host;
use tokio::sync::{mpsc, watch};
use tokio::task::JoinHandle;

use crate::discovery::{self, Findings, Look, Step};
use crate::report::ProgressView;
use crate::root::Root;

/// Steps that a listing may be ahead of the journal.
const STEPS_AHEAD: usize = 4;

/// How far an adoption is.
#[derive(Clone, Debug, Default)]
pub struct Settled {
    /// Folders whose files have all been asked for, or enough of them to begin.
    pub partitions: BTreeSet<Partition>,
    /// Whether the listing has ended, well or not.
    pub ended: bool,
}

/// What an adoption came to.
#[derive(Debug, Default)]
pub struct Adopted {
    /// What the listing said.
    pub findings: Findings,
    /// Whether files were passed over because the state changed under the listing.
    pub unsettled: bool,
    /// Consumed files that hold something else now.
    pub changed: BTreeSet<String>,
}

/// An adoption under way.
#[derive(Debug)]
pub struct Adoption {
    settled: watch::Receiver<Settled>,
    task: JoinHandle<Result<Adopted>>,
}

impl Adoption {
    /// Begins to list.
    pub fn begin(root: Arc<Root>, look: Look, progress: ProgressView) -> Self {
        let (sender, settled) = watch::channel(Settled::default());
        let task = host::spawn(async move {
            let adopted = adopt(&root, look, &progress, &sender).await;
            sender.send_modify(|settled| settled.ended = true);
            adopted
        });
        Self { settled, task }
    }

    /// How far it is. The next `changed` waits for more than this.
    pub fn settled(&mut self) -> Settled {
        self.settled.borrow_and_update().clone()
    }

    /// Waits until it is further than `settled` last said.
    pub async fn changed(&mut self) {
        // It can only fail once the adoption has ended, and then there is nothing to wait for.
        let _ = self.settled.changed().await;
    }

    /// Ends it where it is. What was asked for so far stays; the next run goes on from there.
    pub fn stop(self) {
        self.task.abort();
    }

    /// What it came to, once it has ended.
    pub async fn end(self) -> Result<Adopted> {
        self.task
            .await
            .map_err(|panic| anyhow!("the listing panicked: {panic}"))?
    }
}

async fn adopt(
    root: &Arc<Root>,
    look: Look,
    progress: &ProgressView,
    settled: &watch::Sender<Settled>,
) -> Result<Adopted> {
    let (sender, steps) = mpsc::channel(STEPS_AHEAD);
    let looking = discovery::look(&root.site, &root.replica, &look, progress, sender);
    // When the taking fails, its end of the channel goes with it, and the listing ends as well.
    let (findings, adopted) = futures::join!(looking, take(root, steps, settled));
    let mut adopted = adopted?;
    adopted.findings = findings?;
    Ok(adopted)
}

async fn take(
    root: &Root,
    mut steps: mpsc::Receiver<Step>,
    settled: &watch::Sender<Settled>,
) -> Result<Adopted> {
    let mut adopted = Adopted::default();
    while let Some(step) = steps.recv().await {
        match step {
            Step::Ask(request) => adopted.ask(root, *request).await?,
            Step::Settled(partition) => settled.send_modify(|settled| {
                settled.partitions.insert(partition);
            }),
        }
    }
    Ok(adopted)
}

impl Adopted {
    async fn ask(&mut self, root: &Root, request: Request) -> Result<()> {
        match root.replica.submit(request).await? {
            Reply::Added(added) => {
                self.unsettled |= !added.later.is_empty();
                self.changed.extend(added.changed.iter().map(ToString::to_string));
            }
            Reply::Refused(refusal) => bail!("{refusal}"),
            _ => {}
        }
        Ok(())
    }
}
