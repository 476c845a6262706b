//! A merge in a process of its own. A range that workers did not survive runs in such a child, and with `--isolate` every
//! one: if it dies, whoever started it lives on and says so. The two talk in lines of JSON: the order goes in, signs of
//! progress and the end come out. A child whose parent is gone ends too.
//!
//! ```text
//!  Isolation ─▶ supervise: start, write the order, listen ──▶ run: limit itself, open, merge
//!                   ▲                                           │
//!                   └── Line: signs of life … the end ──────────┘     and its last words on standard error
//! ```

mod limit;
mod line;
mod run;
mod supervise;

pub use run::run;

use std::path::PathBuf;
use std::sync::Arc;

use anyhow::{Context, Result};

use super::engine::{MergeEnd, Order};
use super::meter::Meter;
use crate::settings::Usage;
use crate::store::OutputSettings;
use line::{Said, Task};

/// The hidden command that a child is started with.
pub const COMMAND: &str = "merge-child";

/// How a process merges in children.
#[derive(Clone, Debug)]
pub struct Isolation {
    program: PathBuf,
    outputs: OutputSettings,
    every_merge: bool,
}

impl Isolation {
    /// Children that run the same program, for what may kill whoever merges it. They write outputs marked like this.
    pub fn with_own_program(outputs: OutputSettings) -> Result<Self> {
        let program = std::env::current_exe().context("this program's own file cannot be found")?;
        Ok(Self::with_program(program, outputs))
    }

    /// The same with another program: a `baler`, or one that calls [`run`] with its formats when its only argument is
    /// [`COMMAND`].
    pub fn with_program(program: PathBuf, outputs: OutputSettings) -> Self {
        Self {
            program,
            outputs,
            every_merge: false,
        }
    }

    /// Whether every merge runs in a child. Refused where the system cannot limit a child's memory.
    pub fn of_every_merge(mut self, every_merge: bool) -> Result<Self, Usage> {
        check_can_isolate(every_merge)?;
        self.every_merge = every_merge;
        Ok(self)
    }

    /// Whether every merge runs in a child, and not only what may kill whoever merges it.
    pub(super) fn is_of_every_merge(&self) -> bool {
        self.every_merge
    }

    /// Merges in a child.
    pub(super) async fn merge(&self, order: Order, meter: Arc<Meter>) -> MergeEnd {
        match self.supervised(order, Task::Merge, meter).await {
            Said::Ended(ending) => *ending,
            Said::Cut(_) => MergeEnd::NodeFault("a child process was to merge, and cut a job".to_owned()),
        }
    }

    /// Looks for the edges between so many ranges in a child.
    pub(super) async fn edges(
        &self,
        order: Order,
        ranges: usize,
        meter: Arc<Meter>,
    ) -> Result<Vec<Vec<u8>>, MergeEnd> {
        match self.supervised(order, Task::Cut { ranges }, meter).await {
            Said::Cut(edges) => Ok(edges),
            Said::Ended(ending) => Err(*ending),
        }
    }

    /// Waits for the child's end on a thread that may block.
    async fn supervised(&self, order: Order, task: Task, meter: Arc<Meter>) -> Said {
        let isolation = self.clone();
        let waiting = tokio::task::spawn_blocking(move || isolation.supervise(&order, task, &meter));
        let fault = match waiting.await {
            Ok(Ok(said)) => return said,
            Ok(Err(error)) => format!("a child process could not be started: {error:#}"),
            Err(panic) => format!("whoever watched a child process panicked: {panic}"),
        };
        Said::Ended(Box::new(MergeEnd::NodeFault(fault)))
    }
}

/// Refuses to run every merge in a child where the system cannot limit a child's memory.
pub fn check_can_isolate(wanted: bool) -> Result<(), Usage> {
    match wanted && !limit::IS_KEPT {
        true => Err(Usage(
            "--isolate needs a system that keeps a process within a limit of memory, and of these Baler knows Linux only: \
             leave it out here. What two workers did not survive runs in a child process all the same"
                .to_owned(),
        )),
        false => Ok(()),
    }
}
