//! What is done with the table by those who write: files are put down and handed over.

use std::collections::BTreeMap;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use anyhow::Result;
use baler::root::Root;
use baler_core::file::{File, FilePath, Identity, KeyRange};
use baler_core::ids::{Partition, Sequence, TableName};
use baler_core::request::{Reply, Request};
use baler_core::time::{RowTime, TimeRange};
use bytes::Bytes;
use tokio::time::sleep;

use crate::checkers;
use crate::dice::Dice;
use crate::nodes::{Birth, opening};
use crate::plan::TABLE;
use crate::rows::{self, Known};
use crate::store::PREFIX;
use crate::store::objects::{Op, tag_of};

/// Where writers put their files.
pub(crate) const INBOX: &str = "in/";

/// How many rows in a thousand take their key away, where rows do.
const DELETES_PERMILLE: u64 = 300;

/// What writers have begun and not been told the end of: it outlives them.
#[derive(Debug, Default)]
pub(crate) struct Progress(Mutex<BTreeMap<String, Written>>);

/// A file that is being handed over.
#[derive(Clone, Debug)]
pub(crate) struct Written {
    pub(crate) path: String,
    /// Its version.
    pub(crate) tag: String,
    partition: String,
    rows: Vec<Known>,
    /// The time of its rows, where the table has a retention.
    newest: Option<i64>,
}

impl Written {
    /// What was written under this name by others, as the world knows it.
    pub(crate) fn known(birth: &Birth, path: &str, tag: &str) -> Option<Self> {
        birth.world.look(|oracle, _| {
            let rows = oracle.model.rows(path, Some(tag))?;
            Some(Self {
                path: path.to_owned(),
                tag: tag.to_owned(),
                partition: birth.plan.partition_of(path).to_owned(),
                rows,
                newest: oracle.model.live.get(path).and_then(|file| file.newest_ms),
            })
        })
    }
}

impl Progress {
    /// Whether all that was written is known to be in the table.
    pub(crate) fn is_done(&self) -> bool {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).is_empty()
    }

    /// Whether somebody is handing over a file of this name.
    pub(crate) fn holds(&self, path: &str) -> bool {
        let begun = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        begun.values().any(|written| written.path == path)
    }

    pub(crate) fn of(&self, who: &str) -> Option<Written> {
        self.0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .get(who)
            .cloned()
    }

    pub(crate) fn begin(&self, who: &str, written: Written) {
        self.0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .insert(who.to_owned(), written);
    }

    fn end(&self, who: &str) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).remove(who);
    }
}

/// Writes files and hands them over. One that died goes on with the file that it had begun.
pub(crate) async fn writer(birth: Birth) -> Result<()> {
    let root = opening::root(&birth).await?;
    let mut dice = Dice::new(birth.world.seed, &format!("rows of {}", birth.life.name));
    for number in 0u64.. {
        let written = match birth.progress.of(&birth.name) {
            Some(written) => written,
            None if birth.closing.load(Ordering::Relaxed) => {
                sleep(Duration::from_secs(60)).await;
                continue;
            }
            None => {
                sleep(dice.about(birth.plan.pace)).await;
                write(&birth, number, &mut dice)
            }
        };
        hand_over(&birth, &root, &written).await?;
        if birth.drain.load(Ordering::Relaxed) {
            root.replica.clone().close().await;
            return Ok(());
        }
    }
    Ok(())
}

fn write(birth: &Birth, number: u64, dice: &mut Dice) -> Written {
    let folder = dice.below(birth.plan.partitions);
    let (who, format) = (&birth.life.name, birth.plan.format());
    let path = format!("{INBOX}p={folder}/{who}-{number}.{format}");
    let written = put(birth, path, number, dice);
    birth.progress.begin(&birth.name, written.clone());
    written
}

/// Writes a file with rows that nobody has written before, whatever lies there.
pub(crate) fn put(birth: &Birth, path: String, number: u64, dice: &mut Dice) -> Written {
    let partition = birth.plan.partition_of(&path).to_owned();
    let mut deletes = Dice::new(
        birth.world.seed,
        &format!("deletes of {} {number}", birth.life.name),
    );
    let mut new = BTreeMap::new();
    for row in 0..dice.between(1, 12) {
        let unique = format!("{}-{number}-{row}", birth.life.name);
        let key = match birth.plan.keys {
            Some(keys) => format!("{partition}-k{:03}", dice.below(keys)),
            None => format!("k{:04}-{unique}", dice.below(10_000)),
        };
        let deletes = birth.plan.lateness.is_some() && deletes.permille(DELETES_PERMILLE);
        let value = match deletes {
            true => rows::tombstone(&unique),
            false => unique,
        };
        let value = match birth.plan.grows_at.is_some_and(|at| birth.world.elapsed() >= at) {
            true => rows::widened(&value, number),
            false => value,
        };
        new.insert(key, (version(birth, row), value));
    }
    let rows: Vec<Known> = new
        .into_iter()
        .map(|(key, (version, value))| (key, version, value))
        .collect();
    birth.world.count(|coverage| coverage.rows += rows.len() as u64);
    let body = rows::file(&rows);
    let tag = tag_of(&body);
    let put = Op::Put {
        key: format!("{PREFIX}/{path}"),
        body,
        if_absent: false,
    };
    birth.world.carry_out_for(None, &put, "a new file");
    let newest = birth.plan.retention.map(|_| birth.world.now_ms() as i64);
    Written {
        path,
        tag,
        partition,
        rows,
        newest,
    }
}

/// Newer than any before it, whoever wrote that: the store's clock, in the simulator's finest grain. By a clock that ticks
/// seldom, of two rows of one key neither may be newer.
fn version(birth: &Birth, row: u64) -> u64 {
    let elapsed = birth.world.elapsed();
    match birth.plan.tick {
        Some(tick) => rows::version(tick * (elapsed.as_nanos() / tick.as_nanos()) as u32, 0),
        None => rows::version(elapsed, row),
    }
}

/// Tries until the file is known to be in the table.
pub(crate) async fn hand_over(birth: &Birth, root: &Root, written: &Written) -> Result<()> {
    insist(birth, root, written).await?;
    let (path, tag) = (&written.path, &written.tag);
    birth.world.look(|oracle, _| {
        let wrong = checkers::journal::acknowledged(&oracle.model, path, tag);
        wrong.into_iter().for_each(|what| oracle.found(4, what));
    });
    birth.world.note(format_args!(
        "{} was told that {path} is in the table",
        birth.life.name
    ));
    birth.progress.end(&birth.name);
    Ok(())
}

async fn insist(birth: &Birth, root: &Root, written: &Written) -> Result<()> {
    loop {
        match offer(root, written).await {
            Ok(Some(Reply::Added(added))) if added.later.is_empty() => return Ok(()),
            // Where files are merged in place, whoever took it may be done with it already.
            Ok(None) => return Ok(()),
            Ok(Some(other)) => birth
                .world
                .note(format_args!("{} is told {other:?}", birth.life.name)),
            Err(error) => {
                birth
                    .world
                    .note(format_args!("{} tries again: {error:#}", birth.life.name));
                root.replica.catch_up().await?;
            }
        }
        sleep(Duration::from_secs(2)).await;
    }
}

/// Offers the file as it lies there, if it does.
async fn offer(root: &Root, written: &Written) -> Result<Option<Reply>> {
    root.replica.catch_up().await?;
    let evidence = root.replica.state().sequence;
    let path = FilePath::in_root(written.path.as_str());
    let identity = root.site.root.identity_now(&path).await?;
    match identity {
        Some(identity) => Ok(Some(tell(root, evidence, written, identity).await?)),
        None => Ok(None),
    }
}

/// Tells that a file was there in this version, when the journal had come so far.
pub(crate) async fn tell(
    root: &Root,
    evidence: Sequence,
    written: &Written,
    identity: Identity,
) -> Result<Reply> {
    let path = FilePath::in_root(written.path.as_str());
    let bound = |row: Option<&Known>| row.map(|(key, _, _)| Bytes::from(key.clone()).to_vec().into());
    let keys = bound(written.rows.first()).zip(bound(written.rows.last()));
    let found = File::found(path, identity, written.rows.len() as u64);
    let file = File {
        partition: Partition::from(written.partition.as_str()),
        keys: keys.map(|(min, max)| KeyRange { min, max }),
        times: written.newest.map(|unix_ms| TimeRange {
            min: RowTime { unix_ms },
            max: RowTime { unix_ms },
        }),
        ..found
    };
    let request = Request::AddFiles {
        table: TableName::from(TABLE),
        evidence,
        files: vec![Arc::new(file)],
    };
    Ok(root.replica.submit(request).await?)
}
