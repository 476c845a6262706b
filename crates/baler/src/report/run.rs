//! The result of a run.

use std::fmt;
use std::iter::Sum;
use std::time::Duration;

use baler_core::job::JobSummary;
use baler_core::state::Table;
use serde::{Deserialize, Serialize};

use super::cost::Cost;
use super::numbers::{bytes, count, seconds};
use crate::cache::CacheReport;

/// The live files of a table, added up.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Totals {
    /// How many.
    pub files: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Their rows.
    pub rows: u64,
}

impl Totals {
    /// Of this table.
    pub fn of(table: &Table) -> Self {
        table.files.values().fold(Self::default(), |sum, file| Self {
            files: sum.files + 1,
            bytes: sum.bytes + file.bytes(),
            rows: sum.rows + file.rows,
        })
    }
}

impl Sum for Totals {
    fn sum<I: Iterator<Item = Self>>(totals: I) -> Self {
        totals.fold(Self::default(), |sum, more| Self {
            files: sum.files + more.files,
            bytes: sum.bytes + more.bytes,
            rows: sum.rows + more.rows,
        })
    }
}

/// A file, and what is the matter with it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NamedReason {
    /// Its path below the root.
    pub path: String,
    /// What is the matter.
    pub reason: String,
}

/// What a run of `compact` did. Rows and bytes "in" and "out" are those of the jobs it committed.
#[derive(Clone, Debug, Default, Serialize)]
pub struct RunReport {
    /// Live files as they would be without this run's jobs.
    pub files_before: u64,
    /// Live files at its end.
    pub files_after: u64,
    /// Bytes of the same.
    pub bytes_before: u64,
    /// Bytes of the live files at its end.
    pub bytes_after: u64,
    /// Rows that its jobs read.
    pub rows_in: u64,
    /// Rows that they wrote.
    pub rows_out: u64,
    /// Rows that the table's rule let go.
    pub rows_dropped: u64,
    /// Bytes of the files that its jobs replaced.
    pub bytes_in: u64,
    /// Bytes of the files that replaced them.
    pub bytes_out: u64,
    /// Bytes that it wrote and that no job counts on: another process was quicker, or something had changed.
    pub bytes_wasted: u64,
    /// Files that its jobs replaced.
    pub files_in: u64,
    /// Files that replaced them.
    pub files_out: u64,
    /// Files that went because all their rows are past the table's retention.
    pub expired_files: u64,
    /// Their rows.
    pub expired_rows: u64,
    /// Their bytes.
    pub expired_bytes: u64,
    /// What was asked of stores.
    pub cost: Cost,
    /// What the cache was good for, if there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cache: Option<CacheReport>,
    /// What the owner of the bucket should know.
    pub warnings: Vec<String>,
    /// Jobs that it committed.
    pub jobs: u64,
    /// Jobs that ended without effect, because something they stood on had changed or was bad.
    pub jobs_cancelled: u64,
    /// Files that are marked as bad.
    pub quarantined: u64,
    /// Which, and why.
    pub quarantined_files: Vec<NamedReason>,
    /// Files that were too young.
    pub waiting: u64,
    /// Source files that were rewritten after they had been compacted, and were not taken.
    pub changed: Vec<String>,
    /// What looked like data but was passed over.
    pub skipped: Vec<NamedReason>,
    /// Folders that could not be listed.
    pub unreadable: Vec<String>,
    /// Jobs that another process is working on.
    pub held_by_others: u64,
    /// Whether somebody has paused the root, or a table that the run was about.
    pub paused: bool,
    /// Whether a bound of the run (`--max-bytes`) left work undone.
    pub bounded: bool,
    /// Whether it was asked to stop early.
    pub interrupted: bool,
    /// Why it could not go on.
    pub error: Option<String>,
    /// How long it took.
    pub seconds: f64,
    /// Entries that it added to the journal.
    pub appends: u64,
    /// Times that another process added one first.
    pub append_conflicts: u64,
    /// Objects that are set aside or otherwise wait for `gc`.
    pub set_aside: u64,
    /// Whether they wait where they were, seen only by readers of older versions.
    pub native: bool,
}

impl RunReport {
    /// Adds what a committed job did.
    pub fn count_job(&mut self, job: &JobSummary) {
        self.jobs += 1;
        self.rows_in += job.rows_in;
        self.rows_out += job.rows_out;
        self.rows_dropped += job.rows_dropped;
        self.bytes_in += job.bytes_in;
        self.bytes_out += job.bytes_out;
        self.files_in += job.files_in;
        self.files_out += job.files_out;
    }

    /// Before and after: the live files now, with what this run's jobs replaced in the place of what they made.
    pub fn compare_with(&mut self, now: Totals) {
        self.files_after = now.files;
        self.bytes_after = now.bytes;
        let (gone_files, gone_bytes) = (
            self.files_in + self.expired_files,
            self.bytes_in + self.expired_bytes,
        );
        self.files_before = (now.files + gone_files).saturating_sub(self.files_out);
        self.bytes_before = (now.bytes + gone_bytes).saturating_sub(self.bytes_out);
    }

    /// Whether everything is as it should be: exit code 0.
    pub fn is_clean(&self) -> bool {
        self.quarantined == 0
            && self.unreadable.is_empty()
            && self.changed.is_empty()
            && self.error.is_none()
            && !self.interrupted
    }
}

impl fmt::Display for RunReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let took = seconds(Duration::from_secs_f64(self.seconds));
        if self.jobs + self.expired_files == 0 && self.error.is_none() && !self.interrupted {
            let (files, size) = (count(self.files_after), bytes(self.bytes_after));
            writeln!(f, "Nothing to do: {files} live files, {size}. ({took})")?;
        } else {
            writeln!(f, "          {:>12} {:>12}", "files", "size")?;
            writeln!(
                f,
                "before    {:>12} {:>12}",
                count(self.files_before),
                bytes(self.bytes_before)
            )?;
            writeln!(
                f,
                "after     {:>12} {:>12}",
                count(self.files_after),
                bytes(self.bytes_after)
            )?;
            writeln!(f)?;
            writeln!(
                f,
                "{} rows in = {} rows out + {} dropped by rule, proved by digests of rows and pages; {} in {took}",
                count(self.rows_in),
                count(self.rows_out),
                count(self.rows_dropped),
                plural(self.jobs, "job"),
            )?;
        }
        self.write_remarks(f)
    }
}

impl RunReport {
    fn write_remarks(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.expired_files > 0 {
            let (files, rows) = (plural(self.expired_files, "file"), count(self.expired_rows));
            writeln!(
                f,
                "{files} with {rows} rows dropped: all their rows are past the retention"
            )?;
        }
        if self.set_aside > 0 {
            let files = plural(self.set_aside, "replaced file");
            let where_to = if self.native {
                "kept for readers of older versions"
            } else {
                "set aside under _baler/aside"
            };
            writeln!(
                f,
                "{files} {where_to}; `baler gc` deletes them after their grace period"
            )?;
        }
        if self.cost.requests > 0 {
            writeln!(f, "{}", self.cost)?;
        }
        if let Some(cache) = &self.cache {
            writeln!(f, "{cache}")?;
        }
        for warning in &self.warnings {
            writeln!(f, "note         {warning}")?;
        }
        if self.waiting > 0 {
            writeln!(
                f,
                "{} written too recently: taken by a later run (--settle)",
                plural(self.waiting, "file")
            )?;
        }
        if self.held_by_others > 0 {
            writeln!(
                f,
                "{} under way in another process",
                plural(self.held_by_others, "job")
            )?;
        }
        if self.paused {
            writeln!(f, "Paused: nothing new is begun until `baler resume`")?;
        }
        if self.bounded {
            writeln!(f, "Stopped at the bound that was given: run again to go on")?;
        }
        for error in &self.unreadable {
            writeln!(f, "unreadable   {error}")?;
        }
        for skipped in &self.skipped {
            writeln!(f, "skipped      {}: {}", skipped.path, skipped.reason)?;
        }
        for path in &self.changed {
            writeln!(
                f,
                "changed      {path}: rewritten after it was compacted; its old rows are in the output"
            )?;
        }
        for bad in &self.quarantined_files {
            writeln!(f, "quarantined  {}: {}", bad.path, bad.reason)?;
        }
        if !self.quarantined_files.is_empty() {
            writeln!(
                f,
                "Quarantined files stay where they are. Replace them, or `baler retry` once the cause is gone"
            )?;
        }
        if self.interrupted {
            writeln!(f, "Interrupted. Nothing is lost: run again to go on")?;
        }
        Ok(())
    }
}

fn plural(number: u64, noun: &str) -> String {
    match number {
        1 => format!("1 {noun}"),
        _ => format!("{} {noun}s", count(number)),
    }
}
