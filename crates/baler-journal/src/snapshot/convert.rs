//! Between the state's nouns and a snapshot's messages. Every struct is taken apart by all its fields, so that one
//! added to the core does not compile until it has a place here.

use std::sync::Arc;

use baler_core::event::Quarantined;
use baler_core::file::{Digest, File, FilePath, Identity, KeyRange, Level, Origin, Place};
use baler_core::garbage::{Garbage, Leftover, Original, Stage};
use baler_core::ids::{JobId, Partition, PinId, RangeId, Sequence, TableName, Token};
use baler_core::job::Job;
use baler_core::names::Attempt;
use baler_core::receipt::Committed;
use baler_core::state::{Pin, Removed};
use baler_core::time::{Millis, RowTime, StoreTime, TimeRange};
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::records::{
    CommittedRecord, FileRecord, GarbageRecord, IdentityRecord, JobRecord, KeysRecord, LeftRecord,
    LeftoverRecord, PathRecord, PinRecord, QuarantinedRecord, RemovedRecord, TimesRecord, Wide,
};

/// Why a record cannot be taken: in words, for an error that names the snapshot.
pub(super) type Odd = String;

pub(super) fn to_json(value: &impl Serialize) -> String {
    serde_json::to_string(value).expect("what the state holds has text keys only")
}

pub(super) fn from_json<T: DeserializeOwned>(text: &str) -> Result<T, Odd> {
    serde_json::from_str(text).map_err(|error| error.to_string())
}

/// A field that every writer so far has set.
pub(super) fn required<T>(field: Option<T>) -> Result<T, Odd> {
    field.ok_or_else(|| "a record lacks a field".to_owned())
}

impl From<u128> for Wide {
    fn from(wide: u128) -> Self {
        Self {
            high: (wide >> 64) as u64,
            low: wide as u64,
        }
    }
}

impl From<Wide> for u128 {
    fn from(wide: Wide) -> Self {
        Self::from(wide.high) << 64 | Self::from(wide.low)
    }
}

pub(super) fn path_record(path: &FilePath) -> PathRecord {
    let FilePath { place, path } = path;
    PathRecord {
        path: path.as_ref().to_owned(),
        in_source: *place == Place::Source,
    }
}

pub(super) fn path(record: Option<PathRecord>) -> Result<FilePath, Odd> {
    let PathRecord { path, in_source } = required(record)?;
    let place = if in_source { Place::Source } else { Place::Root };
    Ok(FilePath {
        place,
        path: path.into(),
    })
}

pub(super) fn identity_record(identity: &Identity) -> IdentityRecord {
    let Identity { tag, bytes, modified } = identity;
    IdentityRecord {
        tag: tag.as_ref().to_owned(),
        bytes: *bytes,
        modified_ms: modified.unix_ms,
    }
}

pub(super) fn identity(record: Option<IdentityRecord>) -> Result<Identity, Odd> {
    let IdentityRecord {
        tag,
        bytes,
        modified_ms,
    } = required(record)?;
    let modified = StoreTime { unix_ms: modified_ms };
    Ok(Identity {
        tag: tag.into(),
        bytes,
        modified,
    })
}

pub(super) fn removed_record(path: &FilePath, removed: &Removed) -> RemovedRecord {
    let Removed { at, consumed } = removed;
    RemovedRecord {
        path: Some(path_record(path)),
        at: at.0,
        consumed: consumed.as_ref().map(identity_record),
    }
}

pub(super) fn removed(record: RemovedRecord) -> Result<(FilePath, Removed), Odd> {
    let consumed = match record.consumed {
        None => None,
        some => Some(identity(some)?),
    };
    let at = Sequence(record.at);
    Ok((path(record.path)?, Removed { at, consumed }))
}

/// Without its partition, which the record before it or the job names.
pub(super) fn file_record(file: &File) -> FileRecord {
    let File {
        path,
        identity,
        partition: _,
        level,
        rows,
        keys,
        times,
        digest,
        checksum,
        origin,
        added,
        apart,
    } = file;
    let origin_job = match origin {
        Origin::Foreign => None,
        Origin::Job(job) => Some(job.0),
    };
    let keys_record = |KeyRange { min, max }: &KeyRange| KeysRecord {
        min: min.to_vec(),
        max: max.to_vec(),
    };
    FileRecord {
        path: Some(path_record(path)),
        identity: Some(identity_record(identity)),
        level: level.0.into(),
        rows: *rows,
        keys: keys.as_ref().map(keys_record),
        digest: digest.map(|digest| digest.0.into()),
        checksum: checksum.map(|checksum| checksum.0.into()),
        origin_job,
        added: added.0,
        apart: apart.map(|job| job.0),
        times: times.as_ref().map(times_record),
    }
}

fn times_record(TimeRange { min, max }: &TimeRange) -> TimesRecord {
    TimesRecord {
        min_ms: min.unix_ms,
        max_ms: max.unix_ms,
    }
}

fn times(record: TimesRecord) -> TimeRange {
    let time = |unix_ms| RowTime { unix_ms };
    TimeRange {
        min: time(record.min_ms),
        max: time(record.max_ms),
    }
}

pub(super) fn left_record(file: &File, at: Sequence) -> LeftRecord {
    LeftRecord {
        file: Some(file_record(file)),
        partition: file.partition.to_string(),
        at: at.0,
    }
}

pub(super) fn left(record: LeftRecord) -> Result<(Sequence, File), Odd> {
    let partition = Partition(record.partition.into());
    Ok((Sequence(record.at), file(required(record.file)?, partition)?))
}

pub(super) fn file(record: FileRecord, partition: Partition) -> Result<File, Odd> {
    let keys = |KeysRecord { min, max }| KeyRange {
        min: min.into(),
        max: max.into(),
    };
    Ok(File {
        path: path(record.path)?,
        identity: identity(record.identity)?,
        partition,
        level: level(record.level)?,
        rows: record.rows,
        keys: record.keys.map(keys),
        digest: record.digest.map(|wide| Digest(wide.into())),
        checksum: record.checksum.map(|wide| Digest(wide.into())),
        origin: record
            .origin_job
            .map_or(Origin::Foreign, |job| Origin::Job(JobId(job))),
        added: Sequence(record.added),
        apart: record.apart.map(JobId),
        times: record.times.map(times),
    })
}

fn level(level: u32) -> Result<Level, Odd> {
    u8::try_from(level)
        .map(Level)
        .map_err(|_| format!("level {level}"))
}

pub(super) fn quarantined_record(mark: &Quarantined) -> QuarantinedRecord {
    let Quarantined {
        path,
        identity,
        reason,
    } = mark;
    QuarantinedRecord {
        path: Some(path_record(path)),
        identity: Some(identity_record(identity)),
        reason: reason.as_ref().to_owned(),
    }
}

pub(super) fn quarantined(record: QuarantinedRecord) -> Result<Quarantined, Odd> {
    let (path, identity) = (path(record.path)?, identity(record.identity)?);
    Ok(Quarantined {
        path,
        identity,
        reason: record.reason.into(),
    })
}

pub(super) fn job_record(job: &Job) -> JobRecord {
    let Job {
        id,
        table,
        partition,
        inputs,
        output_level,
        why,
        merge,
        drops,
        status,
        ranges,
        publish,
        tries,
        planned,
        receipt,
        input_faults,
        last_error,
    } = job;
    let others = (0u32..)
        .zip(inputs)
        .filter(|(_, file)| file.partition != *partition);
    JobRecord {
        id: id.0,
        table: table.to_string(),
        partition: partition.to_string(),
        inputs: inputs.iter().map(|file| file_record(file)).collect(),
        other_partitions: others
            .map(|(at, file)| (at, file.partition.to_string()))
            .collect(),
        output_level: output_level.0.into(),
        why: to_json(why),
        merge: to_json(merge),
        status: to_json(status),
        ranges: to_json(ranges),
        publish: to_json(publish),
        planned: planned.0,
        input_faults: *input_faults,
        last_error: last_error.as_deref().map(str::to_owned),
        drops: drops.as_ref().map(to_json),
        tries: tries.as_ref().map(to_json),
        receipt: *receipt,
    }
}

/// With inputs that the caller may share with the table's files.
pub(super) fn job(record: JobRecord, share: impl Fn(File) -> Arc<File>) -> Result<Job, Odd> {
    let partition = Partition::from(record.partition.as_str());
    let mut inputs = Vec::with_capacity(record.inputs.len());
    for (at, input) in (0u32..).zip(record.inputs) {
        let other = record
            .other_partitions
            .get(&at)
            .map(|other| Partition::from(other.as_str()));
        inputs.push(share(file(input, other.unwrap_or_else(|| partition.clone()))?));
    }
    Ok(Job {
        id: JobId(record.id),
        table: TableName::from(record.table.as_str()),
        partition,
        inputs,
        output_level: level(record.output_level)?,
        why: from_json(&record.why)?,
        merge: from_json(&record.merge)?,
        drops: record.drops.as_deref().map(from_json).transpose()?,
        status: from_json(&record.status)?,
        ranges: from_json(&record.ranges)?,
        publish: from_json(&record.publish)?,
        tries: record.tries.as_deref().map(from_json).transpose()?,
        planned: Sequence(record.planned),
        receipt: record.receipt,
        input_faults: record.input_faults,
        last_error: record.last_error.map(Into::into),
    })
}

pub(super) fn committed_record(committed: &Committed) -> CommittedRecord {
    let Committed {
        job,
        outputs,
        ended,
        receipted,
    } = committed;
    CommittedRecord {
        job: Some(job_record(job)),
        outputs: outputs.iter().map(|file| file_record(file)).collect(),
        ended: ended.0,
        receipted: *receipted,
    }
}

/// With files that the caller may share with the table's.
pub(super) fn committed(
    record: CommittedRecord,
    share: impl Fn(File) -> Arc<File>,
) -> Result<Committed, Odd> {
    let job = job(required(record.job)?, &share)?;
    let outputs = record.outputs.into_iter();
    let outputs = outputs.map(|output| Ok(share(file(output, job.partition.clone())?)));
    Ok(Committed {
        outputs: outputs.collect::<Result<_, Odd>>()?,
        job: Arc::new(job),
        ended: Sequence(record.ended),
        receipted: record.receipted,
    })
}

pub(super) fn garbage_record(path: &FilePath, garbage: &Garbage) -> GarbageRecord {
    let Garbage {
        table,
        stage,
        since,
        added,
        replaced,
        original,
    } = garbage;
    let stage = match stage {
        Stage::ToSetAside => 1,
        Stage::Waiting => 2,
        Stage::Due => 3,
        Stage::Ripe => 4,
        Stage::Returning => 5,
    };
    GarbageRecord {
        path: Some(path_record(path)),
        table: table.to_string(),
        stage,
        since: since.0,
        added: added.0,
        replaced: replaced.0,
        original_path: original
            .as_ref()
            .map(|Original { path, identity: _ }| path_record(path)),
        original_identity: original
            .as_ref()
            .map(|Original { path: _, identity }| identity_record(identity)),
    }
}

pub(super) fn garbage(record: GarbageRecord, table: TableName) -> Result<(FilePath, Garbage), Odd> {
    let stage = match record.stage {
        1 => Stage::ToSetAside,
        2 => Stage::Waiting,
        3 => Stage::Due,
        4 => Stage::Ripe,
        5 => Stage::Returning,
        other => return Err(format!("stage {other} of garbage")),
    };
    let original = match record.original_path {
        None => None,
        some => Some(Original {
            path: path(some)?,
            identity: identity(record.original_identity)?,
        }),
    };
    let garbage = Garbage {
        table,
        stage,
        since: Sequence(record.since),
        added: Sequence(record.added),
        replaced: Sequence(record.replaced),
        original,
    };
    Ok((path(record.path)?, garbage))
}

pub(super) fn leftover_record(leftover: &Leftover) -> LeftoverRecord {
    let Leftover {
        attempt:
            Attempt {
                job,
                range,
                token: Token { sequence, index },
            },
        table,
        since,
        swept,
    } = leftover;
    let keys = match range {
        RangeId::Keys(keys) => Some(*keys),
        RangeId::Publish => None,
    };
    LeftoverRecord {
        job: job.0,
        keys,
        token_sequence: sequence.0,
        token_index: *index,
        since: since.0,
        swept: *swept,
        table: Some(table.to_string()),
    }
}

pub(super) fn leftover(record: &LeftoverRecord, table: TableName) -> Leftover {
    let token = Token {
        sequence: Sequence(record.token_sequence),
        index: record.token_index,
    };
    let range = record.keys.map_or(RangeId::Publish, RangeId::Keys);
    Leftover {
        attempt: Attempt {
            job: JobId(record.job),
            range,
            token,
        },
        table,
        since: Sequence(record.since),
        swept: record.swept,
    }
}

pub(super) fn pin_record(id: PinId, pin: &Pin) -> PinRecord {
    let Pin {
        table,
        version,
        owner,
        lifetime,
    } = pin;
    PinRecord {
        entry: id.entry.0,
        index: id.index,
        table: table.to_string(),
        owner: owner.as_ref().to_owned(),
        lifetime_ms: lifetime.0,
        version: Some(version.0).filter(|_| *version != id.entry),
    }
}

pub(super) fn pin(record: PinRecord) -> (PinId, Pin) {
    let pin = Pin {
        table: TableName::from(record.table.as_str()),
        version: Sequence(record.version.unwrap_or(record.entry)),
        owner: record.owner.into(),
        lifetime: Millis(record.lifetime_ms),
    };
    let id = PinId {
        entry: Sequence(record.entry),
        index: record.index,
    };
    (id, pin)
}
