//! From a grant to a merge and back: inputs opened in the version that was planned, outputs staged under the
//! attempt's own folder, and errors sorted by who is to blame.

use std::io;
use std::sync::Arc;

use baler_core::event::Quarantined;
use baler_core::file::{File, FilePath, Identity};
use baler_core::ids::{JournalId, RangeId};
use baler_core::job::{Finished, Output, Range};
use baler_core::request::Grant;
use baler_core::stretch;
use baler_core::table::Catalog;
use baler_journal::host::{self, Broken};
use futures::{StreamExt, TryStreamExt, stream};
use serde::{Deserialize, Serialize};

use super::bench::AttemptBench;
use super::ledger::Ledger;
use super::meter::Meter;
use super::rereading;
use crate::cache::Spools;
use crate::depot::{Depot, DepotError, Input, InputError};
use crate::desk::Phase;
use crate::folder::advice;
use crate::merge::{Merge, MergeFault, Merged, Work};
use crate::site::Site;
use crate::store::Kind;

/// What to merge, and with what.
pub(super) struct Order {
    pub(super) site: Site,
    pub(super) journal: JournalId,
    pub(super) catalog: Catalog,
    pub(super) grant: Grant,
    pub(super) merge: Arc<dyn Merge>,
    pub(super) threads: usize,
    pub(super) memory_bytes: u64,
    /// Whether outputs are read back before they count.
    pub(super) reread: bool,
    /// What the attempt takes.
    pub(super) ledger: Arc<Ledger>,
    /// Outputs on their way into the cache.
    pub(super) spools: Arc<Spools>,
}

impl Order {
    /// Where part number `part` is written: native tables are read through the journal alone, so that theirs need no
    /// second name.
    pub(super) fn written_as(&self, part: u32) -> FilePath {
        let attempt = self.grant.attempt();
        match self.catalog.publishes() {
            true => attempt.staged(part),
            false => self
                .grant
                .job
                .output_path(&self.catalog, self.journal, &attempt, part),
        }
    }

    /// Whether all other ranges of the job were finished when this one was granted.
    fn is_last(&self) -> bool {
        let finished = |(id, range): (RangeId, &Range)| id == self.grant.range || range.finished().is_some();
        let mut keys = (0u32..).map(RangeId::Keys).zip(&self.grant.job.ranges);
        keys.all(finished)
    }
}

/// How a merge ended.
#[derive(Debug, Serialize, Deserialize)]
pub(super) enum MergeEnd {
    /// Everything is written and durable; and this is what a look at each input said afterwards, if one was taken.
    Merged {
        finished: Box<Finished>,
        inputs_now: Option<Vec<Option<Identity>>>,
    },
    /// It was asked to stop.
    Stopped,
    /// Inputs are not what they were.
    InputsChanged(Vec<Quarantined>),
    /// Inputs are bad: these, or nobody knows which.
    InputFault {
        error: String,
        culprits: Vec<Quarantined>,
    },
    /// This machine could not.
    NodeFault(String),
    /// The store did not answer, or refused.
    StoreFault(String),
    /// The table's spec does not fit its files.
    Impossible(String),
    /// It ended the process that it ran in, which was a child of this one.
    ChildDied(String),
}

/// Opens the inputs, merges their rows of the range on a thread that may block, and looks at the inputs once more.
pub(super) async fn merge(order: Order, meter: Arc<Meter>) -> MergeEnd {
    let inputs = match open_inputs(&order, &|| meter.step()).await {
        Ok(inputs) => inputs,
        Err(ending) => return ending,
    };
    meter.enter(Phase::Merging);
    let order = Arc::new(order);
    let merging = {
        let (order, meter) = (order.clone(), meter.clone());
        host::blocking(move || merge_opened(&order, &inputs, &meter))
    };
    match merging.await {
        Ok(Ok(merged)) => after_merge(&order, merged, &meter).await,
        Ok(Err(error)) => blame(&order, error).await,
        Err(panic) => panicked(&panic),
    }
}

/// Whatever it met in its inputs, the engine did not expect it.
pub(super) fn panicked(panic: &Broken) -> MergeEnd {
    MergeEnd::InputFault {
        error: format!("the merge panicked: {panic}"),
        culprits: vec![],
    }
}

/// The inputs in the version that was planned; `step` is called for each.
pub(super) async fn open_inputs(
    order: &Order,
    step: &(dyn Fn() + Sync),
) -> Result<Vec<Arc<dyn Input>>, MergeEnd> {
    let mut inputs: Vec<Arc<dyn Input>> = Vec::new();
    let mut changed = Vec::new();
    for file in &order.grant.job.inputs {
        step();
        let depot = order.site.depot_of(&file.path);
        match depot.open_input(file).await {
            Ok(input) => inputs.push(order.site.cached(file, order.ledger.counted(depot, input))),
            Err(InputError::Gone { .. } | InputError::Changed { .. }) => {
                changed.push(charge(file, "gone or overwritten"));
            }
            Err(error) => return Err(fault(depot, error.to_string())),
        }
    }
    match changed.is_empty() {
        true => Ok(inputs),
        false => Err(MergeEnd::InputsChanged(changed)),
    }
}

fn merge_opened(
    order: &Arc<Order>,
    inputs: &[Arc<dyn Input>],
    meter: &Arc<Meter>,
) -> Result<Merged, MergeFault> {
    #[cfg(debug_assertions)]
    super::hook::harm_by(&order.grant.job);
    let bench = AttemptBench::new(order.clone(), meter.clone());
    order.merge.merge(&Work {
        job: &order.grant.job,
        span: order.grant.span(),
        inputs,
        threads: order.threads,
        memory_bytes: order
            .memory_bytes
            .saturating_sub(order.site.root.output_bytes_held()),
        reread: order.reread,
        bench: &bench,
    })
}

/// The inputs are looked at only now, so that nothing that changed during the merge goes unseen. While other ranges are
/// to come it would be too early: one look after the last of them says it for all.
async fn after_merge(order: &Arc<Order>, merged: Merged, meter: &Meter) -> MergeEnd {
    if order.reread
        && !baler_core::planted!(NotReread)
        && let Err(ending) = rereading::check_all(order, &merged.outputs, meter).await
    {
        return ending;
    }
    let inputs_now = match order.is_last() {
        true => look_again(order).await.map(Some),
        false => Ok(None),
    };
    match inputs_now {
        Ok(inputs_now) => MergeEnd::Merged {
            finished: Box::new(finished(order, merged)),
            inputs_now,
        },
        Err(ending) => ending,
    }
}

/// What each input is now.
pub(super) async fn look_again(order: &Order) -> Result<Vec<Option<Identity>>, MergeEnd> {
    let looked = versions_now(order).await;
    for file in &order.grant.job.inputs {
        let depot = order.site.depot_of(&file.path);
        order.ledger.asked(depot, Kind::Head, 1);
    }
    looked.map_err(|error| fault(order.site.inbox(), error.to_string()))
}

/// Nobody's fault but the place's.
pub(super) fn fault(depot: &Depot, error: String) -> MergeEnd {
    match depot {
        Depot::Folder(_) => MergeEnd::NodeFault(error),
        Depot::Bucket(_) => MergeEnd::StoreFault(error),
    }
}

async fn versions_now(order: &Order) -> Result<Vec<Option<Identity>>, DepotError> {
    let looks = stream::iter(order.grant.job.inputs.clone()).map(|file| {
        let depot = order.site.depot_of(&file.path).clone();
        async move { depot.version_now(&file).await }
    });
    looks
        .buffered(order.site.inbox().looks_at_once())
        .try_collect()
        .await
}

/// An input that is not what it was is nobody's fault, whatever the engine says of it.
pub(super) async fn blame(order: &Order, error: MergeFault) -> MergeEnd {
    let inputs = &order.grant.job.inputs;
    // Where the files can be cut is asked of all inputs at once: what the store says then may be about any of them.
    let by_store = |source: &io::Error| source.raw_os_error().is_none();
    let may_be_theirs = match &error {
        MergeFault::Input { .. } | MergeFault::Read { .. } => true,
        MergeFault::Node { source, .. } => by_store(source) && !baler_core::planted!(GoneBeforeTheCut),
        MergeFault::Cancelled | MergeFault::Spec(_) | MergeFault::Proof(_) => false,
    };
    if may_be_theirs {
        let changed: Vec<Quarantined> = match versions_now(order).await {
            Ok(now) => inputs
                .iter()
                .zip(now)
                .filter(|(file, now)| now.as_ref() != Some(&file.identity))
                .map(|(file, _)| charge(file, "gone or overwritten"))
                .collect(),
            Err(error) => return fault(order.site.inbox(), error.to_string()),
        };
        if !changed.is_empty() {
            return MergeEnd::InputsChanged(changed);
        }
    }
    match error {
        MergeFault::Input { culprits, reason } => {
            let culprits = culprits.into_iter().filter_map(|index| inputs.get(index));
            let culprits = culprits.map(|file| charge(file, &reason)).collect();
            MergeEnd::InputFault {
                error: reason,
                culprits,
            }
        }
        MergeFault::Read { input, source } => {
            let name = inputs
                .get(input)
                .map_or_else(String::new, |file| file.path.to_string());
            let error = format!("cannot read {name}: {source}{}", advice(&source));
            fault(order.site.inbox(), error)
        }
        // The system's own errors carry its number; what a store says comes without.
        MergeFault::Node { doing, source } if by_store(&source) => {
            fault(&order.site.root, format!("{doing} failed: {source}"))
        }
        MergeFault::Node { doing, source } => {
            MergeEnd::NodeFault(format!("{doing} failed: {source}{}", advice(&source)))
        }
        MergeFault::Cancelled => MergeEnd::Stopped,
        MergeFault::Spec(error) => MergeEnd::Impossible(error),
        MergeFault::Proof(error) => MergeEnd::InputFault {
            error,
            culprits: vec![],
        },
    }
}

fn charge(file: &File, reason: &str) -> Quarantined {
    Quarantined {
        path: file.path.clone(),
        identity: file.identity.clone(),
        reason: reason.into(),
    }
}

fn finished(order: &Order, merged: Merged) -> Finished {
    let attempt = order.grant.attempt();
    let job = &order.grant.job;
    let effort = order.ledger.effort(&order.site.root, &merged);
    let outputs = merged.outputs.into_iter().map(|output| Output {
        part: output.part,
        path: job.output_path(&order.catalog, order.journal, &attempt, output.part),
        bytes: output.bytes,
        rows: output.rows,
        copied: output.copied,
        digest: output.digest,
        checksum: output.checksum,
        keys: output.keys,
        times: output.times,
    });
    Finished {
        token: attempt.token,
        outputs: outputs.collect(),
        reads: merged.reads,
        drops: merged.drops,
        copied: merged.copied,
        stretches: stretch::bounded(merged.stretches),
        effort: Some(effort),
    }
}
