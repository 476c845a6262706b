//! The scenarios that must hold, by their numbers, and how it is told that a run has reached one.

use crate::model::Model;
use crate::oracle::At;

/// A scenario, by its number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Scenario(pub u8);

impl Scenario {
    /// All of them.
    pub fn all() -> impl Iterator<Item = Self> {
        (1..=30).map(Self)
    }

    /// What happens in it.
    pub fn words(self) -> &'static str {
        match self.0 {
            1 => "an entry is created, and the answer is lost",
            2 => "already exists, and nothing is there",
            3 => "an entry lands after its time-out",
            4 => "several race for an entry",
            5 => "a stalled writer fills a slot that was cleaned up",
            6 => "files are added during a job, with a column more",
            7 => "a source is dropped in mid-job",
            8 => "a crash between two steps of a commit",
            9 => "a worker is killed in the middle of its work",
            10 => "a worker is paused past its lease, and then goes on",
            11 => "a range is taken by whoever lost it",
            12 => "a slow worker with a large job",
            13 => "clocks are off, drift and jump",
            14 => "one-way and two-way partitions",
            15 => "a hundred workers claim and renew",
            16 => "messages are doubled, reordered, replayed",
            17 => "a job goes on from finished ranges, or from spoiled ones",
            18 => "drain and restart",
            19 => "a paused coordinator goes on",
            20 => "the coordinator changes, and a reply is lost",
            21 => "Raft: power loss",
            22 => "Raft: a disk stall",
            23 => "Raft: snapshot and membership",
            24 => "the store is too busy for minutes",
            25 => "bodies are cut short or damaged",
            26 => "stale lists",
            27 => "an upload's completion is lost",
            28 => "a store that ignores conditions, is read-only or full",
            29 => "a pinned reader, and collectors with wrong clocks",
            30 => "an input that kills the worker",
            _ => "",
        }
    }

    /// Why the simulator does not reach it, if it does not.
    pub fn not_here(self) -> Option<&'static str> {
        match self.0 {
            21..=23 => Some("there is no Raft journal yet"),
            28 => Some("the probe refuses such a store before there is a root: see docs/traps.md"),
            30 => Some("merges here have no process of their own to kill: see docs/traps.md"),
            _ => None,
        }
    }
}

/// A range that takes so many lease times is a huge one for whoever works on it.
const LONG_LEASES: u64 = 4;

/// What an event says about the scenarios.
pub(crate) fn seen_in(model: &Model, at: At<'_>) -> Vec<Scenario> {
    let mut seen = Vec::new();
    let mut saw = |number| seen.push(Scenario(number));
    match at.kind {
        "FilesAdded" if model.grows_a_column(at.body) => saw(6),
        "FilesExpired" | "FilesLost" => {
            let paths = crate::model::paths_of(&at.body["paths"]);
            let held = |path: &String| model.jobs.values().any(|job| job.inputs.contains(path));
            if paths.iter().any(held) {
                saw(7);
            }
        }
        "JobCancelled" if at.body["why"]["InputsExpired"].is_array() => saw(7),
        "RangeLeased" => {
            let job = at.body["job"].as_u64().and_then(|id| model.jobs.get(&id));
            if job.is_some_and(|job| !job.finished.is_empty()) {
                saw(17);
            }
            let range = crate::model::range_of(&at.body["range"]);
            let taker = at.body["worker"].as_str().unwrap_or_default();
            let gave_back = |(lost, by): &(String, String)| *lost == range && by == taker;
            if job.is_some_and(|job| job.released.iter().any(gave_back)) {
                saw(11);
            }
        }
        "RangeFinished" if model.slow_worker => {
            let job = at.body["job"].as_u64().and_then(|id| model.jobs.get(&id));
            let lease = job.and_then(|job| job.leases.get(&crate::model::range_of(&at.body["range"])));
            let held_ms = lease.map_or(0, |lease| at.now_ms - lease.since_ms);
            if held_ms >= LONG_LEASES * model.lease_ms {
                saw(12);
            }
        }
        "RangeReleased" => match at.body["why"].as_str().unwrap_or_default() {
            "Drained" => saw(18),
            "TakenOver" => saw(9),
            "Lost" => saw(9),
            _ => {}
        },
        "WatcherTakenOver" => saw(19),
        "LeasesRewatched" => saw(20),
        _ => {}
    }
    seen
}
