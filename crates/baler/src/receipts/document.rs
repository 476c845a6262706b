//! What a receipt says. Fields are added, never changed: a reader passes over what it does not know.

use std::sync::Arc;

use baler_core::event::ReleaseReason;
use baler_core::file::{Digest, File, Level, Place};
use baler_core::ids::{JobId, JournalId, RangeId, Sequence};
use baler_core::job::{Copied, Dropped, Finished, Job, Output, Span};
use baler_core::receipt::{Committed, Effort, Tried};
use baler_core::state::State;
use baler_core::stretch::{Proof, Stretch};
use baler_core::table::RowHash;
use serde::{Deserialize, Serialize};

use crate::depot::Depot;
use crate::store::Kind;

/// The version of what is written here.
pub const VERSION: u32 = 1;

/// Requests that publishing an output takes, beside the copy: is it there, is it staged, is it there now.
const LOOKS_PER_PUBLISHING: u64 = 3;

/// What a committed job did.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Receipt {
    /// The version of this format.
    pub receipt: u32,
    /// The journal that the job is of.
    pub journal: JournalId,
    /// Its number there.
    pub job: JobId,
    /// Its table.
    pub table: String,
    /// Its partition.
    pub partition: String,
    /// Why it was planned.
    pub why: String,
    /// When it was planned.
    pub planned: Moment,
    /// When it was committed.
    pub committed: Moment,
    /// What rows were hashed by for the digests, in files of Baler's own format.
    #[serde(default)]
    pub hash: RowHash,
    /// What it replaced.
    pub inputs: Vec<ReceiptInput>,
    /// By what.
    pub outputs: Vec<ReceiptOutput>,
    /// What rules let go, over all ranges.
    pub drops: Vec<Dropped>,
    /// Each stretch of its keys, and how it was proved.
    pub ranges: Vec<RangeProof>,
    /// Leases that were granted on it.
    pub attempts: u32,
    /// The last of them for each range.
    pub tried: Vec<Attempted>,
    /// What its attempts with a result took, and an estimate of its publishing.
    pub effort: Effort,
    /// The price of the requests by the store's list, in US dollars.
    pub price_usd: f64,
    /// When the job was undone, if it was. Added by whoever reads the receipt: it was written before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub undone: Option<Moment>,
}

/// A place in the journal, and the store's time of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Moment {
    /// The entry.
    pub entry: Sequence,
    /// When the store wrote it, or a little later; in milliseconds since 1970.
    pub unix_ms: u64,
}

/// A file that was replaced.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReceiptInput {
    /// Its name.
    pub path: String,
    /// Whether that is below the source of `--output`.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub in_source: bool,
    /// Which version of it.
    pub identity: String,
    /// Length in bytes.
    pub bytes: u64,
    /// When the store says it was written; in milliseconds since 1970.
    pub modified_ms: u64,
    /// Its level.
    pub level: Level,
    /// Its rows.
    pub rows: u64,
    /// Those among them that were copied as bytes.
    #[serde(default)]
    pub copied: u64,
    /// Digest of the others, taken before the merge.
    pub digest: Digest,
    /// XXH3-128 of its bytes, where it was on record.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub checksum: Option<Digest>,
}

/// A file that replaced them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReceiptOutput {
    /// Its name.
    pub path: String,
    /// Which version of it.
    pub identity: String,
    /// Length in bytes.
    pub bytes: u64,
    /// Its level.
    pub level: Level,
    /// Its rows.
    pub rows: u64,
    /// Those among them that were copied as bytes.
    #[serde(default)]
    pub copied: u64,
    /// Digest of the others, as the encoder was handed them.
    pub digest: Digest,
    /// XXH3-128 of its bytes.
    pub checksum: Digest,
}

/// A stretch of a job's keys, and how it was proved.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RangeProof {
    /// Its number.
    pub range: u32,
    /// Its keys; absent for all.
    #[serde(default, skip_serializing_if = "Span::is_whole")]
    pub span: Span,
    /// The lease under which it was finished.
    pub token: String,
    /// Rows proved by digests on both sides.
    pub rows: u64,
    /// Rows proved by checksums of the pages that hold them, on both sides.
    pub bytes: u64,
    /// Digest of the rows that were read and decoded.
    pub read: Digest,
    /// Digest of the rows that the encoder was handed.
    pub written: Digest,
    /// Digest of the rows that rules let go.
    pub dropped: Digest,
    /// The sums of the pages' seals, where pages were copied.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seals: Option<Copied>,
    /// The same, stretch by stretch in the order of the outputs. Empty in receipts from before there were any, and where the
    /// table's format says nothing of it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub stretches: Vec<StretchProof>,
    /// What it took.
    #[serde(default)]
    pub effort: Effort,
}

/// Rows that all went one way for one reason, and how they were proved.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StretchProof {
    /// `rows`: by digests; `bytes`: by checksums of pages.
    pub proof: Proof,
    /// What the sums are taken of, and what they are.
    #[serde(flatten)]
    pub stretch: Stretch,
}

/// An attempt that ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Attempted {
    /// The range: a number, or `publish`.
    pub range: String,
    /// The lease it was tried under.
    pub token: String,
    /// Who worked.
    pub worker: String,
    /// How it ended: `finished`, or why not.
    pub ended: String,
    /// What went wrong, in words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

impl Moment {
    /// When an entry was written, as far as a state knows.
    pub(super) fn of(state: &State, entry: Sequence) -> Self {
        Self {
            entry,
            unix_ms: state.began(entry).unwrap_or(state.time).unix_ms,
        }
    }
}

impl Receipt {
    /// Of a job that the state remembers; `root` says what requests cost there.
    pub fn of(state: &State, root: &Depot, committed: &Committed) -> Self {
        let job = &committed.job;
        let moment = |entry| Moment::of(state, entry);
        let effort = with_publishing(state, root, committed);
        Self {
            receipt: VERSION,
            journal: state.journal.unwrap_or(JournalId(0)),
            job: job.id,
            table: job.table.to_string(),
            partition: job.partition.to_string(),
            why: job.why.to_string(),
            planned: moment(job.planned),
            committed: moment(committed.ended),
            hash: job.merge.hash,
            inputs: inputs(job),
            outputs: outputs(committed),
            drops: drops(job),
            ranges: ranges(job),
            attempts: job.attempts(),
            tried: tried(job),
            effort,
            price_usd: effort.price_nano_usd as f64 / 1e9,
            undone: None,
        }
    }

    /// Rows of all inputs.
    pub fn rows_in(&self) -> u64 {
        self.inputs.iter().map(|input| input.rows).sum()
    }

    /// Rows of all outputs.
    pub fn rows_out(&self) -> u64 {
        self.outputs.iter().map(|output| output.rows).sum()
    }

    /// Bytes of all inputs.
    pub fn bytes_in(&self) -> u64 {
        self.inputs.iter().map(|input| input.bytes).sum()
    }

    /// Bytes of all outputs.
    pub fn bytes_out(&self) -> u64 {
        self.outputs.iter().map(|output| output.bytes).sum()
    }
}

fn inputs(job: &Job) -> Vec<ReceiptInput> {
    let input = |(index, file): (usize, &Arc<File>)| {
        let reads = || {
            job.finished()
                .filter_map(|(_, finished)| finished.reads.get(index))
        };
        ReceiptInput {
            path: file.path.to_string(),
            in_source: file.path.place == Place::Source,
            identity: file.identity.tag.to_string(),
            bytes: file.identity.bytes,
            modified_ms: file.identity.modified.unix_ms,
            level: file.level,
            rows: file.rows,
            copied: reads().map(|read| read.copied).sum(),
            digest: reads().map(|read| read.digest).sum(),
            checksum: file.checksum,
        }
    };
    job.inputs.iter().enumerate().map(input).collect()
}

fn outputs(committed: &Committed) -> Vec<ReceiptOutput> {
    let output = |output: &Output| {
        let mut files = committed.outputs.iter();
        let file = files.find(|file| file.path == output.path);
        ReceiptOutput {
            path: output.path.to_string(),
            identity: file.map_or_else(String::new, |file| file.identity.tag.to_string()),
            bytes: output.bytes,
            level: committed.job.output_level,
            rows: output.rows,
            copied: output.copied,
            digest: output.digest,
            checksum: output.checksum,
        }
    };
    committed.job.outputs().map(output).collect()
}

fn drops(job: &Job) -> Vec<Dropped> {
    let mut sums: Vec<Dropped> = Vec::new();
    for drop in job.finished().flat_map(|(_, finished)| &finished.drops) {
        match sums.iter_mut().find(|sum| sum.rule == drop.rule) {
            Some(sum) => {
                sum.rows += drop.rows;
                sum.digest = sum.digest.plus(drop.digest);
            }
            None => sums.push(drop.clone()),
        }
    }
    sums
}

fn ranges(job: &Job) -> Vec<RangeProof> {
    let finished = job.finished().filter_map(|(range, finished)| match range {
        RangeId::Keys(number) => Some((number, finished)),
        RangeId::Publish => None,
    });
    let proof = |(range, finished): (u32, &Finished)| {
        let read: u64 = finished.reads.iter().map(|read| read.rows).sum();
        let copied = finished.copied.map_or(0, |copied| copied.rows);
        RangeProof {
            range,
            span: job.ranges[range as usize].span.clone(),
            token: finished.token.to_string(),
            rows: read - copied.min(read),
            bytes: copied,
            read: finished.reads.iter().map(|read| read.digest).sum(),
            written: finished.outputs.iter().map(|output| output.digest).sum(),
            dropped: finished.drops.iter().map(|drop| drop.digest).sum(),
            seals: finished.copied,
            stretches: finished.stretches.iter().cloned().map(proved).collect(),
            effort: finished.effort.unwrap_or_default(),
        }
    };
    finished.map(proof).collect()
}

fn proved(stretch: Stretch) -> StretchProof {
    StretchProof {
        proof: stretch.way.proof(),
        stretch,
    }
}

fn tried(job: &Job) -> Vec<Attempted> {
    let ended = job.ranges().flat_map(|(id, range)| {
        let attempted = move |tried: &Tried| {
            let (ended, error) = end_of(tried.released.as_ref());
            Attempted {
                range: id.to_string(),
                token: tried.token.to_string(),
                worker: tried.worker.to_string(),
                ended: ended.to_owned(),
                error,
            }
        };
        range.tried.iter().map(attempted)
    });
    ended.collect()
}

fn end_of(released: Option<&ReleaseReason>) -> (&'static str, Option<String>) {
    let words = |error: &Arc<str>| Some(error.to_string());
    match released {
        None => ("finished", None),
        Some(ReleaseReason::Drained) => ("drained", None),
        Some(ReleaseReason::TakenOver) => ("taken_over", None),
        Some(ReleaseReason::Stalled) => ("stalled", None),
        Some(ReleaseReason::Lost) => ("lost", None),
        Some(ReleaseReason::InputsChanged) => ("inputs_changed", None),
        Some(ReleaseReason::ChildDied(error)) => ("child_died", words(error)),
        Some(ReleaseReason::NodeFault(error)) => ("node_fault", words(error)),
        Some(ReleaseReason::StoreFault(error)) => ("store_fault", words(error)),
        Some(ReleaseReason::InputFault(error)) => ("input_fault", words(error)),
    }
}

/// Publishing is not counted as it happens: on a store it is a copy for each output, and looks around it.
fn with_publishing(state: &State, root: &Depot, committed: &Committed) -> Effort {
    let effort = committed.job.effort().unwrap_or_default();
    let table = state.tables.get(&committed.job.table);
    let publishes = table.is_some_and(|table| table.spec.catalog.publishes());
    let Some(prices) = root.prices().filter(|_| publishes) else {
        return effort;
    };
    let outputs = committed.outputs.len() as u64;
    let looks = LOOKS_PER_PUBLISHING * outputs;
    let price = prices.requests(Kind::Copy, outputs) + prices.requests(Kind::Head, looks);
    effort.with(&Effort {
        requests: outputs + looks,
        price_nano_usd: (price * 1e9).round() as u64,
        ..Effort::default()
    })
}
