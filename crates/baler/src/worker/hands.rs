//! What a worker works with: the same for every attempt, wherever the work comes from.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use baler_core::request::Reply;
use tokio::sync::{Notify, mpsc};

use super::attempt::{Attempt, Outcome};
use super::child::Isolation;
use super::endless::Works;
use super::memory::Loan;
use crate::desk::{Assignment, Desk, DeskError, Word};
use crate::merge::Merges;
use crate::report::ProgressView;
use crate::site::Site;

/// A range that came with the answer to an attempt's last word, and the memory for it.
#[derive(Debug)]
pub struct Handed {
    /// The range.
    pub assignment: Assignment,
    /// The memory.
    pub memory: Loan,
}

/// What a worker works with.
#[derive(Clone, Debug)]
pub struct Hands {
    /// Where it tells what became of its attempts.
    pub desk: Arc<dyn Desk>,
    /// Where the files lie.
    pub site: Site,
    /// The formats it knows.
    pub merges: Merges,
    /// Threads for each merge.
    pub threads: usize,
    /// A job of at least twice this is cut into ranges of about this.
    pub range_bytes: u64,
    /// How it merges what may kill whoever does; without it, such ranges are for others.
    pub isolation: Option<Isolation>,
    /// Outputs are read back also where their table does not ask for it.
    pub reread: bool,
    /// Shows how far it is.
    pub progress: ProgressView,
    /// Once set, attempts end soon and give back what is not finished.
    pub drain: Arc<AtomicBool>,
    /// Bytes that attempts wrote for nothing.
    pub wasted: Arc<AtomicU64>,
    /// Where work goes that comes with the answer to an attempt's last word; `None` for a worker that asks for itself.
    pub next: Option<mpsc::UnboundedSender<Handed>>,
    /// Told when an attempt has cut its job: there is more to do at once.
    pub cut: Arc<Notify>,
}

impl Hands {
    /// Whether to begin nothing new.
    pub fn is_draining(&self) -> bool {
        self.drain.load(Ordering::Relaxed)
    }

    /// Tells what frees an attempt's slot. Who goes on asks for the next range in the same breath, with the memory that the
    /// attempt had and what is spare.
    pub(super) async fn tell_last(&self, word: Word, memory: &Loan) -> Result<Reply, DeskError> {
        let Some(next) = self.next.as_ref().filter(|_| !self.is_draining()) else {
            return self.desk.tell(word).await;
        };
        memory.top_up();
        let (reply, assignments) = self.desk.tell_and_ask(word, memory.room()).await?;
        for assignment in assignments {
            let memory = memory.part(assignment.grant.memory_bytes);
            // Nobody listens any more only if the worker itself has failed, and its leases end with it.
            let _ = next.send(Handed { assignment, memory });
        }
        Ok(reply)
    }

    /// Begins an attempt with this memory. Its lease is held from now on.
    pub fn begin(
        &self,
        assignment: Assignment,
        memory: Loan,
    ) -> impl Future<Output = Result<Outcome, DeskError>> + use<> {
        Attempt::new(self.clone(), assignment, memory).run()
    }
}

impl Works for Hands {
    fn desk(&self) -> &Arc<dyn Desk> {
        &self.desk
    }

    fn is_draining(&self) -> bool {
        self.is_draining()
    }

    fn hand_on(&mut self, next: mpsc::UnboundedSender<Handed>) {
        self.next = Some(next);
    }

    fn begin(
        &self,
        assignment: Assignment,
        memory: Loan,
    ) -> impl Future<Output = Result<Outcome, DeskError>> + Send + 'static {
        self.begin(assignment, memory)
    }
}
