//! The bucket against the journal: what the journal counts on and the bucket lacks, and what lies there that nobody counts on.
//! Nothing is changed; rights to list and to read are enough.
//!
//! ```text
//!  list the root ─▶ judge each object on the state before ─┐
//!                                                          ├─▶ what is odd on both is told
//!  catch up, look again for what was missing ──────────────┘
//! ```

mod judging;

pub(crate) use judging::is_under_way;

use std::collections::BTreeMap;

use anyhow::Result;
use baler_core::file::{File, FilePath, Identity, Origin};
use baler_core::job::JobStatus;
use baler_core::state::{State, Table};
use futures::{StreamExt, TryStreamExt, stream};
use serde::Serialize;

use crate::depot::{Depot, Object};
use crate::root::Root;

/// What something is, in the journal's eyes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// A live file is not there.
    Missing,
    /// A live file is not the version on record.
    Differs,
    /// Under a name that another journal gave, or in Baler's own folder without Baler's leave.
    Foreign,
    /// An ended attempt wrote it, and nobody waits for it any more.
    LateWrite,
    /// An upload in parts that was never completed.
    Upload,
    /// A live file, as it should be.
    Live,
    /// The journal, its snapshots, its marks.
    Journal,
    /// What a committed job did.
    Receipt,
    /// A replaced file, set aside or waiting to be deleted.
    SetAside,
    /// A consumed file that stays where it is.
    Consumed,
    /// What a repair kept of the journal that it replaced, and files that were set aside under that one.
    Kept,
    /// What an ended attempt left, until it is swept.
    Leftover,
    /// An attempt is at work on it.
    UnderWay,
    /// Locks, probes and writes that were cut off.
    Scratch,
    /// Marked as bad, and left alone.
    Quarantined,
    /// Data that no table has taken yet.
    New,
    /// No data by its name: not Baler's business.
    Other,
}

impl Kind {
    /// Whether somebody should look at it.
    pub fn is_odd(self) -> bool {
        matches!(
            self,
            Self::Missing | Self::Differs | Self::Foreign | Self::LateWrite
        )
    }

    /// What to do about it.
    pub fn advice(self) -> &'static str {
        match self {
            Self::Missing => "restore it from a copy; `baler verify` says what else is wrong",
            Self::Differs => "restore the version on record, or let `baler compact` take it for a new file",
            Self::Foreign => {
                "a copy from another root, or somebody else's: move it away, or `baler compact --adopt-foreign`"
            }
            Self::LateWrite => "`baler gc --full` deletes it",
            Self::Kept => {
                "of a journal that `baler journal repair` replaced: nothing deletes it; remove it once you are sure"
            }
            Self::Upload => {
                "`baler gc` ends those of attempts that ended; a lifecycle rule of the bucket ends the rest"
            }
            _ => "",
        }
    }
}

/// Something that the audit met, or missed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// What it is.
    pub kind: Kind,
    /// Its name below the root; of an input of `--output`, below its source.
    pub path: String,
    /// Its length.
    pub bytes: u64,
    /// More about it, in words.
    pub why: String,
}

/// What an audit found.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Audit {
    /// Everything but what is as it should be, the odd first.
    pub findings: Vec<Finding>,
    /// How many of each kind there are.
    pub counts: BTreeMap<Kind, u64>,
    /// Why nobody can say whether uploads were left open, if so.
    pub uploads_unknown: Option<String>,
}

impl Audit {
    /// Whether bucket and journal agree.
    pub fn is_clean(&self) -> bool {
        !self.findings.iter().any(|finding| finding.kind.is_odd())
    }

    fn count(&mut self, finding: Finding) {
        *self.counts.entry(finding.kind).or_default() += 1;
        if !matches!(finding.kind, Kind::Live | Kind::Journal | Kind::Receipt) {
            self.findings.push(finding);
        }
    }
}

/// Compares a root with its journal.
pub async fn audit(root: &Root) -> Result<Audit> {
    root.replica.catch_up().await?;
    let before = root.replica.state();
    let objects: Vec<Object> = root.site.root.everything().await?;
    root.replica.catch_up().await?;
    let after = root.replica.state();
    let mut audit = Audit::default();
    let mut seen: BTreeMap<FilePath, Identity> = BTreeMap::new();
    for object in objects {
        // What came or went while the listing went on is judged by the state that knows of it.
        let (then, now) = (judging::judge(&before, &object), judging::judge(&after, &object));
        audit.count(if then.kind.is_odd() { now } else { then });
        seen.insert(object.path, object.identity);
    }
    for finding in missing(root, &after, &seen).await? {
        audit.count(finding);
    }
    look_for_uploads(root, &after, &mut audit).await;
    audit
        .findings
        .sort_by(|a, b| (a.kind, &a.path).cmp(&(b.kind, &b.path)));
    Ok(audit)
}

/// Live files that the listing did not meet, and that a look at each does not find either.
async fn missing(root: &Root, state: &State, seen: &BTreeMap<FilePath, Identity>) -> Result<Vec<Finding>> {
    let unseen = state.tables.values().flat_map(|table| {
        let there = |file: &&std::sync::Arc<File>| !seen.contains_key(&file.path);
        let expected = |file: &&std::sync::Arc<File>| !is_on_its_way(state, table, file);
        table.files.values().filter(there).filter(expected)
    });
    let looks = stream::iter(unseen.cloned().collect::<Vec<_>>()).map(|file| async move {
        let now = root.site.depot_of(&file.path).version_now(&file).await?;
        Ok::<_, anyhow::Error>(judging::judge_live(&file, now.as_ref()))
    });
    let looked: Vec<Finding> = looks
        .buffered(root.site.root.looks_at_once())
        .try_collect()
        .await?;
    Ok(looked)
}

/// Outputs that are being published, and files that an undo brings back, are live before they are there.
fn is_on_its_way(state: &State, table: &Table, file: &File) -> bool {
    let holder = table.held.get(&file.path);
    holder.is_some_and(|job| {
        let publishing = |job: &std::sync::Arc<baler_core::job::Job>| job.status == JobStatus::Compacted;
        state.undoing.contains_key(job) || state.jobs.get(job).is_some_and(publishing)
    })
}

/// Where a store cannot say, or may not, that is told too.
async fn look_for_uploads(root: &Root, state: &State, audit: &mut Audit) {
    let Depot::Bucket(bucket) = &root.site.root else {
        return;
    };
    match bucket.bucket().open_uploads().await {
        Ok(Some(paths)) => {
            for path in paths {
                let path = FilePath::in_root(path);
                let why = judging::uploader(state, &path);
                audit.count(Finding {
                    kind: Kind::Upload,
                    path: path.to_string(),
                    bytes: 0,
                    why,
                });
            }
        }
        Ok(None) => audit.uploads_unknown = Some("this kind of store does not tell".to_owned()),
        Err(error) => audit.uploads_unknown = Some(error.to_string()),
    }
}

/// Whether the object is the version on record. Names that Baler gave are used once: their length is enough.
pub(crate) fn is_version(file: &File, now: &Identity) -> bool {
    match file.origin {
        Origin::Job(_) => now.bytes == file.identity.bytes,
        Origin::Foreign => now.tag == file.identity.tag && now.bytes == file.identity.bytes,
    }
}
