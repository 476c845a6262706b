//! What an object is, by its name and what the state says of that name.

use baler_core::file::{File, FilePath, Identity};
use baler_core::garbage::Stage;
use baler_core::job::Job;
use baler_core::names::{self, Attempt, BALER_FOLDER, OutputName};
use baler_core::state::State;
use baler_core::table::Catalog;

use super::{Finding, Kind, is_version};
use crate::depot::Object;

/// Folders of the journal's own objects.
const JOURNAL: [&str; 6] = ["journal", "snapshots", "boundary", "format", "probed", "home"];

pub(super) fn judge(state: &State, object: &Object) -> Finding {
    let (kind, why) = verdict(state, object);
    Finding {
        kind,
        path: object.path.to_string(),
        bytes: object.identity.bytes,
        why,
    }
}

/// A live file that was looked for by its name.
pub(super) fn judge_live(file: &File, now: Option<&Identity>) -> Finding {
    let (kind, why) = match now {
        Some(now) => version(file, now),
        None => (Kind::Missing, "it is live, and it is not there".to_owned()),
    };
    Finding {
        kind,
        path: file.path.to_string(),
        bytes: file.bytes(),
        why,
    }
}

/// Who began an upload.
pub(super) fn uploader(state: &State, path: &FilePath) -> String {
    let attempt = OutputName::parse(path.name()).map(|name| name.attempt);
    match attempt.or_else(|| staging_attempt(state, path)) {
        Some(attempt) if is_under_way(state, &attempt) => {
            format!("an attempt at job {} is at it", attempt.job)
        }
        Some(attempt) => format!("an attempt at job {} began it and has ended", attempt.job),
        None => "nobody that the journal knows began it".to_owned(),
    }
}

fn verdict(state: &State, object: &Object) -> (Kind, String) {
    let path = &object.path;
    if let Some(file) = state.tables.values().find_map(|table| table.files.get(path)) {
        return version(file, &object.identity);
    }
    if let Some(garbage) = state.garbage.get(path) {
        return (Kind::SetAside, stage_in_words(garbage.stage).to_owned());
    }
    if is_cut_off(path) {
        return (Kind::Scratch, "a write that was cut off".to_owned());
    }
    if let Some(rest) = below_baler(path) {
        return own(state, path, rest);
    }
    data(state, object)
}

fn version(file: &File, now: &Identity) -> (Kind, String) {
    match is_version(file, now) {
        true => (Kind::Live, String::new()),
        false if now.bytes != file.identity.bytes => {
            let why = format!("{} bytes there, {} on record", now.bytes, file.identity.bytes);
            (Kind::Differs, why)
        }
        false => (Kind::Differs, "it was overwritten since it was taken".to_owned()),
    }
}

fn stage_in_words(stage: Stage) -> &'static str {
    match stage {
        Stage::ToSetAside => "replaced; to be set aside",
        Stage::Ripe => "replaced; to be deleted",
        Stage::Waiting => "replaced; in its grace period",
        Stage::Due => "on the deletion list",
        Stage::Returning => "being brought back by an undo",
    }
}

/// Something in Baler's own folder that no list names.
fn own(state: &State, path: &FilePath, rest: &str) -> (Kind, String) {
    let (folder, name) = rest.split_once('/').unwrap_or(("", rest));
    match folder {
        folder if JOURNAL.contains(&folder) => (Kind::Journal, String::new()),
        "watchers" => (Kind::Scratch, "a living process locks it".to_owned()),
        "probe" => (Kind::Scratch, "left by a probe".to_owned()),
        "" if name == "aside.lock" => (Kind::Scratch, "a lock".to_owned()),
        "aside" if name.ends_with(".back") => (Kind::Scratch, "a copy that was cut off".to_owned()),
        // A file on its way out is moved here before it is compared and unlinked.
        "aside" if name.starts_with("due-") => (Kind::SetAside, "being deleted".to_owned()),
        "backup" => (Kind::Kept, "a copy of an older journal".to_owned()),
        "aside" if is_aside(name) => (
            Kind::Kept,
            "set aside by a job that the journal does not know any more".to_owned(),
        ),
        "receipts" => receipt(state, name),
        "staging" => staged(state, path),
        _ => (
            Kind::Foreign,
            "nobody that the journal knows put it here".to_owned(),
        ),
    }
}

fn receipt(state: &State, name: &str) -> (Kind, String) {
    let ours = state.journal.map(|journal| journal.to_string());
    match name.split_once('/') {
        Some((journal, _)) if Some(journal) == ours.as_deref() => (Kind::Receipt, String::new()),
        _ => (Kind::Other, "a receipt of another journal".to_owned()),
    }
}

fn staged(state: &State, path: &FilePath) -> (Kind, String) {
    match staging_attempt(state, path) {
        Some(attempt) if is_under_way(state, &attempt) => {
            (Kind::UnderWay, format!("an attempt at job {}", attempt.job))
        }
        Some(attempt) => (
            Kind::Leftover,
            format!("of an attempt at job {} that ended", attempt.job),
        ),
        None => forgotten(state, path),
    }
}

/// Something staged by no attempt that is remembered. Only what this journal granted goes by its name.
fn forgotten(state: &State, path: &FilePath) -> (Kind, String) {
    let granted =
        |attempt: &Attempt| attempt.job < state.next_job && attempt.token.sequence <= state.sequence;
    match names::stager_of(path).filter(granted) {
        Some(attempt) => (
            Kind::LateWrite,
            format!("an attempt at job {} wrote it after it had ended", attempt.job),
        ),
        None => (
            Kind::Foreign,
            "nobody that the journal knows put it here".to_owned(),
        ),
    }
}

/// Something outside Baler's own folder that no table shows.
fn data(state: &State, object: &Object) -> (Kind, String) {
    let path = &object.path;
    let mut tables = state.tables.values();
    if tables.any(|table| table.is_consumed(path, &object.identity)) {
        return (Kind::Consumed, "its rows are in an output".to_owned());
    }
    let mut tables = state.tables.values();
    if let Some(mark) = tables.find_map(|table| table.quarantine.get(path)) {
        return (Kind::Quarantined, mark.reason.to_string());
    }
    match OutputName::parse(path.name()) {
        Some(name) if Some(name.journal) == state.journal => output(state, &name.attempt),
        Some(name) if !takes_any_name(state) => (
            Kind::Foreign,
            format!("named by another journal, {}", name.journal),
        ),
        _ if names::is_data_path(&path.path) && path.path.ends_with(".parquet") => {
            (Kind::New, "no table has taken it".to_owned())
        }
        _ => (Kind::Other, "no data by its name".to_owned()),
    }
}

/// In a root of native tables, files of other roots may lie until they are added.
fn takes_any_name(state: &State) -> bool {
    let mut tables = state.tables.values();
    tables.all(|table| matches!(table.spec.catalog, Catalog::Native | Catalog::External))
}

fn output(state: &State, attempt: &Attempt) -> (Kind, String) {
    let remembered = state
        .leftovers
        .get(&(attempt.token.sequence, attempt.token.index))
        .is_some();
    match () {
        () if is_under_way(state, attempt) => (Kind::UnderWay, format!("an attempt at job {}", attempt.job)),
        () if remembered => (
            Kind::Leftover,
            format!("of an attempt at job {} that ended", attempt.job),
        ),
        () => (
            Kind::LateWrite,
            format!("an attempt at job {} wrote it after it had ended", attempt.job),
        ),
    }
}

/// Whether a job that has not ended counts on what this attempt wrote, or may yet.
pub(crate) fn is_under_way(state: &State, attempt: &Attempt) -> bool {
    let works = |job: &Job| {
        let leased = job.leases().any(|(_, lease)| lease.token == attempt.token);
        leased
            || job
                .finished()
                .any(|(_, finished)| finished.token == attempt.token)
    };
    state.jobs.get(&attempt.job).is_some_and(|job| works(job))
}

/// The attempt in whose folder this lies, if one is remembered.
fn staging_attempt(state: &State, path: &FilePath) -> Option<Attempt> {
    let ended = state.leftovers.values().map(|leftover| leftover.attempt);
    let open = state.jobs.values().flat_map(|job| {
        let leased = job.leases().map(|(range, lease)| (range, lease.token));
        let finished = job.finished().map(|(range, finished)| (range, finished.token));
        let of_job = |(range, token)| Attempt {
            job: job.id,
            range,
            token,
        };
        leased.chain(finished).map(of_job).collect::<Vec<_>>()
    });
    ended.chain(open).find(|attempt| attempt.may_have_left(path))
}

fn below_baler(path: &FilePath) -> Option<&str> {
    path.path.strip_prefix(BALER_FOLDER)?.strip_prefix('/')
}

/// `<job>/<number>.aside`
fn is_aside(name: &str) -> bool {
    let parts = name.split_once('/');
    let numbers = parts.and_then(|(job, file)| Some([job, file.strip_suffix(".aside")?]));
    numbers.is_some_and(|numbers| numbers.iter().all(|number| number.parse::<u64>().is_ok()))
}

/// In a directory objects are written under such a name first.
fn is_cut_off(path: &FilePath) -> bool {
    let number = path.name().rsplit_once('#').map(|(_, number)| number);
    number.is_some_and(|number| !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit()))
}
