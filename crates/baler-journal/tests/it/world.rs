//! Requests that a busy root would see, drawn from numbers: together they reach every part of the state.

use std::sync::Arc;

use baler_core::event::{Event, Quarantined, ReleaseReason, Returned};
use baler_core::external::{CatalogVersion, CommitOutcome, History};
use baler_core::file::{Digest, File, FilePath, Identity, KeyRange, Level, Origin, Place};
use baler_core::garbage::Stage;
use baler_core::ids::{JobId, Partition, RangeId, Sequence, TableName, WatcherId, WorkerId};
use baler_core::job::{Dropped, Finished, InputRead, Job, JobStatus, Output};
use baler_core::lease::HostLock;
use baler_core::names::Attempt;
use baler_core::positions::Positions;
use baler_core::receipt::Effort;
use baler_core::request::{BeginCommit, Finish, Grace, Memory, Poll, Request, Scope, Undo};
use baler_core::state::{State, Table};
use baler_core::table::{
    Catalog, Codec, Expire, MergeSpec, Replaced, Rewritten, Rule, SortColumn, TableSpec,
};
use baler_core::time::{Millis, RowTime, StoreTime, TimeRange};

/// Small numbers, taken one after another from a large one.
struct Draw(u64);

impl Draw {
    fn below(&mut self, limit: u64) -> u64 {
        // Splitmix, so that neighbouring numbers make different stories.
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ (mixed >> 31)) % limit.max(1)
    }

    fn one_of<T>(&mut self, items: impl IntoIterator<Item = T>) -> Option<T> {
        let mut items: Vec<T> = items.into_iter().collect();
        let at = self.below(items.len() as u64) as usize;
        (!items.is_empty()).then(|| items.swap_remove(at))
    }
}

/// Something that might be asked now; `Tick` where there is nothing to ask about.
pub(crate) fn next_request(state: &State, number: u64) -> Request {
    let mut draw = Draw(number);
    let asked = match draw.below(34) {
        0 => Some(create_table(&mut draw)),
        1..=6 => add_files(state, &mut draw),
        7..=9 => Some(poll(&mut draw)),
        10..=12 => finish(state, &mut draw),
        13 | 14 => publish(state, &mut draw),
        15 => release(state, &mut draw),
        16 => lose_or_quarantine(state, &mut draw),
        17 => pin_or_unpin(state, &mut draw),
        18 => report_aside(state, &mut draw),
        19 => Some(Request::DeclareDue {
            grace: grace(&mut draw),
        }),
        20 => report_deleted(state, &mut draw),
        21 => sweep(state, &mut draw),
        22 => watching(state, &mut draw),
        23 => Some(Request::ApplyRetention(table_name(0))),
        24 => Some(pause_or_resume(state, &mut draw)),
        25 => cut(state, &mut draw),
        26..=29 => commit(state, &mut draw),
        30 => Some(receipts(state)),
        31 => undo(state, &mut draw),
        _ => state
            .jobs
            .keys()
            .next()
            .filter(|_| draw.below(4) == 0)
            .map(|job| Request::Cancel(*job)),
    };
    asked.unwrap_or(Request::Tick)
}

fn receipts(state: &State) -> Request {
    Request::ReportReceipts(state.receipts_due().map(|kept| kept.job.id).collect())
}

/// Takes a job back whose inputs are all seen, or brings some of them home.
fn undo(state: &State, draw: &mut Draw) -> Option<Request> {
    let mut returning = state.garbage.iter();
    let returning = returning.find(|(_, garbage)| garbage.stage == Stage::Returning);
    if let Some((aside, garbage)) = returning.filter(|_| draw.below(2) == 0) {
        let identity = garbage
            .original
            .as_ref()
            .map(|original| original.identity.clone());
        let aside = aside.clone();
        return Some(Request::ReportReturned(vec![Returned { aside, identity }]));
    }
    let committed = draw.one_of(state.committed.values())?;
    let inputs = committed.job.inputs.iter();
    Some(Request::Undo(Undo {
        job: committed.job.id,
        inputs_now: inputs.map(|input| Some(input.identity.clone())).collect(),
    }))
}

/// Resumes more often than it pauses, so that the stories go on.
fn pause_or_resume(state: &State, draw: &mut Draw) -> Request {
    let table = some_table(state, draw).map(|(name, _)| name.clone());
    match draw.below(4) {
        0 => Request::Pause { table },
        1 => Request::Resume { table: None },
        2 if draw.below(4) == 0 => Request::Pause { table: None },
        _ => Request::Resume { table },
    }
}

fn table_name(number: u64) -> TableName {
    TableName::from(["native", "in-place", "output", "keyed", "store", "external"][number as usize])
}

const TABLES: u64 = 6;

/// A table of each kind, as no root would have them beside each other.
pub(crate) fn all_tables() -> Vec<Event> {
    let created = |number| Event::TableCreated {
        table: table_name(number),
        spec: spec(number),
    };
    (0..TABLES).map(created).collect()
}

fn create_table(draw: &mut Draw) -> Request {
    create(draw.below(TABLES))
}

/// Begins the table of that number: 0 is native, 5 has an external catalog.
pub(crate) fn create(number: u64) -> Request {
    Request::CreateTable {
        table: table_name(number),
        spec: spec(number),
    }
}

fn spec(number: u64) -> Arc<TableSpec> {
    let catalog = match number {
        1 | 4 => Catalog::InPlace,
        5 => Catalog::External,
        2 => Catalog::Output {
            source: "file:///data/é".into(),
        },
        _ => Catalog::Native,
    };
    let keyed = MergeSpec {
        sort: vec![SortColumn {
            name: "k".into(),
            descending: true,
            nulls_first: true,
        }],
        rule: Rule::LastWriteWins {
            key: vec!["k".into()],
            version: "v".into(),
        },
        codec: Codec::Snappy,
        row_time: Some("t".into()),
        deleted: Some("gone".into()),
        expire: Some(Expire {
            column: "t".into(),
            after: Millis(500),
        }),
        lateness: Some(Millis(100)),
        ..MergeSpec::default()
    };
    let timed = MergeSpec {
        row_time: Some("t".into()),
        ..MergeSpec::default()
    };
    let spec = TableSpec {
        merge: Arc::new(match number {
            0 => timed,
            3 => keyed,
            _ => MergeSpec::default(),
        }),
        grace: Millis(50),
        rewritten: if number == 3 {
            Rewritten::Add
        } else {
            Rewritten::Report
        },
        replaced: match number {
            4 => Replaced::Delete,
            _ => Replaced::SetAside,
        },
        retention: Some(Millis(60_000)).filter(|_| number == 0),
        names_once: true,
        tenant: Some("day".into()).filter(|_| number != 3),
        ..TableSpec::of(catalog)
    };
    Arc::new(spec)
}

fn some_table<'a>(state: &'a State, draw: &mut Draw) -> Option<(&'a TableName, &'a Table)> {
    draw.one_of(&state.tables)
}

fn add_files(state: &State, draw: &mut Draw) -> Option<Request> {
    let (name, table) = some_table(state, draw)?;
    let place = match table.spec.catalog {
        Catalog::Output { .. } => Place::Source,
        _ => Place::Root,
    };
    let files = (0..1 + draw.below(4))
        .map(|_| Arc::new(file(name, place, draw)))
        .collect();
    Some(Request::AddFiles {
        table: name.clone(),
        evidence: state.sequence,
        files,
    })
}

fn file(table: &TableName, place: Place, draw: &mut Draw) -> File {
    let day = draw.below(3);
    let folder = if day == 0 {
        String::new()
    } else {
        format!("day={day}/")
    };
    let path = FilePath {
        place,
        path: format!("{folder}{table}-{}.parquet", draw.below(60)).into(),
    };
    let key = |draw: &mut Draw| -> Box<[u8]> { Box::new([draw.below(256) as u8, 7]) };
    let (low, high) = (key(draw), key(draw));
    let range = KeyRange {
        min: low.clone().min(high.clone()),
        max: low.max(high),
    };
    File {
        identity: identity(draw),
        partition: Partition::from(path.folder()),
        path,
        level: Level(draw.below(3) as u8),
        rows: 1 + draw.below(1_000),
        keys: Some(range).filter(|_| draw.below(2) == 0),
        times: Some(times(draw)).filter(|_| draw.below(2) == 0),
        digest: Some(Digest(u128::from(draw.below(u64::MAX)) << 70)).filter(|_| draw.below(2) == 0),
        checksum: Some(Digest(u128::MAX)).filter(|_| draw.below(3) == 0),
        origin: Origin::Foreign,
        added: Sequence(0),
        apart: Some(JobId(draw.below(9))).filter(|_| draw.below(9) == 0),
    }
}

/// Before and after 1970.
fn times(draw: &mut Draw) -> TimeRange {
    let mut time = || RowTime {
        unix_ms: draw.below(100_000) as i64 - 90_000,
    };
    let (one, other) = (time(), time());
    TimeRange {
        min: one.min(other),
        max: one.max(other),
    }
}

fn identity(draw: &mut Draw) -> Identity {
    Identity {
        tag: format!("\"{:x}\"", draw.below(3)).into(),
        bytes: 100 + draw.below(10_000),
        modified: StoreTime {
            unix_ms: draw.below(100_000),
        },
    }
}

fn poll(draw: &mut Draw) -> Request {
    let host = HostLock {
        boot: "boot".into(),
        lock: "_baler/lock".into(),
    };
    Request::Poll(Poll {
        worker: WorkerId::from(["one", "two", "three"][draw.below(3) as usize]),
        watcher: WatcherId(u128::from(1 + draw.below(3))),
        embedded: draw.below(2) == 0,
        host: Some(host).filter(|_| draw.below(2) == 0),
        slots: 1 + draw.below(2) as usize,
        memory: Some(Memory {
            all_bytes: 200 << 20,
            places: 2,
            free_bytes: draw.below(200 << 20),
        })
        .filter(|_| draw.below(4) == 0),
        isolates: draw.below(4) > 0,
        scope: Scope::default(),
    })
}

fn leased<'a>(state: &'a State, draw: &mut Draw, publishing: bool) -> Option<(&'a Arc<Job>, Attempt)> {
    let attempts = state.jobs.values().flat_map(|job| {
        let attempt = |(range, lease): (RangeId, &baler_core::lease::Lease)| Attempt {
            job: job.id,
            range,
            token: lease.token,
        };
        job.leases()
            .map(attempt)
            .map(move |attempt| (job, attempt))
            .collect::<Vec<_>>()
    });
    draw.one_of(attempts.filter(|(_, attempt)| (attempt.range == RangeId::Publish) == publishing))
}

/// Commits in an external catalog, of which nobody knows more than the state does.
fn commit(state: &State, draw: &mut Draw) -> Option<Request> {
    let is_due = |job: &&Arc<Job>| {
        let table = state.tables.get(&job.table);
        let external = table.is_some_and(|table| table.spec.catalog == Catalog::External);
        external && job.status == JobStatus::Compacted
    };
    let job = draw.one_of(state.jobs.values().filter(is_due))?;
    let tries = job.tries.as_ref();
    let newest = tries.map_or(3, |tries| tries.newest.0);
    if tries.is_some_and(|tries| tries.stuck.is_some()) {
        let landed = draw.below(2) == 0;
        return Some(Request::SettleCommit { job: job.id, landed });
    }
    let Some(lease) = job.publish.lease().filter(|_| draw.below(4) > 0) else {
        return Some(Request::BeginCommit(BeginCommit {
            job: job.id,
            base: CatalogVersion(newest + draw.below(3)),
            worker: "committer".into(),
            watcher: WatcherId(7),
            host: None,
        }));
    };
    let reason: Arc<str> = "so it is".into();
    let history = History {
        after: CatalogVersion(draw.below(5)),
        until: CatalogVersion(newest + 1),
    };
    let outcomes = [
        CommitOutcome::Committed,
        CommitOutcome::Unknown {
            reason: reason.clone(),
        },
        CommitOutcome::HistoryCut {
            reason: reason.clone(),
        },
        CommitOutcome::Refused { reason, history },
    ];
    Some(Request::ReportCommit {
        job: job.id,
        token: lease.token,
        outcome: draw.one_of(outcomes)?,
    })
}

fn cut(state: &State, draw: &mut Draw) -> Option<Request> {
    let (_, attempt) = leased(state, draw, false)?;
    let low = draw.below(100) as u8;
    Some(Request::CutJob {
        attempt,
        edges: vec![vec![low + 1], vec![low + 1, 7]],
    })
}

/// All rows of a job that was cut are in its first range.
fn finish(state: &State, draw: &mut Draw) -> Option<Request> {
    let (job, attempt) = leased(state, draw, false)?;
    let has_rows = attempt.range == RangeId::Keys(0);
    let read = |file: &Arc<File>| match has_rows {
        true => InputRead {
            rows: file.rows,
            copied: 0,
            digest: file.digest.unwrap_or(Digest(5)),
            positions: Some(Positions::all(file.rows)),
        },
        false => InputRead {
            rows: 0,
            copied: 0,
            digest: Digest(0),
            positions: Some(Positions::all(0)),
        },
    };
    let reads: Vec<InputRead> = job.inputs.iter().map(read).collect();
    let dropped = Dropped {
        rule: Dropped::LAST_WRITE_WINS.into(),
        rows: 1,
        digest: Digest(3),
    };
    let drops = Vec::from_iter(Some(dropped).filter(|_| has_rows && job.merge.is_keyed()));
    let dropped: Digest = drops.iter().map(|dropped| dropped.digest).sum();
    let digest: Digest = reads.iter().map(|read| read.digest).sum();
    let output = Output {
        part: 0,
        path: job.output_path(
            &state.tables.get(&job.table)?.spec.catalog,
            state.journal?,
            &attempt,
            0,
        ),
        bytes: 5_000,
        rows: reads.iter().map(|read| read.rows).sum::<u64>() - drops.len() as u64,
        copied: 0,
        digest: Digest(digest.0.wrapping_sub(dropped.0)),
        checksum: Digest(9),
        keys: job.inputs[0].keys.clone(),
        times: job.inputs[0].times,
    };
    let finished = Finished {
        token: attempt.token,
        outputs: Vec::from_iter(Some(output).filter(|_| has_rows)),
        reads,
        drops,
        copied: None,
        stretches: Vec::new(),
        effort: Some(Effort {
            worked_ms: 12,
            requests: 3,
            ..Effort::default()
        }),
    };
    let inputs_now = job
        .inputs
        .iter()
        .map(|file| Some(file.identity.clone()))
        .collect();
    Some(Request::Finish(Finish {
        job: job.id,
        range: attempt.range,
        finished,
        inputs_now: Some(inputs_now),
    }))
}

fn publish(state: &State, draw: &mut Draw) -> Option<Request> {
    let (job, attempt) = leased(state, draw, true)?;
    let now = |output: &Output| Identity {
        bytes: output.bytes,
        tag: "p".into(),
        modified: StoreTime::default(),
    };
    let identities = job.outputs().map(|output| Some(now(output))).collect();
    Some(Request::Publish {
        job: job.id,
        token: attempt.token,
        identities,
    })
}

fn release(state: &State, draw: &mut Draw) -> Option<Request> {
    let publishing = draw.below(2) == 0;
    let (_, attempt) = leased(state, draw, publishing)?;
    let reasons = [
        ReleaseReason::Drained,
        ReleaseReason::NodeFault("no memory".into()),
        ReleaseReason::StoreFault("503".into()),
        ReleaseReason::InputFault("footer".into()),
        ReleaseReason::InputFault("page 3".into()),
        ReleaseReason::ChildDied("signal 9".into()),
        ReleaseReason::Stalled,
    ];
    let why = draw.one_of(reasons)?;
    Some(Request::Release {
        attempt,
        why,
        culprits: Vec::new(),
    })
}

fn lose_or_quarantine(state: &State, draw: &mut Draw) -> Option<Request> {
    let (table, known) = some_table(state, draw)?;
    let file = draw.one_of(known.files.values())?;
    let (table, evidence) = (table.clone(), state.sequence);
    let consumed = known.consumed.keys().next().cloned();
    match draw.below(4) {
        0 => Some(Request::LoseFiles {
            table,
            evidence,
            paths: vec![file.path.clone()],
        }),
        1 => Some(Request::LoseFiles {
            table,
            evidence,
            paths: vec![consumed?],
        }),
        2 => Some(Request::Retry {
            table,
            paths: Vec::new(),
        }),
        _ => {
            let reason = "not Parquet".into();
            let mark = Quarantined {
                path: file.path.clone(),
                identity: file.identity.clone(),
                reason,
            };
            Some(Request::QuarantineFiles {
                table,
                evidence,
                files: vec![mark],
            })
        }
    }
}

fn pin_or_unpin(state: &State, draw: &mut Draw) -> Option<Request> {
    if let Some(pin) = state.pins.keys().next().filter(|_| draw.below(3) == 0) {
        return Some(Request::Unpin(*pin));
    }
    let (table, _) = some_table(state, draw)?;
    Some(Request::Pin {
        table: table.clone(),
        owner: "reader".into(),
        lifetime: Millis(draw.below(500)),
        version: Some(Sequence(state.sequence.0.saturating_sub(draw.below(3))))
            .filter(|_| draw.below(2) == 0),
    })
}

fn garbage_in(state: &State, stage: Stage) -> Vec<FilePath> {
    let found = state.garbage.iter().filter(|(_, garbage)| garbage.stage == stage);
    found.map(|(path, _)| path.clone()).take(2).collect()
}

fn report_aside(state: &State, draw: &mut Draw) -> Option<Request> {
    let mut moved = garbage_in(state, Stage::ToSetAside);
    let nothing = if draw.below(2) == 0 {
        moved.split_off(moved.len() / 2)
    } else {
        Vec::new()
    };
    Some(Request::ReportAside { moved, nothing })
}

fn grace(draw: &mut Draw) -> Grace {
    if draw.below(3) == 0 {
        Grace::Waived
    } else {
        Grace::Kept
    }
}

fn report_deleted(state: &State, draw: &mut Draw) -> Option<Request> {
    (draw.below(2) == 0).then(|| Request::ReportDeleted {
        listed: state.sequence,
        paths: garbage_in(state, Stage::Due),
    })
}

fn sweep(state: &State, draw: &mut Draw) -> Option<Request> {
    let leftover = draw.one_of(state.leftovers.values())?;
    let found = if draw.below(2) == 0 {
        vec![leftover.attempt.staged(0)]
    } else {
        Vec::new()
    };
    let grace = grace(draw);
    Some(Request::ReportSweep {
        attempt: leftover.attempt,
        found,
        grace,
    })
}

fn watching(state: &State, draw: &mut Draw) -> Option<Request> {
    let (id, watcher) = draw.one_of(&state.watchers)?;
    Some(match draw.below(4) {
        0 => Request::Renew(*id),
        3 => {
            let (_, attempt) = leased(state, draw, false)?;
            let lease = state.jobs.get(&attempt.job)?.range(attempt.range)?.lease()?;
            Request::Expire {
                watcher: lease.watcher,
                attempts: vec![attempt],
            }
        }
        1 => Request::TakeOver {
            watcher: *id,
            counter: watcher.counter,
            by: WatcherId(9),
        },
        _ => {
            let (_, attempt) = leased(state, draw, false)?;
            Request::Rewatch {
                watcher: WatcherId(8),
                attempts: vec![attempt],
            }
        }
    })
}
