//! How a root stands: files by level, jobs, workers, leases, quarantine, garbage, and the last jobs. A reader of the bucket
//! and a coordinator tell the same; the coordinator has heard more.

use std::collections::BTreeMap;

use anyhow::Result;
use baler_core::ids::TableName;
use baler_core::invariants;
use baler_core::state::Table;
use baler_core::table::Catalog;
use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize};

use super::{Cost, EndedJob, Heard, LeaseStatus, NamedReason, OpenJob, Queue, Totals, WorkerStatus};
use crate::desk::Spent;
use crate::root::Root;
use crate::settings::describe_table;

/// How a root stands.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Status {
    /// Where it lies.
    pub root: String,
    /// The journal's id.
    pub journal: String,
    /// Its last entry.
    pub entries: u64,
    /// The table of a plain root stands beside the rest.
    #[serde(flatten)]
    pub plain: Option<TableStatus>,
    /// The native tables.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tables: Vec<TableStatus>,
    /// What waits, and since when.
    pub queue: Queue,
    /// Who works, or would.
    pub workers: Vec<WorkerStatus>,
    /// Who works on what.
    pub leases: Vec<LeaseStatus>,
    /// What the process that is asked, and the workers that it has heard of, have asked of stores since they began. Not
    /// known to those who only read the bucket.
    pub spent: Option<Spent>,
    /// Jobs that have not ended.
    pub jobs: Vec<OpenJob>,
    /// The last that did.
    pub recent: Vec<EndedJob>,
    /// Jobs that are being undone: files that are not back yet, for each.
    #[serde(default)]
    pub undoing: BTreeMap<u64, u32>,
    /// Objects on their way out.
    pub garbage: usize,
    /// Ended attempts that may have left something.
    pub leftovers: usize,
    /// Readers' promises.
    pub pins: usize,
    /// What must never be so, and is.
    pub broken_invariants: Vec<String>,
}

/// How a table stands.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct TableStatus {
    /// Its name, if it is native.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// What it is, in words.
    pub table: String,
    /// Where its files come from.
    pub source: Option<String>,
    /// Its live files.
    pub live: Totals,
    /// The same by level.
    #[serde(deserialize_with = "levels")]
    pub levels: BTreeMap<u8, Totals>,
    /// Partitions with files.
    pub partitions: usize,
    /// Files that are marked as bad.
    pub quarantined: Vec<NamedReason>,
    /// Files that are left alone since a job of theirs was ended on purpose.
    pub put_off: Vec<NamedReason>,
    /// Whether nothing new is planned or begun.
    pub paused: bool,
    /// Files that were compacted and are remembered.
    pub consumed: usize,
}

impl Status {
    /// Of a root, or of one of its tables, with what was heard of its workers.
    pub fn of(root: &Root, only: Option<&TableName>, heard: &Heard) -> Result<Self> {
        let state = root.replica.state();
        let native = root.is_native();
        let covers = |table: &TableName| only.is_none_or(|only| only == table);
        let mut tables: Vec<TableStatus> = root
            .tables(only)?
            .iter()
            .map(|(name, table)| TableStatus::of(native.then_some(name), table, state.is_paused(name)))
            .collect();
        let plain = if native { None } else { tables.pop() };
        let jobs = state.jobs.values().filter(|job| covers(&job.table));
        let jobs = jobs.map(|job| OpenJob::of(&state, &root.site, job, heard));
        let (jobs, leases): (Vec<OpenJob>, Vec<Vec<LeaseStatus>>) = jobs.unzip();
        let leases: Vec<LeaseStatus> = leases.into_iter().flatten().collect();
        let workers = WorkerStatus::all(&leases, heard);
        let recent = state.recent.iter().filter(|job| covers(&job.table));
        let broken = invariants::broken(&state);
        Ok(Self {
            root: root.site.root.to_string(),
            journal: root.journal()?.to_string(),
            entries: state.sequence.0,
            plain,
            tables,
            queue: Queue::of(&jobs),
            spent: heard.is_anything().then(|| spent_by_all(root, &workers)),
            workers,
            leases,
            jobs,
            recent: recent.map(|job| EndedJob::of(job)).collect(),
            undoing: state
                .undoing
                .iter()
                .filter(|(_, undoing)| covers(&undoing.table))
                .map(|(job, undoing)| (job.0, undoing.waiting))
                .collect(),
            garbage: state
                .garbage
                .values()
                .filter(|garbage| covers(&garbage.table))
                .count(),
            leftovers: state
                .leftovers
                .values()
                .filter(|left| covers(&left.table))
                .count(),
            pins: state.pins.values().filter(|pin| covers(&pin.table)).count(),
            broken_invariants: broken
                .iter()
                .map(|broken| format!("{}: {}", broken.number, broken.says))
                .collect(),
        })
    }
}

fn spent_by_all(root: &Root, workers: &[WorkerStatus]) -> Spent {
    let own = Cost::so_far(&root.site).spent();
    let elsewhere = workers.iter().filter_map(|worker| worker.spent);
    elsewhere.fold(own, |sum, worker| Spent {
        requests: sum.requests + worker.requests,
        price_usd: sum.price_usd + worker.price_usd,
    })
}

/// What is flattened into another object has its keys as text.
fn levels<'de, D: Deserializer<'de>>(from: D) -> Result<BTreeMap<u8, Totals>, D::Error> {
    let levels = BTreeMap::<String, Totals>::deserialize(from)?;
    let levels = levels
        .into_iter()
        .map(|(level, totals)| Ok((level.parse().map_err(D::Error::custom)?, totals)));
    levels.collect()
}

impl TableStatus {
    fn of(name: Option<&TableName>, table: &Table, paused: bool) -> Self {
        let mut levels: BTreeMap<u8, Totals> = BTreeMap::new();
        for file in table.files.values() {
            let level = levels.entry(file.level.0).or_default();
            level.files += 1;
            level.bytes += file.bytes();
            level.rows += file.rows;
        }
        let quarantined = table.quarantine.values();
        let quarantined = quarantined.map(|mark| NamedReason {
            path: mark.path.to_string(),
            reason: mark.reason.to_string(),
        });
        let put_off = table.put_off.iter().map(|(path, put_off)| NamedReason {
            path: path.to_string(),
            reason: put_off.reason.to_string(),
        });
        Self {
            name: name.map(ToString::to_string),
            table: describe_table(&table.spec),
            source: match &table.spec.catalog {
                Catalog::Output { source } => Some(source.to_string()),
                Catalog::InPlace | Catalog::Native | Catalog::External => None,
            },
            live: Totals::of(table),
            levels,
            partitions: table.partitions.len(),
            quarantined: quarantined.collect(),
            put_off: put_off.collect(),
            paused,
            consumed: table.consumed.len(),
        }
    }
}
