//! The oracle's own account of a table, from the journal's events and the objects in the store.

mod contents;
mod leaving;
mod lives;
mod times;
pub(crate) mod upserts;
mod versions;

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use bytes::Bytes;
use serde_json::Value;

use self::lives::Lives;
use self::upserts::Upserts;
use crate::oracle::At;
use versions::{Shown, Versions};

/// Stores tell when something was written in whole seconds, so that a length of time is known to a second at best.
const STAMP_MS: u64 = 1_000;

/// A live file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Live {
    /// The version, where the journal names it: of Baler's own files the name is enough.
    pub(crate) tag: Option<String>,
    pub(crate) bytes: u64,
    pub(crate) partition: String,
    /// The time of its newest row, where that is known.
    pub(crate) newest_ms: Option<i64>,
    /// The entry that it came with.
    pub(crate) came: u64,
}

/// A job that is not over.
#[derive(Clone, Debug, Default)]
pub(crate) struct Job {
    pub(crate) inputs: Vec<String>,
    /// The versions of its inputs when it was planned.
    pub(crate) planned: Vec<Option<Live>>,
    pub(crate) planned_ms: u64,
    /// Tombstones older than this may go, if any may.
    pub(crate) lets_go_before_ms: Option<u64>,
    pub(crate) partition: String,
    pub(crate) ranges: u32,
    pub(crate) leases: BTreeMap<String, Lease>,
    pub(crate) finished: BTreeMap<String, Vec<(String, u64)>>,
    /// In place: its outputs are in its inputs' place, and not all published yet.
    pub(crate) compacted: bool,
    /// What its attempts wrote before it was published, where it is.
    pub(crate) staged: Vec<String>,
    /// Ranges that were given back, and by whom.
    pub(crate) released: Vec<(String, String)>,
}

/// A lease that was ever granted: its job, range and token.
pub(crate) type Grant = (u64, String, (u64, u32));

/// A lease that is held.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Lease {
    pub(crate) token: (u64, u32),
    pub(crate) worker: String,
    pub(crate) watcher: String,
    pub(crate) since_ms: u64,
}

/// What a committed job did.
#[derive(Clone, Debug)]
pub(crate) struct Commit {
    /// What it replaced, as it was planned.
    pub(crate) inputs: Vec<(String, Option<Live>)>,
    pub(crate) outputs: Vec<String>,
    pub(crate) undone: bool,
}

/// A version of a data object, and when it was written first.
#[derive(Clone, Debug)]
struct Content {
    tag: String,
    bytes: Bytes,
    at: Duration,
    /// When it was overwritten or removed.
    gone: Option<Duration>,
    /// The process that wrote it, if it is one of Baler's.
    by: Option<String>,
}

/// A reader's promise.
#[derive(Clone, Debug)]
pub(crate) struct Pin {
    pub(crate) shows: Shown,
    /// The version that it names; the one that its entry leads to, if none.
    version: Option<u64>,
    pub(crate) lifetime_ms: u64,
    pub(crate) since_ms: u64,
}

/// The account.
#[derive(Debug)]
pub(crate) struct Model {
    /// The entry that comes next.
    pub(crate) next: u64,
    /// What the last entry says of itself; the next one must have it as its parent.
    pub(crate) seal: Option<String>,
    pub(crate) boundaries: BTreeSet<u64>,
    pub(crate) live: BTreeMap<String, Live>,
    pub(crate) jobs: BTreeMap<u64, Job>,
    /// Whether the table is a folder that readers list.
    pub(crate) in_place: bool,
    /// How long a silent process keeps its leases.
    pub(crate) lease_ms: u64,
    /// Outputs that were cut short before they were published.
    pub(crate) spoiled: BTreeSet<String>,
    /// Who lives, who listens, and which leases their workers know of.
    pub(crate) lives: Lives,
    /// Whether a worker is slow.
    pub(crate) slow_worker: bool,
    /// When each watcher last gave a sign of life.
    pub(crate) signs: BTreeMap<String, u64>,
    /// When each path last came into the table, or left it.
    pub(crate) touched: BTreeMap<String, Duration>,
    /// The same in the entry that is being read: who asked for what is in it did not know of it.
    touching: Vec<(String, Duration)>,
    /// When leases ended.
    pub(crate) leases_ended: BTreeMap<Grant, u64>,
    /// Jobs that are over, and how.
    pub(crate) ended: BTreeMap<u64, String>,
    /// Each path that was replaced, by which job, and in which version.
    pub(crate) replaced: BTreeMap<String, (u64, Option<String>)>,
    /// What each committed job did.
    pub(crate) commits: BTreeMap<u64, Commit>,
    pub(crate) due: BTreeSet<String>,
    pub(crate) pins: BTreeMap<(u64, u32), Pin>,
    /// What each version showed.
    pub(crate) versions: Versions,
    /// Versions that were ever added.
    pub(crate) added: BTreeSet<(String, Option<String>)>,
    /// Versions that left the table because Baler had no more use for them.
    pub(crate) spent: BTreeSet<(String, Option<String>)>,
    pub(crate) quarantined: BTreeSet<String>,
    /// Rows that must be there: the newest of each key. Which of two with one version depends on which are merged first.
    pub(crate) expected: Upserts,
    /// How late rows may come, where tombstones go.
    pub(crate) lateness_ms: Option<u64>,
    /// Keys of rows that came later.
    pub(crate) late: BTreeSet<String>,
    /// Tombstones that were let go: the newest version for each key.
    pub(crate) let_go: BTreeMap<String, u64>,
    /// Every version of every data object that was ever written.
    contents: BTreeMap<String, Vec<Content>>,
    /// Versions that somebody outside overwrote or removed, and when.
    meddled: BTreeMap<(String, String), Duration>,
    /// Versions that somebody outside put in the place of others.
    foreign: BTreeSet<(String, String)>,
    /// When the last entry was written.
    pub(crate) last_ms: u64,
    /// How old rows may get, where that is bounded.
    pub(crate) retention_ms: Option<u64>,
}

impl Default for Model {
    fn default() -> Self {
        Self {
            next: 1,
            seal: None,
            boundaries: BTreeSet::new(),
            live: BTreeMap::new(),
            jobs: BTreeMap::new(),
            in_place: false,
            lease_ms: 0,
            spoiled: BTreeSet::new(),
            lives: Lives::default(),
            slow_worker: false,
            signs: BTreeMap::new(),
            touched: BTreeMap::new(),
            touching: Vec::new(),
            leases_ended: BTreeMap::new(),
            ended: BTreeMap::new(),
            replaced: BTreeMap::new(),
            commits: BTreeMap::new(),
            due: BTreeSet::new(),
            pins: BTreeMap::new(),
            versions: Versions::default(),
            added: BTreeSet::new(),
            spent: BTreeSet::new(),
            quarantined: BTreeSet::new(),
            expected: Upserts::default(),
            lateness_ms: None,
            late: BTreeSet::new(),
            let_go: BTreeMap::new(),
            contents: BTreeMap::new(),
            meddled: BTreeMap::new(),
            foreign: BTreeSet::new(),
            last_ms: 0,
            retention_ms: None,
        }
    }
}

pub(crate) fn path_of(value: &Value) -> String {
    value["path"].as_str().unwrap_or_default().to_owned()
}

pub(crate) fn paths_of(value: &Value) -> Vec<String> {
    value.as_array().into_iter().flatten().map(path_of).collect()
}

pub(crate) fn token_of(value: &Value) -> (u64, u32) {
    let index = value["index"].as_u64().unwrap_or(u64::MAX);
    (value["sequence"].as_u64().unwrap_or(0), index as u32)
}

pub(crate) fn range_of(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        other => other["Keys"].to_string(),
    }
}

pub(crate) fn job_of(body: &Value) -> Option<u64> {
    body["job"].as_u64().or_else(|| body["attempt"]["job"].as_u64())
}

impl Model {
    /// The outputs of all finished ranges of a job.
    pub(crate) fn outputs(&self, job: u64) -> Vec<(String, u64)> {
        let finished = self
            .jobs
            .get(&job)
            .into_iter()
            .flat_map(|job| job.finished.values());
        finished.flatten().cloned().collect()
    }

    /// Whether a pin may still hold at this time of the store.
    pub(crate) fn is_held(&self, pin: &Pin, now_ms: u64) -> bool {
        now_ms + STAMP_MS <= pin.since_ms + pin.lifetime_ms
    }

    /// Whether a worker of this process holds a lease. Bucket-only workers are not known by their process's name.
    pub(crate) fn holds_lease(&self, name: &str) -> bool {
        let mut leases = self.jobs.values().flat_map(|job| job.leases.values());
        leases.any(|lease| {
            lease.worker == name || (name.starts_with("worker") && lease.worker != lease.watcher)
        })
    }

    /// How many leases are held now.
    pub(crate) fn leases_held(&self) -> usize {
        self.jobs.values().map(|job| job.leases.len()).sum()
    }

    fn give_up(&mut self, body: &Value, how: &str) {
        let id = body["job"].as_u64().unwrap_or(0);
        if self.jobs.get(&id).is_some_and(|job| job.compacted) {
            self.swap_back(id);
        }
        self.end(body, how);
    }

    fn end(&mut self, body: &Value, how: &str) {
        if let Some(id) = body["job"].as_u64() {
            self.jobs.remove(&id);
            self.ended.insert(id, how.to_owned());
        }
    }

    pub(crate) fn apply(&mut self, at: At<'_>) {
        let body = at.body;
        self.note_ended(at);
        self.note_signs(at);
        self.note_touched(at);
        match at.kind {
            "TableCreated" => {
                self.retention_ms = body["spec"]["retention"].as_u64();
                let grace_ms = body["spec"]["grace"].as_u64();
                self.versions.made = grace_ms.map(|grace_ms| (at.sequence, grace_ms));
                self.lateness_ms = body["spec"]["merge"]["lateness"].as_u64();
            }
            "FilesAdded" => self.add(at),
            "FilesLost" => self.lose(&paths_of(&body["paths"])),
            "FilesExpired" => self.expire(&paths_of(&body["paths"])),
            "FilesQuarantined" => {
                let files = body["files"].as_array().into_iter().flatten();
                self.quarantined.extend(files.map(|file| path_of(&file["path"])));
            }
            "QuarantineLifted" => {
                for path in paths_of(&body["paths"]) {
                    self.quarantined.remove(&path);
                }
            }
            "JobPlanned" => {
                let inputs = paths_of(&body["inputs"]);
                let planned = inputs.iter().map(|path| self.live.get(path).cloned()).collect();
                let job = Job {
                    inputs,
                    planned,
                    planned_ms: at.now_ms,
                    lets_go_before_ms: body["drops"]["deleted"]["before"]["unix_ms"].as_u64(),
                    partition: body["partition"].as_str().unwrap_or_default().to_owned(),
                    ranges: 1,
                    ..Job::default()
                };
                self.jobs.insert(body["job"].as_u64().unwrap_or(0), job);
            }
            "JobCut" => {
                let ranges = body["edges"].as_array().map_or(0, Vec::len) as u32 + 1;
                self.with_job(body, |job| job.ranges = ranges);
            }
            "RangeLeased" => {
                let text = |name: &str| body[name].as_str().unwrap_or_default().to_owned();
                let lease = Lease {
                    token: (at.sequence, at.index),
                    worker: text("worker"),
                    watcher: text("watcher"),
                    since_ms: at.now_ms,
                };
                self.with_job(body, |job| {
                    drop(job.leases.insert(range_of(&body["range"]), lease))
                });
            }
            "RangeReleased" => {
                let range = range_of(&body["attempt"]["range"]);
                self.with_job(body, |job| {
                    if let Some(lease) = job.leases.remove(&range) {
                        job.released.push((range, lease.worker));
                    }
                });
            }
            "RangeFinished" => {
                let outputs = body["finished"]["outputs"].as_array().into_iter().flatten();
                let outputs =
                    outputs.map(|output| (path_of(&output["path"]), output["bytes"].as_u64().unwrap_or(0)));
                let (range, outputs) = (range_of(&body["range"]), outputs.collect());
                let staged = self.staged_by(body);
                self.with_job(body, |job| {
                    job.leases.remove(&range);
                    job.staged.extend(staged);
                    job.finished.insert(range, outputs);
                });
            }
            "LeasesRewatched" => {
                let watcher = body["watcher"].as_str().unwrap_or_default().to_owned();
                for attempt in body["attempts"].as_array().into_iter().flatten() {
                    let range = range_of(&attempt["range"]);
                    self.with_job(attempt, |job| {
                        if let Some(lease) = job.leases.get_mut(&range) {
                            lease.watcher.clone_from(&watcher);
                        }
                    });
                }
            }
            "WatcherTakenOver" => {
                let text = |name: &str| body[name].as_str().unwrap_or_default().to_owned();
                let (from, to) = (text("watcher"), text("by"));
                for lease in self.jobs.values_mut().flat_map(|job| job.leases.values_mut()) {
                    if lease.watcher == from {
                        lease.watcher.clone_from(&to);
                    }
                }
            }
            "JobCompacted" => {
                self.swap(at.sequence, body["job"].as_u64().unwrap_or(0));
                self.with_job(body, |job| job.compacted = true);
            }
            "JobCommitted" => {
                let id = body["job"].as_u64().unwrap_or(0);
                if self.jobs.get(&id).is_some_and(|job| !job.compacted) {
                    self.swap(at.sequence, id);
                }
                self.note_let_go(id);
                self.end(body, "committed");
            }
            "JobPublished" => self.publish(at),
            "JobUndone" => self.undo(at.sequence, body["job"].as_u64().unwrap_or(0)),
            "JobCancelled" => self.give_up(body, "cancelled"),
            "JobFailed" => self.give_up(body, "failed"),
            "DeletionDue" => self.due.extend(paths_of(&body["paths"])),
            "Deleted" | "LeftInPlace" => {
                // A name that Baler gave is never used again: a delete that was sent in time is right whenever it lands.
                for path in paths_of(&body["paths"]) {
                    if self.is_input(&path) {
                        self.due.remove(&path);
                    }
                }
            }
            "Pinned" => {
                let version = body["version"].as_u64();
                let pin = Pin {
                    // What this entry leads to is filled in at its end.
                    shows: version.map_or_else(Shown::default, |version| self.versions.at(version)),
                    version,
                    lifetime_ms: body["lifetime"].as_u64().unwrap_or(0),
                    since_ms: at.now_ms,
                };
                self.pins.insert((at.sequence, at.index), pin);
            }
            "Unpinned" => {
                let (entry, index) = (body["pin"]["version"].as_u64(), body["pin"]["index"].as_u64());
                self.pins.remove(&(entry.unwrap_or(0), index.unwrap_or(0) as u32));
            }
            _ => {}
        }
    }

    fn with_job(&mut self, body: &Value, change: impl FnOnce(&mut Job)) {
        if let Some(job) = job_of(body).and_then(|id| self.jobs.get_mut(&id)) {
            change(job);
        }
    }

    fn add(&mut self, at: At<'_>) {
        for file in at.body["files"].as_array().into_iter().flatten() {
            let path = path_of(&file["path"]);
            let tag = file["identity"]["tag"].as_str().map(str::to_owned);
            let rows = self.rows(&path, tag.as_deref()).unwrap_or_default();
            self.note_late(at, &rows);
            self.expected.meet(0, rows);
            let live = Live {
                tag: tag.clone(),
                bytes: file["identity"]["bytes"].as_u64().unwrap_or(0),
                partition: file["partition"].as_str().unwrap_or_default().to_owned(),
                newest_ms: file["times"]["max"]["unix_ms"].as_i64(),
                came: at.sequence,
            };
            self.added.insert((path.clone(), tag.clone()));
            self.live.insert(path, live);
        }
    }

    pub(crate) fn ends_entry(&mut self, number: u64, now_ms: u64, lines: &[Value]) {
        self.next = number + 1;
        self.last_ms = now_ms;
        self.touched.extend(self.touching.drain(..));
        self.seal = lines
            .last()
            .and_then(|seal| seal["xxh3"].as_str())
            .map(str::to_owned);
        if self.in_place {
            return;
        }
        self.versions.note(number, now_ms, &self.live);
        for (_, pin) in self.pins.range_mut((number, 0)..=(number, u32::MAX)) {
            if pin.version.is_none() {
                pin.shows = self.versions.at(number);
            }
        }
    }
}
