//! Short names for the things that stories are about.

use std::sync::Arc;

use crate::event::{Event, Quarantined, ReleaseReason};
use crate::file::{Digest, File, FilePath, Identity, Level};
use crate::ids::{JobId, JournalId, Partition, RangeId, Sequence, TableName, Token, WatcherId, WorkerId};
use crate::job::{Dropped, Finished, InputRead, Job, Output, Why};
use crate::names::Attempt;
use crate::positions::Positions;
use crate::request::{Finish, Grace, Poll, Request, Scope};
use crate::table::{Catalog, MergeSpec, Replaced, Rule, TableSpec};
use crate::time::{Millis, StoreTime};

/// One table of each kind is in every story.
pub(super) const NATIVE: &str = "native";
pub(super) const PLACE: &str = "place";
pub(super) const OUTPUT: &str = "output";
pub(super) const KEYED: &str = "keyed";
/// In place, on a store: replaced files are deleted; and where the store cannot do that by condition.
pub(super) const STORE: &str = "store";
pub(super) const REMEMBERING: &str = "remembering";

pub(super) const JOURNAL: JournalId = JournalId(0xb);
pub(super) const GRACE: Millis = Millis(10_000);
/// By when it is over for certain.
pub(super) const PAST_GRACE: Millis = GRACE.between_stamps();
pub(super) const ROWS: u64 = 10;

/// A watcher that works for itself, and two that answer for remote workers.
pub(super) const LONER: WatcherId = WatcherId(1);
pub(super) const CHIEF: WatcherId = WatcherId(2);
pub(super) const DEPUTY: WatcherId = WatcherId(3);

pub(super) fn beginning() -> Vec<Event> {
    let keyed = Rule::LastWriteWins {
        key: vec!["k".into()],
        version: "v".into(),
    };
    let source = Catalog::Output {
        source: "/src".into(),
    };
    vec![
        Event::JournalCreated { journal: JOURNAL },
        table(NATIVE, Catalog::Native, Rule::KeepAll),
        table(PLACE, Catalog::InPlace, Rule::KeepAll),
        table(OUTPUT, source, Rule::KeepAll),
        table(KEYED, Catalog::Native, keyed),
        on_store(STORE, Replaced::Delete),
        on_store(REMEMBERING, Replaced::Remember),
    ]
}

fn table(name: &str, catalog: Catalog, rule: Rule) -> Event {
    Event::TableCreated {
        table: name.into(),
        spec: spec(catalog, rule),
    }
}

fn on_store(name: &str, replaced: Replaced) -> Event {
    let spec = TableSpec {
        replaced,
        ..TableSpec::clone(&spec(Catalog::InPlace, Rule::KeepAll))
    };
    Event::TableCreated {
        table: name.into(),
        spec: spec.into(),
    }
}

pub(super) fn spec(catalog: Catalog, rule: Rule) -> Arc<TableSpec> {
    let merge = MergeSpec {
        rule,
        ..MergeSpec::default()
    };
    Arc::new(TableSpec {
        merge: merge.into(),
        grace: GRACE,
        ..TableSpec::of(catalog)
    })
}

pub(super) fn path(path: &str) -> FilePath {
    match path.strip_prefix("src:") {
        Some(path) => FilePath::in_source(path),
        None => FilePath::in_root(path),
    }
}

pub(super) fn paths<const N: usize>(names: [&str; N]) -> Vec<FilePath> {
    names.iter().map(|name| path(name)).collect()
}

pub(super) fn version(tag: &str) -> Identity {
    Identity {
        tag: tag.into(),
        bytes: 100,
        modified: StoreTime { unix_ms: 7 },
    }
}

/// A file of ten rows in its first version. `a@2` is the second version of `a`.
pub(super) fn file(name: &str) -> Arc<File> {
    let (name, tag) = name.split_once('@').unwrap_or((name, "1"));
    Arc::new(File {
        partition: Partition::from(""),
        ..File::found(path(name), version(tag), ROWS)
    })
}

pub(super) fn files<const N: usize>(names: [&str; N]) -> Vec<Arc<File>> {
    names.iter().map(|name| file(name)).collect()
}

pub(super) fn mark(name: &str, reason: &str) -> Quarantined {
    let file = file(name);
    Quarantined {
        path: file.path.clone(),
        identity: file.identity.clone(),
        reason: reason.into(),
    }
}

// Events.

pub(super) fn added<const N: usize>(table: &str, names: [&str; N]) -> Event {
    Event::FilesAdded {
        table: table.into(),
        files: files(names),
    }
}

pub(super) fn lost<const N: usize>(table: &str, names: [&str; N]) -> Event {
    Event::FilesLost {
        table: table.into(),
        paths: paths(names),
    }
}

pub(super) fn planned<const N: usize>(table: &str, job: u64, inputs: [&str; N]) -> Event {
    planned_because(table, job, inputs, Why::SmallFiles)
}

pub(super) fn planned_because<const N: usize>(table: &str, job: u64, inputs: [&str; N], why: Why) -> Event {
    Event::JobPlanned {
        job: JobId(job),
        table: table.into(),
        partition: Partition::from(""),
        inputs: paths(inputs),
        output_level: Level(1),
        why,
        drops: None,
        alone: false,
        receipt: true,
    }
}

pub(super) fn leased(job: u64) -> Event {
    leased_by(job, RangeId::Keys(0), LONER)
}

/// A watcher's own work if it is the loner, else a remote worker's.
pub(super) fn leased_by(job: u64, range: RangeId, watcher: WatcherId) -> Event {
    Event::RangeLeased {
        job: JobId(job),
        range,
        worker: WorkerId::from("w"),
        watcher,
        embedded: watcher == LONER,
        host: None,
        tenant: None,
        isolates: false,
    }
}

pub(super) fn due<const N: usize>(table: &str, names: [&str; N]) -> Event {
    Event::DeletionDue {
        table: table.into(),
        paths: paths(names),
    }
}

// Requests.

pub(super) fn add<const N: usize>(table: &str, evidence: Sequence, names: [&str; N]) -> Request {
    Request::AddFiles {
        table: table.into(),
        evidence,
        files: files(names),
    }
}

pub(super) fn lose<const N: usize>(table: &str, evidence: Sequence, names: [&str; N]) -> Request {
    Request::LoseFiles {
        table: table.into(),
        evidence,
        paths: paths(names),
    }
}

pub(super) fn poll(watcher: WatcherId, slots: usize) -> Request {
    Request::Poll(a_poll(watcher, slots))
}

pub(super) fn a_poll(watcher: WatcherId, slots: usize) -> Poll {
    Poll {
        worker: WorkerId::from("w"),
        watcher,
        embedded: watcher == LONER,
        host: None,
        slots,
        memory: None,
        isolates: false,
        scope: Scope::default(),
    }
}

pub(super) fn release(attempt: Attempt, why: ReleaseReason) -> Request {
    Request::Release {
        attempt,
        why,
        culprits: Vec::new(),
    }
}

/// By somebody who read the list just now.
pub(super) fn report_deleted(paths: Vec<FilePath>) -> Request {
    Request::ReportDeleted {
        listed: Sequence(u64::MAX),
        paths,
    }
}

pub(super) fn declare_due() -> Request {
    Request::DeclareDue { grace: Grace::Kept }
}

pub(super) fn sweep<const N: usize>(attempt: Attempt, found: [&str; N]) -> Request {
    Request::ReportSweep {
        attempt,
        found: paths(found),
        grace: Grace::Kept,
    }
}

pub(super) fn pin(table: &str, lifetime: Millis) -> Request {
    Request::Pin {
        table: TableName::from(table),
        owner: "reader".into(),
        lifetime,
        version: None,
    }
}

/// The digest of a file's rows, as whoever reads them finds it.
pub(super) fn digest_of(file: &File) -> Digest {
    let text = format!("{}@{}", file.path, file.identity.tag);
    file.digest.unwrap_or_else(|| {
        let mix = |sum: u128, byte: u8| (sum ^ u128::from(byte)).wrapping_mul(0x0100_0000_01b3);
        Digest(text.bytes().fold(0xcbf2_9ce4_8422_2325_u128 << 40, mix))
    })
}

/// Where an attempt at this job writes, by the table's name alone.
pub(super) fn output_of(job: &Job, attempt: &Attempt, part: u32) -> FilePath {
    let catalog = match job.table.as_str() {
        PLACE | OUTPUT | STORE | REMEMBERING => Catalog::InPlace,
        _ => Catalog::Native,
    };
    job.output_path(&catalog, JOURNAL, attempt, part)
}

/// A right result: everything that was read is written to one output.
pub(super) fn finished(job: &Job, attempt: &Attempt) -> Finished {
    let reads: Vec<InputRead> = job
        .inputs
        .iter()
        .map(|input| InputRead {
            rows: input.rows,
            copied: 0,
            digest: digest_of(input),
            positions: Some(Positions::all(input.rows)),
        })
        .collect();
    Finished {
        token: attempt.token,
        outputs: vec![Output {
            part: 0,
            path: output_of(job, attempt, 0),
            bytes: 200,
            rows: job.rows(),
            copied: 0,
            digest: reads.iter().map(|read| read.digest).sum(),
            checksum: Digest(u128::from(job.id.0) + 1),
            keys: None,
            times: None,
        }],
        reads,
        drops: Vec::new(),
        copied: None,
        stretches: Vec::new(),
        effort: None,
    }
}

/// A right result, with every input found as it was.
pub(super) fn finish(job: &Job, attempt: &Attempt) -> Finish {
    Finish {
        job: job.id,
        range: attempt.range,
        finished: finished(job, attempt),
        inputs_now: Some(
            job.inputs
                .iter()
                .map(|file| Some(file.identity.clone()))
                .collect(),
        ),
    }
}

pub(super) fn publish(job: u64, token: Token) -> Request {
    Request::Publish {
        job: JobId(job),
        token,
        identities: vec![Some(published())],
    }
}

/// What the store calls a published output.
pub(super) fn published() -> Identity {
    Identity {
        bytes: 200,
        ..version("published")
    }
}

pub(super) fn dropped(rule: &str, rows: u64, digest: Digest) -> Dropped {
    Dropped {
        rule: rule.into(),
        rows,
        digest,
    }
}
