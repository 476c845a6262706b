//! A damaged journal goes on as a new one. The old one is closed first, so that what is read then is all of it; nothing is
//! deleted, and the old objects are copied before the new journal begins. A crash at any point leaves a root that nobody can
//! write to and that can be repaired again.

use std::time::Duration;

use anyhow::{Result, bail, ensure};
use baler_core::ids::JournalId;
use baler_core::invariants;
use baler_core::lease::Watcher;
use baler_journal::limits::FORMAT;
use baler_journal::mending::{Diagnosis, begin_anew, close_old};
use baler_journal::steps::Step;
use baler_journal::{Access, ObjectLog, host};
use futures::TryStreamExt;

use super::outcome::Mended;
use super::rebuild::{self, Rebuilt};
use super::{Wreck, backup};
use crate::folder::{home, lock};
use crate::settings::TableSettings;
use crate::store::Location;

/// How to repair.
#[derive(Clone, Debug)]
pub struct Repair {
    /// Only say what would be done.
    pub dry_run: bool,
    /// Also while others are at work.
    pub force: bool,
    /// How long to look whether others still write.
    pub wait: Duration,
    /// What the table of a plain root was, should the journal have lost that too.
    pub table: TableSettings,
}

/// Repairs the journal of a root; `None` if Baler can go on as it is.
pub async fn repair(location: &Location, how: &Repair) -> Result<Option<Mended>> {
    let wreck = Wreck::look(location).await?;
    let diagnosis = wreck.diagnose();
    if let Some(level) = wreck.survey.levels.last().filter(|level| **level > FORMAT) {
        bail!(
            "the root's format level is {level}, and this Baler knows up to {FORMAT}: install the newer version"
        );
    }
    if !diagnosis.stops() {
        return Ok(None);
    }
    if how.dry_run {
        let Rebuilt { mended, .. } = rebuild::rebuild(&wreck, &diagnosis, &how.table, None).await?;
        return Ok(Some(mended));
    }
    if !how.force {
        refuse_while_at_work(&wreck, &diagnosis, how.wait).await?;
    }
    begin(location, &wreck, &how.table).await.map(Some)
}

async fn begin(location: &Location, wreck: &Wreck, table: &TableSettings) -> Result<Mended> {
    let log = ObjectLog::open(wreck.store.clone(), Access::ReadWrite).await?;
    let closed = close_old(&log).await?;
    Step::RepairClosed.reached();
    // From here on nothing is committed to the old journal: what is read now is all of it.
    let wreck = Wreck::look(location).await?;
    let diagnosis = wreck.diagnose();
    let journal = JournalId(host::wide_chance());
    let copied = backup::copy(&wreck.store, journal).await?;
    Step::RepairCopied.reached();
    let Rebuilt { state, mut mended } =
        rebuild::rebuild(&wreck, &diagnosis, table, Some((journal, closed.next))).await?;
    if let Some(broken) = invariants::broken(&state).first() {
        bail!(
            "the rebuilt state breaks invariant {}: {}; nothing was replaced",
            broken.number,
            broken.says
        );
    }
    begin_anew(&log, state).await?;
    // Only now: were it said before, a repair that was cut short would leave a copy that looks like none.
    if let Some(folder) = wreck.depot.as_folder() {
        home::settle_in(folder, journal)?;
    }
    mended.backup = Some(backup::folder(journal));
    mended.copied = copied;
    Ok(mended)
}

/// A courtesy: whoever is at work loses what he is doing, and nothing else.
async fn refuse_while_at_work(wreck: &Wreck, diagnosis: &Diagnosis<'_>, wait: Duration) -> Result<()> {
    let recovery = &diagnosis.recovery;
    let may_live = |watcher: &&Watcher| !is_proved_dead(wreck, watcher);
    let watchers = recovery.state.watchers.values().filter(may_live).count();
    if watchers == 0 && !recovery.is_cut {
        return Ok(());
    }
    let before = last_listed(wreck).await?;
    tokio::time::sleep(wait).await;
    let after = last_listed(wreck).await?;
    ensure!(
        before == after,
        "others are at work here: an entry was written while this looked. Stop them and try again; or give --force, and what they \
         are merging is thrown away, and they are told to start again"
    );
    Ok(())
}

fn is_proved_dead(wreck: &Wreck, watcher: &Watcher) -> bool {
    let folder = wreck.depot.as_folder();
    let lock = folder.zip(watcher.host.as_ref());
    lock.is_some_and(|(folder, host)| lock::is_dead(folder, host))
}

async fn last_listed(wreck: &Wreck) -> Result<Option<String>> {
    let listed: Vec<_> = wreck.store.list("_baler/journal", "").try_collect().await?;
    Ok(listed.into_iter().map(|meta| meta.path).max())
}
