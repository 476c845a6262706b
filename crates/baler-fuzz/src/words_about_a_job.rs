//! A state with jobs under way, and what a worker of them would say.

use std::sync::Arc;

use baler::desk::protocol::{PollAsk, RenewAsk};
use baler::desk::{Offer, Progress, Spent, Word};
use baler_core::event::{Event, ReleaseReason};
use baler_core::file::{Digest, File, FilePath, Identity};
use baler_core::ids::{JournalId, Sequence, TableName, WatcherId, WorkerId};
use baler_core::job::{Finished, InputRead, Job, Output};
use baler_core::names::Attempt;
use baler_core::request::{Finish, Memory, Poll, Request, Scope};
use baler_core::state::State;
use baler_core::table::{Catalog, TableSpec};
use baler_core::time::{Millis, StoreTime};
use baler_core::{apply, decide};

/// The journal of the state.
const JOURNAL: JournalId = JournalId(0xb);

/// The entry that all of this stands in.
pub const SLOT: Sequence = Sequence(7);

const ROWS: u64 = 10;

/// A native table and a plain one, each with files that a worker merges; and how that came about.
pub fn beginning() -> (State, Vec<Event>) {
    let (mut state, mut events) = (State::default(), Vec::new());
    // The slot that inputs of the fuzzer claim.
    while state.sequence < SLOT {
        state.open_batch(Some(StoreTime { unix_ms: 1_000_000 }));
    }
    let mut ask = |request: &Request| {
        for event in decide(&state, request).events {
            apply::apply_event(&mut state, &event);
            events.push(event);
        }
    };
    ask(&Request::CreateJournal(JOURNAL));
    for (name, catalog) in [("native", Catalog::Native), ("plain", Catalog::InPlace)] {
        let table = TableName::from(name);
        ask(&Request::CreateTable {
            table: table.clone(),
            spec: Arc::new(spec(catalog)),
        });
        ask(&Request::AddFiles {
            table,
            evidence: Sequence(0),
            files: (0..8).map(|number| file(name, number)).collect(),
        });
    }
    ask(&asked(WorkerId::from("w"), 4, None, Scope::default()));
    (state, events)
}

/// A worker asks for work.
pub fn asked(worker: WorkerId, slots: usize, memory: Option<Memory>, scope: Scope) -> Request {
    Request::Poll(Poll {
        worker,
        watcher: WatcherId(1),
        embedded: false,
        host: None,
        slots,
        memory,
        isolates: true,
        scope,
    })
}

/// The body of a poll that tells of every attempt: one is finished, the next is cut, others are given back.
pub fn poll() -> String {
    let (state, _) = beginning();
    let words = state.jobs.values().flat_map(|job| {
        let attempts = attempts(job);
        attempts.into_iter().flat_map(|attempt| {
            let cut = Word::Cut {
                attempt,
                edges: vec![vec![1, 2], vec![3]],
            };
            let release = Word::Release {
                attempt,
                why: ReleaseReason::ChildDied("signal: 6".into()),
                culprits: vec![],
            };
            [cut, Word::Finish(Box::new(finish(job, &attempt))), release]
        })
    });
    let ask = PollAsk {
        journal: JOURNAL,
        worker: WorkerId::from("w"),
        slots: 2,
        memory: None,
        offer: Offer::default(),
        wait_ms: 100,
        updates: words.collect(),
        spent: Spent::default(),
    };
    text(&ask)
}

/// The body of a renewal of every lease.
pub fn renewal() -> String {
    let (state, _) = beginning();
    let leases = state.jobs.values().flat_map(|job| attempts(job));
    text(&RenewAsk {
        journal: JOURNAL,
        worker: WorkerId::from("w"),
        leases: leases.map(|attempt| (attempt, Progress::default())).collect(),
        spent: Spent::default(),
    })
}

fn text(body: &impl serde::Serialize) -> String {
    serde_json::to_string(body).expect("bodies have text keys only")
}

fn attempts(job: &Job) -> Vec<Attempt> {
    let leases = job.leases().map(|(range, lease)| Attempt {
        job: job.id,
        range,
        token: lease.token,
    });
    leases.collect()
}

fn finish(job: &Job, attempt: &Attempt) -> Finish {
    let rows = ROWS * job.inputs.len() as u64;
    let read = InputRead {
        rows: ROWS,
        copied: 0,
        digest: Digest(3),
        positions: None,
    };
    let catalog = match job.table.to_string().as_str() {
        "native" => Catalog::Native,
        _ => Catalog::InPlace,
    };
    let output = Output {
        part: 0,
        path: job.output_path(&catalog, JOURNAL, attempt, 0),
        bytes: 1_000,
        rows,
        copied: 0,
        digest: Digest(3 * job.inputs.len() as u128),
        checksum: Digest(9),
        keys: None,
        times: None,
    };
    Finish {
        job: job.id,
        range: attempt.range,
        finished: Finished {
            token: attempt.token,
            outputs: vec![output],
            reads: vec![read; job.inputs.len()],
            drops: vec![],
            copied: None,
            stretches: vec![],
            effort: None,
        },
        inputs_now: Some(
            job.inputs
                .iter()
                .map(|file| Some(file.identity.clone()))
                .collect(),
        ),
    }
}

fn spec(catalog: Catalog) -> TableSpec {
    TableSpec {
        grace: Millis(10_000),
        ..TableSpec::of(catalog)
    }
}

fn file(table: &str, number: u32) -> Arc<File> {
    let identity = Identity {
        tag: "1".into(),
        bytes: 100,
        modified: StoreTime { unix_ms: 7 },
    };
    let path = FilePath::in_root(format!("{table}-{number}.parquet"));
    Arc::new(File::found(path, identity, ROWS))
}
