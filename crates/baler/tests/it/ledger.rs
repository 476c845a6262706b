//! What a root's journal says was done, read past the program: which job replaced which file, and which attempts came to
//! nothing.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use baler_core::event::{Event, ReleaseReason};
use baler_core::ids::{JobId, RangeId, Sequence, Token};
use baler_journal::store::Store;
use baler_journal::{Access, Journal, ObjectLog};

/// The journal of a root, added up.
#[derive(Debug, Default)]
pub(crate) struct Ledger {
    /// Bytes of each file that was ever live, by path.
    bytes: BTreeMap<String, u64>,
    /// What each job was to replace.
    inputs: BTreeMap<JobId, Vec<String>>,
    committed: BTreeSet<JobId>,
    leased: BTreeMap<(Sequence, u32), JobId>,
    finished: BTreeSet<(Sequence, u32)>,
    /// Why attempts ended without a result.
    pub(crate) released: Vec<ReleaseReason>,
    pub(crate) taken_over: u64,
}

impl Ledger {
    pub(crate) async fn read(store: Arc<dyn Store>) -> Self {
        let log = ObjectLog::open(store, Access::ReadOnly).await.unwrap();
        let mut ledger = Self::default();
        for sequence in (1..).map(Sequence) {
            let Some(entry) = log.read(sequence).await.unwrap() else {
                break;
            };
            for (event, index) in entry.batch.events.iter().zip(0..) {
                ledger.add(event, (sequence, index));
            }
        }
        ledger
    }

    fn add(&mut self, event: &Event, at: (Sequence, u32)) {
        match event {
            Event::FilesAdded { files, .. } => {
                let sizes = files.iter().map(|file| (file.path.to_string(), file.bytes()));
                self.bytes.extend(sizes);
            }
            Event::JobPlanned { job, inputs, .. } => {
                let inputs = inputs.iter().map(ToString::to_string);
                self.inputs.insert(*job, inputs.collect());
            }
            Event::RangeLeased {
                job,
                range: RangeId::Keys(_),
                ..
            } => {
                self.leased.insert(at, *job);
            }
            Event::RangeReleased { why, .. } => self.released.push(why.clone()),
            Event::RangeFinished { finished, .. } => {
                self.finished.insert(key(finished.token));
                let outputs = finished.outputs.iter();
                self.bytes
                    .extend(outputs.map(|output| (output.path.to_string(), output.bytes)));
            }
            Event::JobCommitted { job } => {
                self.committed.insert(*job);
            }
            Event::WatcherTakenOver { .. } => self.taken_over += 1,
            _ => {}
        }
    }

    /// Each file that was replaced, with how often.
    pub(crate) fn replaced(&self) -> BTreeMap<&str, u64> {
        let mut replaced = BTreeMap::new();
        for input in self.committed.iter().flat_map(|job| &self.inputs[job]) {
            *replaced.entry(input.as_str()).or_default() += 1;
        }
        replaced
    }

    pub(crate) fn jobs(&self) -> usize {
        self.committed.len()
    }

    /// The share of bytes that were merged for nothing, of all that were to be merged. An attempt that came to nothing counts
    /// whole, however far it was.
    pub(crate) fn wasted_share(&self) -> f64 {
        let bytes = |job: &JobId| -> u64 { self.inputs[job].iter().map(|path| self.bytes[path]).sum() };
        let (mut wasted, mut all) = (0, 0);
        for (token, job) in &self.leased {
            all += bytes(job);
            if !self.finished.contains(token) {
                wasted += bytes(job);
            }
        }
        wasted as f64 / all.max(1) as f64
    }
}

fn key(token: Token) -> (Sequence, u32) {
    (token.sequence, token.index)
}
