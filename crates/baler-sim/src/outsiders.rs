//! Somebody who knows nothing of Baler: rewrites files that were handed over, and removes them. Some of what is rewritten is
//! handed over anew, the rest stays where it is.

use std::sync::atomic::Ordering;
use std::time::Duration;

use anyhow::Result;
use tokio::time::sleep;

use crate::dice::Dice;
use crate::faults::Fault;
use crate::nodes::{Birth, opening};
use crate::scenarios::Scenario;
use crate::store::PREFIX;
use crate::store::objects::Op;
use crate::work::{self, INBOX};

/// Meddles for as long as things go wrong.
pub(crate) async fn outsider(birth: Birth) -> Result<()> {
    let root = opening::root(&birth).await?;
    let mut dice = Dice::new(birth.world.seed, &format!("whims of {}", birth.life.name));
    let mut number = 0;
    while !birth.drain.load(Ordering::Relaxed) {
        if let Some(written) = birth.progress.of(&birth.name) {
            work::hand_over(&birth, &root, &written).await?;
            continue;
        }
        sleep(dice.about(birth.plan.pace * 2)).await;
        if birth.world.is_faulty() {
            number += 1;
            meddle(&birth, number, &mut dice);
        } else {
            sleep(Duration::from_secs(60)).await;
        }
    }
    root.replica.clone().close().await;
    Ok(())
}

fn meddle(birth: &Birth, number: u64, dice: &mut Dice) {
    let mix = &birth.world.mix;
    let kinds = [Fault::Overwrite, Fault::Remove];
    let kinds: Vec<Fault> = kinds.into_iter().filter(|kind| mix.has(*kind)).collect();
    let Some((path, tag)) = victim(birth, dice).filter(|_| !kinds.is_empty()) else {
        return;
    };
    let kind = dice.one_of(&kinds);
    birth.world.struck(kind);
    let held = birth.world.look(|oracle, _| {
        let mut jobs = oracle.model.jobs.values();
        jobs.any(|job| job.inputs.contains(&path))
    });
    if held {
        birth.world.count(|coverage| coverage.reached(Scenario(7)));
    }
    let key = format!("{PREFIX}/{path}");
    if kind == Fault::Remove {
        let at = birth.world.elapsed();
        birth
            .world
            .look(|oracle, _| oracle.model.meddles(at, &path, &tag, None));
        let delete = Op::Delete { key, if_match: None };
        birth.world.carry_out_for(None, &delete, "somebody removes it");
        return;
    }
    let partition = path.strip_prefix(INBOX).and_then(|rest| rest.split('/').next());
    let partition = partition.unwrap_or_default().to_owned();
    let written = work::put(birth, path.clone(), partition, number, dice);
    let at = birth.world.elapsed();
    let meddles =
        |oracle: &mut crate::oracle::Oracle| oracle.model.meddles(at, &path, &tag, Some(&written.tag));
    birth.world.look(|oracle, _| meddles(oracle));
    if dice.permille(500) {
        birth.progress.begin(&birth.name, written);
    }
}

/// A file that was handed over, that lies in the store, and that nobody is about to hand over.
fn victim(birth: &Birth, dice: &mut Dice) -> Option<(String, String)> {
    let there: Vec<(String, String)> = birth.world.look(|oracle, objects| {
        let paths = oracle.model.handed_over().into_iter();
        let paths = paths.filter(|path| !birth.progress.holds(path));
        let versions = paths.filter_map(|path| {
            let version = objects.get(&format!("{PREFIX}/{path}"))?;
            Some((path.to_owned(), version.tag.clone()))
        });
        versions.collect()
    });
    (!there.is_empty()).then(|| there[dice.below(there.len() as u64) as usize].clone())
}
