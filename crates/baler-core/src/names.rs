//! Names of the objects that Baler writes. Two attempts, two ranges or two journals never share one, and what an
//! attempt may have left behind lies under a prefix that the journal knows without listing the bucket.
//!
//! ```text
//! day=1/baler-<journal>-<job>-<range>-<token>-<part>.parquet     an output of a plain table, under its final name
//! _baler/staging/<job>-<range>-<token>/<part>.staged             the same, before it is published
//! _baler/aside/<job>/<input>.aside                               a replaced file of a plain table, in its grace
//! _baler/aside/undone-<job>/<output>.aside                       an output of a plain table whose job was undone
//! tables/<table>/<job>-<range>-<token>/baler-….<format>          an output of any other table, from its first byte on
//! _baler/aside/due-<entry>/<path>.aside                          a foreign file of a native table, while it is deleted
//! _baler/receipts/<journal>/<job, 20 digits>-<table>.json         what a committed job did
//! _baler/receipts/<journal>/<job, 20 digits>-<table>.undone       that the job was undone
//! ```
//!
//! Nothing under `_baler` ends in `.parquet`: a reader's recursive glob must not find it.

use std::sync::Arc;

use crate::file::{FilePath, Place};
use crate::ids::{JobId, JournalId, Partition, RangeId, Sequence, TableName, Token};
use crate::limits::{FORMAT_NAME_BYTES_MAX, TABLE_NAME_BYTES_MAX};
use crate::table::MergeSpec;

/// The folder below a root that belongs to Baler.
pub const BALER_FOLDER: &str = "_baler";

/// The folder below a root that holds what attempts write before it is published, a folder for each.
pub const STAGING_FOLDER: &str = "_baler/staging";

/// The folder below a root that holds the outputs of native tables, a folder for each attempt.
pub const TABLES_FOLDER: &str = "tables";

/// One worker's try at a range.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
pub struct Attempt {
    /// The job tried.
    pub job: JobId,
    /// The part of it.
    pub range: RangeId,
    /// The lease it was tried under.
    pub token: Token,
}

impl Attempt {
    /// What this attempt writes beside its outputs, and in a plain table these too, lies below this folder of the root.
    pub fn staging_folder(&self) -> String {
        format!("{STAGING_FOLDER}/{}", self.folder_name())
    }

    /// The outputs of an attempt on a native table lie in this folder of the root.
    pub fn native_folder(&self, table: &TableName) -> String {
        format!("{TABLES_FOLDER}/{table}/{}", self.folder_name())
    }

    fn folder_name(&self) -> String {
        match crate::planted!(SharedOutputNames) {
            true => format!("{}-{}-1.0", self.job, self.range),
            false => format!("{}-{}-{}", self.job, self.range, self.token),
        }
    }

    /// Whether this path lies where nobody but this attempt writes.
    pub fn may_have_left(&self, path: &FilePath) -> bool {
        let below = path.path.strip_prefix(self.staging_folder().as_str());
        path.place == Place::Root && below.is_some_and(|below| below.starts_with('/'))
    }

    /// Whether this path is an output of this attempt on a native table, or a write of one that was cut off. The
    /// folder is in sight of others, so the folder alone proves nothing.
    pub fn may_have_written(&self, journal: JournalId, table: &TableName, path: &FilePath) -> bool {
        let name = OutputName::parse(without_cut(path.name()));
        let own = name.is_some_and(|name| name.journal == journal && name.attempt == *self);
        own && path.place == Place::Root && path.folder() == self.native_folder(table)
    }

    /// Where part number `part` is written before it is published.
    pub fn staged(&self, part: u32) -> FilePath {
        FilePath::in_root(format!("{}/{part}.staged", self.staging_folder()))
    }

    /// The final name of part number `part` in a plain table. See `Job::output_path` for tables of any kind.
    pub fn output(&self, journal: JournalId, partition: &Partition, part: u32) -> FilePath {
        let name = self.output_name(journal, MergeSpec::PARQUET, part);
        let path = if partition.as_str().is_empty() {
            name
        } else {
            format!("{partition}/{name}")
        };
        FilePath::in_root(path)
    }

    /// The name of part number `part` in a native table.
    pub fn native_output(&self, journal: JournalId, table: &TableName, format: &str, part: u32) -> FilePath {
        let (folder, name) = (self.native_folder(table), self.output_name(journal, format, part));
        FilePath::in_root(format!("{folder}/{name}"))
    }

    fn output_name(&self, journal: JournalId, format: &str, part: u32) -> String {
        format!("baler-{journal}-{}-{part}.{format}", self.folder_name())
    }
}

/// The attempt that alone writes to the folder in which this lies, as the names of folder and file say.
pub fn writer_of(journal: JournalId, path: &FilePath) -> Option<Attempt> {
    let folder = path.folder();
    let staged = || parse_folder(folder.strip_prefix(STAGING_FOLDER)?.strip_prefix('/')?);
    let written = || {
        let name = OutputName::parse(path.name()).filter(|name| name.journal == journal)?;
        let (_, own) = folder.rsplit_once('/')?;
        (own == name.attempt.folder_name()).then_some(name.attempt)
    };
    let attempt = staged().or_else(written);
    attempt.filter(|_| path.place == Place::Root)
}

/// The attempt that staged this, if it has exactly the name that a staged part has. It says nothing of the journal: the folder is in
/// the root of one, and nobody else's.
pub fn stager_of(path: &FilePath) -> Option<Attempt> {
    let part = number(path.name().strip_suffix(".staged")?)?.try_into().ok()?;
    let (_, own) = path.folder().rsplit_once('/')?;
    parse_folder(own).filter(|attempt| attempt.staged(part) == *path)
}

/// `<job>-<range>-<token>`.
fn parse_folder(name: &str) -> Option<Attempt> {
    let mut parts = name.split('-');
    let attempt = parse_attempt(&mut parts)?;
    parts.next().is_none().then_some(attempt)
}

fn parse_attempt<'a>(parts: &mut impl Iterator<Item = &'a str>) -> Option<Attempt> {
    let job = JobId(number(parts.next()?)?);
    let range = RangeId::Keys(number(parts.next()?)?.try_into().ok()?);
    let (sequence, index) = parts.next()?.split_once('.')?;
    let token = Token {
        sequence: Sequence(number(sequence)?),
        index: number(index)?.try_into().ok()?,
    };
    Some(Attempt { job, range, token })
}

/// In a directory, a name followed by `#` and a number is a write that was cut off.
fn without_cut(name: &str) -> &str {
    match name.rsplit_once('#') {
        Some((whole, cut)) if number(cut).is_some() => whole,
        _ => name,
    }
}

/// Where a replaced file of a plain table waits for its deletion. Fixed by the commit, so the name is in the
/// journal before the file is moved.
pub fn aside(job: JobId, input: usize) -> FilePath {
    FilePath::in_root(format!("{BALER_FOLDER}/aside/{job}/{input}.aside"))
}

/// The same for an output of a plain table whose job was undone.
pub fn undone_aside(job: JobId, output: usize) -> FilePath {
    FilePath::in_root(format!("{BALER_FOLDER}/aside/undone-{job}/{output}.aside"))
}

/// Where a file of a native table that Baler did not name is moved in a directory, to be compared before it is unlinked.
/// Fixed by the entry that replaced or dropped it, so the name is in the journal before the file is moved.
pub fn aside_when_due(replaced: Sequence, path: &FilePath) -> FilePath {
    FilePath::in_root(format!("{BALER_FOLDER}/aside/due-{replaced}/{path}.aside"))
}

/// Where a replaced file is copied before it is deleted, if the table keeps such files: no two versions share a name.
pub fn kept(prefix: &str, replaced: Sequence, path: &FilePath) -> String {
    format!("{}/{replaced}/{path}", prefix.trim_end_matches('/'))
}

/// Where the receipts of a journal's jobs lie, below the root.
pub fn receipts_folder(journal: JournalId) -> String {
    format!("{BALER_FOLDER}/receipts/{journal}")
}

/// The name of a job's receipt in that folder: the order of names is that of jobs.
pub fn receipt(job: JobId, table: &TableName) -> String {
    format!("{:020}-{table}.json", job.0)
}

/// How the names of a job's receipt begin.
pub fn receipt_of(job: JobId) -> String {
    format!("{:020}-", job.0)
}

/// The name of the mark beside a job's receipt that says that the job was undone.
pub fn undone_mark(job: JobId, table: &TableName) -> String {
    format!("{:020}-{table}.undone", job.0)
}

/// Takes the last part of a path for a receipt's name, if it is one.
pub fn parse_receipt(name: &str) -> Option<(JobId, TableName)> {
    parse_of_job(name.strip_suffix(".json")?)
}

/// The same for a mark beside a receipt.
pub fn parse_undone_mark(name: &str) -> Option<(JobId, TableName)> {
    parse_of_job(name.strip_suffix(".undone")?)
}

fn parse_of_job(name: &str) -> Option<(JobId, TableName)> {
    let (job, table) = name.split_once('-')?;
    let digits = job.len() == 20 && job.bytes().all(|byte| byte.is_ascii_digit());
    (digits && is_table_name(table)).then_some((JobId(job.parse().ok()?), TableName::from(table)))
}

/// Whether a table's name can be part of a path on every store, and of no path that readers pass over.
pub fn is_table_name(name: &str) -> bool {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.' | b'=');
    let hidden = name.starts_with(['_', '.']);
    !name.is_empty() && name.len() <= TABLE_NAME_BYTES_MAX && !hidden && name.bytes().all(plain)
}

/// Whether a format's name can be the end of a file's.
pub fn is_format_name(name: &str) -> bool {
    let plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    (1..=FORMAT_NAME_BYTES_MAX).contains(&name.len()) && name.bytes().all(plain)
}

/// An output's final name, taken apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OutputName {
    /// The journal that granted the attempt.
    pub journal: JournalId,
    /// The attempt that wrote it.
    pub attempt: Attempt,
    /// Which of its outputs.
    pub part: u32,
}

impl OutputName {
    /// Takes the last part of a path for an output's name, if it is exactly one.
    pub fn parse(name: &str) -> Option<Self> {
        let (name, format) = name.rsplit_once('.')?;
        let mut parts = name.strip_prefix("baler-")?.split('-');
        let journal = parts.next()?.parse().ok()?;
        let attempt = parse_attempt(&mut parts)?;
        let part = number(parts.next()?)?.try_into().ok()?;
        let parsed = Self {
            journal,
            attempt,
            part,
        };
        (parts.next().is_none() && is_format_name(format)).then_some(parsed)
    }
}

/// A decimal number in its one spelling.
fn number(text: &str) -> Option<u64> {
    let spelled_once = text == "0" || !text.starts_with(['0', '+']);
    spelled_once.then(|| text.parse().ok())?
}

/// Whether a listing may take this path for data: no part of it begins with `_` or `.`.
pub fn is_data_path(path: &str) -> bool {
    path.split('/')
        .all(|part| !part.is_empty() && !part.starts_with(['_', '.']))
}

/// The partition of a file in a plain table: its folder.
pub fn folder_partition(path: &FilePath) -> Partition {
    Partition(Arc::from(path.folder()))
}

/// Whether this is one of the objects that only Baler writes.
pub fn is_own_object(path: &FilePath) -> bool {
    path.place == Place::Root && path.path.split('/').next() == Some(BALER_FOLDER)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn attempt() -> Attempt {
        let token = Token {
            sequence: Sequence(45),
            index: 3,
        };
        Attempt {
            job: JobId(12),
            range: RangeId::Keys(0),
            token,
        }
    }

    #[test]
    fn an_output_name_says_who_wrote_it() {
        let journal = JournalId(0xabc);
        let path = attempt().output(journal, &Partition::from("day=1"), 7);
        assert_eq!(
            &*path.path,
            "day=1/baler-00000000000000000000000000000abc-12-0-45.3-7.parquet"
        );
        let parsed = OutputName::parse(path.name()).unwrap();
        assert_eq!(
            parsed,
            OutputName {
                journal,
                attempt: attempt(),
                part: 7
            }
        );
    }

    #[test]
    fn a_folder_of_an_attempts_own_says_whose_it_is() {
        let (journal, table) = (JournalId(0xabc), TableName::from("events"));
        let written = attempt().native_output(journal, &table, MergeSpec::PARQUET, 7);
        assert_eq!(writer_of(journal, &written), Some(attempt()));
        assert_eq!(writer_of(journal, &attempt().staged(1)), Some(attempt()));
        assert_eq!(writer_of(JournalId(1), &written), None, "another journal's");
        for path in [
            "mine/staging/12-0-45.3/1.staged".to_owned(),
            "_baler/staging/12-0-45.3.1/1.staged".to_owned(),
            "tables/events/12-0-45.3/mine.parquet".to_owned(),
            format!("tables/events/12-0-45.4/{}", written.name()),
            written.name().to_owned(),
        ] {
            assert_eq!(
                writer_of(journal, &FilePath::in_root(path.clone())),
                None,
                "{path}"
            );
        }
    }

    #[test]
    fn a_staged_part_says_who_wrote_it() {
        assert_eq!(stager_of(&attempt().staged(7)), Some(attempt()));
        for path in [
            "_baler/staging/12-0-45.3/07.staged",
            "_baler/staging/12-0-45.3/7.parquet",
            "_baler/staging/12-0-45.3/spill/7.staged",
            "_baler/staging/12-0-45.3-1/7.staged",
            "_baler/staging/mine/7.staged",
            "_baler/aside/12-0-45.3/7.staged",
            "day=1/_baler/staging/12-0-45.3/7.staged",
        ] {
            assert_eq!(stager_of(&FilePath::in_root(path)), None, "{path}");
        }
        let elsewhere = FilePath {
            place: Place::Source,
            ..attempt().staged(7)
        };
        assert_eq!(stager_of(&elsewhere), None, "nothing is staged in a source");
    }

    #[test]
    fn an_attempt_knows_its_outputs_in_a_native_table_and_nothing_else_there() {
        let (journal, table) = (JournalId(0xabc), TableName::from("events"));
        let output = attempt().native_output(journal, &table, MergeSpec::PARQUET, 7);
        let name = "baler-00000000000000000000000000000abc-12-0-45.3-7.parquet";
        assert_eq!(*output.path, format!("tables/events/12-0-45.3/{name}"));
        let wrote = |path: &str| attempt().may_have_written(journal, &table, &FilePath::in_root(path));
        assert!(wrote(&output.path) && wrote(&format!("{}#4", output.path)));
        let other = "baler-00000000000000000000000000000abc-12-0-45.4-7.parquet";
        for path in [
            "tables/events/12-0-45.3/mine.parquet".to_owned(),
            format!("tables/events/12-0-45.3/{other}"),
            format!("tables/events/12-0-45.3/below/{name}"),
            format!("tables/events2/12-0-45.3/{name}"),
            format!("tables/events/12-0-45.3/{name}#"),
            name.to_owned(),
        ] {
            assert!(!wrote(&path), "{path}");
        }
    }

    #[test]
    fn a_table_name_is_a_plain_part_of_a_path() {
        for name in ["events", "Events-2.raw", "a=b"] {
            assert!(is_table_name(name), "{name}");
        }
        let long = "x".repeat(TABLE_NAME_BYTES_MAX + 1);
        for name in ["", "_hidden", "..", "a/b", "é", "a b", long.as_str()] {
            assert!(!is_table_name(name), "{name}");
        }
    }

    #[test]
    fn names_that_only_look_like_outputs_are_not_taken_for_them() {
        for name in [
            "baler-.parquet",
            "baler-00000000000000000000000000000abc-12-0-45.3-07.parquet",
            "baler-00000000000000000000000000000ABC-12-0-45.3-7.parquet",
            "baler-00000000000000000000000000000abc-12-0-45.3-7-8.parquet",
            "baler-00000000000000000000000000000abc-12-publish-45.3-7.parquet",
            "baler-00000000000000000000000000000abc-+12-0-45.3-7.parquet",
            "my-baler-00000000000000000000000000000abc-12-0-45.3-7.parquet",
        ] {
            assert_eq!(OutputName::parse(name), None, "{name}");
        }
    }

    #[test]
    fn names_with_a_leading_underscore_or_dot_are_never_inputs() {
        assert!(is_data_path("day=1/a.parquet"));
        for path in [
            "_a.parquet",
            "day=1/.a.parquet",
            "_baler/x",
            "a/_tmp/b.parquet",
            "a//b",
        ] {
            assert!(!is_data_path(path), "{path}");
        }
    }
}
