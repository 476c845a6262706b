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
use crate::work;

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
        let whim = sleep(dice.about(birth.plan.pace * 2));
        let victim = tokio::select! {
            biased;
            () = birth.world.something_is_due() => victim(&birth, Reach::Due, &mut dice),
            () = whim => victim(&birth, Reach::HandedOver, &mut dice),
        };
        if !birth.world.is_faulty() {
            sleep(Duration::from_secs(60)).await;
        } else if let Some((path, tag)) = victim {
            number += 1;
            meddle(&birth, number, &path, &tag, &mut dice);
        }
    }
    root.replica.clone().close().await;
    Ok(())
}

fn meddle(birth: &Birth, number: u64, path: &str, tag: &str, dice: &mut Dice) {
    let mix = &birth.world.mix;
    let kinds = [Fault::Overwrite, Fault::Remove];
    let kinds: Vec<Fault> = kinds.into_iter().filter(|kind| mix.has(*kind)).collect();
    let kind = dice.one_of(&kinds);
    birth.world.struck(kind);
    let held = birth.world.look(|oracle, _| {
        let mut jobs = oracle.model.jobs.values();
        jobs.any(|job| job.inputs.iter().any(|input| input == path))
    });
    if held {
        birth.world.count(|coverage| coverage.reached(Scenario(7)));
    }
    let key = format!("{PREFIX}/{path}");
    if kind == Fault::Remove {
        let at = birth.world.elapsed();
        birth
            .world
            .look(|oracle, _| oracle.model.meddles(at, path, tag, None));
        let delete = Op::Delete { key, if_match: None };
        birth.world.carry_out_for(None, &delete, "somebody removes it");
        return;
    }
    let written = work::put(birth, path.to_owned(), number, dice);
    let at = birth.world.elapsed();
    let meddles =
        |oracle: &mut crate::oracle::Oracle| oracle.model.meddles(at, path, tag, Some(&written.tag));
    birth.world.look(|oracle, _| meddles(oracle));
    if dice.permille(500) {
        birth.progress.begin(&birth.name, written);
    }
}

/// What is meddled with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Reach {
    /// What was ever handed over.
    HandedOver,
    /// What is about to be deleted.
    Due,
}

/// A file that lies in the store, and that nobody is about to hand over.
fn victim(birth: &Birth, reach: Reach, dice: &mut Dice) -> Option<(String, String)> {
    let there: Vec<(String, String)> = birth.world.look(|oracle, objects| {
        let paths = oracle.model.handed_over().into_iter();
        let paths = paths.filter(|path| reach == Reach::HandedOver || oracle.model.due.contains(*path));
        let paths = paths.filter(|path| !birth.progress.holds(path));
        let versions = paths.filter_map(|path| {
            let version = objects.get(&format!("{PREFIX}/{path}"))?;
            Some((path.to_owned(), version.tag.clone()))
        });
        versions.collect()
    });
    (!there.is_empty()).then(|| there[dice.below(there.len() as u64) as usize].clone())
}
