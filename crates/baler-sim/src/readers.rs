//! Readers: they pin versions, of now and of before, and read them again and again.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use anyhow::Result;
use baler::root::Root;
use baler_core::file::File;
use baler_core::ids::{PinId, Sequence, TableName};
use baler_core::request::{Refusal, Reply, Request};
use baler_core::time::Millis;
use tokio::time::sleep;

use crate::checkers;
use crate::dice::Dice;
use crate::nodes::{Birth, opening};
use crate::plan::TABLE;
use crate::scenarios::Scenario;

/// Pins a version, reads it, and begins anew.
pub(crate) async fn reader(birth: Birth) -> Result<()> {
    let root = opening::root(&birth).await?;
    let mut dice = Dice::new(birth.world.seed, &format!("reads of {}", birth.life.name));
    let mut wishes = Dice::new(birth.world.seed, &format!("versions of {}", birth.life.name));
    while !birth.drain.load(Ordering::Relaxed) {
        sleep(dice.about(Duration::from_secs(20))).await;
        if !birth.closing.load(Ordering::Relaxed) {
            let version = wish(&birth, &root, &mut wishes).await?;
            read_a_version(&birth, &root, version, &mut dice).await?;
        }
    }
    root.replica.clone().close().await;
    Ok(())
}

/// The table as it stands, the newest version that others have written, any before it, or one of the first.
async fn wish(birth: &Birth, root: &Root, dice: &mut Dice) -> Result<Option<Sequence>> {
    let newest = || birth.world.look(|oracle, _| oracle.model.next - 1);
    Ok(match dice.below(5) {
        0 => {
            // What was written in this moment is not in the state yet.
            root.replica.catch_up().await?;
            sleep(Duration::from_millis(dice.below(20))).await;
            Some(Sequence(newest()))
        }
        1 => Some(Sequence(dice.between(1, newest() + 1))),
        2 => Some(Sequence(dice.between(1, newest() / 3 + 2).min(newest()))),
        _ => None,
    })
}

async fn read_a_version(
    birth: &Birth,
    root: &Root,
    version: Option<Sequence>,
    dice: &mut Dice,
) -> Result<()> {
    let table = TableName::from(TABLE);
    let lifetime = match birth.plan.regrets {
        true => dice.between(600, 2_000),
        false => dice.between(30, 400),
    };
    let lifetime = Millis::from_secs(lifetime);
    let pin = Request::Pin {
        table: table.clone(),
        owner: birth.life.name.as_str().into(),
        lifetime,
        version,
    };
    let pin = match root.replica.submit(pin).await? {
        Reply::Pinned(pin) => pin,
        Reply::Refused(Refusal::VersionNotReadable { version, .. }) => {
            is_refused(birth, version);
            return Ok(());
        }
        _ => return Ok(()),
    };
    birth.world.count(|coverage| coverage.reached(Scenario(29)));
    let Ok(files) = root
        .replica
        .state()
        .files_at(&table, version.unwrap_or(pin.entry))
    else {
        return Ok(());
    };
    is_shown(birth, pin, &files);
    for _ in 0..dice.between(1, 6) {
        sleep(dice.about(Duration::from_secs(25))).await;
        look_at_all(birth, root, pin, &files).await?;
    }
    // Who is never heard of again takes nothing back.
    if !birth.plan.regrets {
        root.replica.submit(Request::Unpin(pin)).await?;
    }
    Ok(())
}

/// What is not there though it is pinned is missing.
async fn look_at_all(birth: &Birth, root: &Root, pin: PinId, files: &[Arc<File>]) -> Result<()> {
    for file in files {
        let asked_ms = birth.world.now_ms();
        if root.site.root.identity_now(&file.path).await?.is_some() {
            continue;
        }
        birth.world.look(|oracle, _| {
            let id = (pin.entry.0, pin.index);
            let wrong = checkers::readers::missing(&oracle.model, id, &file.path.path, asked_ms);
            wrong.into_iter().for_each(|what| oracle.found(5, what));
        });
    }
    Ok(())
}

fn is_shown(birth: &Birth, pin: PinId, files: &[Arc<File>]) {
    birth.world.look(|oracle, _| {
        let paths = files.iter().map(|file| file.path.path.as_ref());
        let wrong = checkers::readers::shown(&oracle.model, (pin.entry.0, pin.index), paths);
        wrong.into_iter().for_each(|what| oracle.found(5, what));
    });
}

fn is_refused(birth: &Birth, version: Sequence) {
    let now = birth.world.now_ms();
    birth
        .world
        .note(format_args!("{} is refused version {version}", birth.life.name));
    birth.world.look(|oracle, _| {
        let wrong = checkers::readers::refused(&oracle.model, version.0, now);
        wrong.into_iter().for_each(|what| oracle.found(4, what));
    });
}
