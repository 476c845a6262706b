//! What a run of `baler chaos` came to.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::Result;
use baler_core::event::Event;
use baler_core::file::FilePath;
use baler_core::ids::{JobId, RangeId};
use baler_journal::mending::Survey;
use serde::Serialize;

use super::scratch::{Scratch, is_data};
use crate::root::Root;
use crate::store::Location;

/// Names of a journal, which stay.
const OF_A_JOURNAL: [&str; 7] = [
    "journal",
    "snapshots",
    "boundary",
    "probed",
    "format",
    "receipts",
    "home",
];

/// Whether Baler kept its word.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// Every row is there once, and nothing else is left.
    Held,
    /// Something is wrong: see the problems.
    Broken,
    /// Somebody stopped it, so that nothing is known.
    Interrupted,
}

/// What a run came to.
#[derive(Clone, Debug, Serialize)]
pub struct Chaos {
    /// Where the scratch table was.
    pub scratch: String,
    /// How long it took until the deaths ended.
    pub seconds: f64,
    /// Files that arrived.
    pub files: u32,
    /// Their rows.
    pub rows: u64,
    /// Processes that were killed while they were alive.
    pub kills: u32,
    /// Faults that requests met, by their names.
    pub faults: BTreeMap<String, u64>,
    /// Jobs that were committed.
    pub jobs: u64,
    /// Attempts at merging.
    pub attempts: u64,
    /// Those that came to nothing.
    pub in_vain: u64,
    /// The inputs that these may have read for nothing, in bytes.
    pub wasted_bytes: u64,
    /// Rows that are not there any more.
    pub lost: u64,
    /// Rows that are there more than once.
    pub doubled: u64,
    /// What is left behind beside live files and the journal.
    pub orphans: Vec<String>,
    /// What else is wrong.
    pub problems: Vec<String>,
    /// What could not be cleaned up.
    pub left: Option<String>,
    /// Whether Baler kept its word.
    pub verdict: Verdict,
}

impl Chaos {
    pub(super) fn new(scratch: &Location) -> Self {
        Self {
            scratch: scratch.to_string(),
            seconds: 0.0,
            files: 0,
            rows: 0,
            kills: 0,
            faults: BTreeMap::new(),
            jobs: 0,
            attempts: 0,
            in_vain: 0,
            wasted_bytes: 0,
            lost: 0,
            doubled: 0,
            orphans: Vec::new(),
            problems: Vec::new(),
            left: None,
            verdict: Verdict::Broken,
        }
    }
}

/// Counts every row, and everything that lies there.
pub(super) async fn judge(scratch: &Scratch, chaos: &mut Chaos) -> Result<()> {
    let counted = scratch.count().await?;
    let rows = i64::try_from(chaos.rows).unwrap_or(i64::MAX);
    chaos.lost = (0..rows).filter(|row| !counted.contains_key(row)).count() as u64;
    chaos.doubled = counted.values().filter(|times| **times > 1).count() as u64;
    if counted.keys().any(|row| !(0..rows).contains(row)) {
        chaos.problems.push("there are rows that nobody wrote".to_owned());
    }
    let root = Root::open_to_read(&scratch.location).await?;
    let state = root.replica.state();
    let live: BTreeSet<String> = state
        .tables
        .values()
        .flat_map(|table| table.files.keys().map(ToString::to_string))
        .collect();
    let names = scratch.names().await?.into_iter();
    let of_journal = |name: &str| {
        let mut parts = name.split('/');
        parts.next() == Some("_baler") && parts.next().is_some_and(|part| OF_A_JOURNAL.contains(&part))
    };
    chaos.orphans = names
        .filter(|name| !live.contains(name) && !of_journal(name))
        .collect();
    debug_assert!(
        live.iter().all(|name| is_data(name)),
        "a live file is one that readers find"
    );
    count_work(&Survey::take(&root.site.root.journal_store()?).await?, chaos);
    let clean =
        chaos.lost == 0 && chaos.doubled == 0 && chaos.orphans.is_empty() && chaos.problems.is_empty();
    if clean {
        chaos.verdict = Verdict::Held;
    }
    Ok(())
}

/// What the journal says was done, and done for nothing.
fn count_work(survey: &Survey, chaos: &mut Chaos) {
    let mut sizes: BTreeMap<FilePath, u64> = BTreeMap::new();
    let mut inputs: BTreeMap<JobId, u64> = BTreeMap::new();
    let entries = survey.entries.values().filter_map(|piece| piece.as_ref().ok());
    for event in entries.flat_map(|entry| &entry.batch.events) {
        match event {
            Event::FilesAdded { files, .. } => {
                sizes.extend(files.iter().map(|file| (file.path.clone(), file.bytes())));
            }
            Event::JobPlanned {
                job, inputs: paths, ..
            } => {
                let bytes = paths.iter().filter_map(|path| sizes.get(path)).sum();
                inputs.insert(*job, bytes);
            }
            Event::RangeLeased { range, .. } if *range != RangeId::Publish => chaos.attempts += 1,
            Event::RangeFinished { finished, .. } => {
                let outputs = finished.outputs.iter();
                sizes.extend(outputs.map(|output| (output.path.clone(), output.bytes)));
            }
            Event::RangeReleased { attempt, .. } if attempt.range != RangeId::Publish => {
                chaos.in_vain += 1;
                chaos.wasted_bytes += inputs.get(&attempt.job).copied().unwrap_or(0);
            }
            Event::JobCommitted { .. } => chaos.jobs += 1,
            _ => {}
        }
    }
}
