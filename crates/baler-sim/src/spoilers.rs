//! What somebody or something does to outputs that a finished range left, before they are published: it cuts them short or takes
//! them away. In a table that is kept in place such a job must end without effect, and its files must be merged anew.

use std::sync::atomic::Ordering;
use std::time::Duration;

use anyhow::Result;
use tokio::time::sleep;

use crate::dice::Dice;
use crate::faults::Fault;
use crate::nodes::Birth;
use crate::scenarios::Scenario;
use crate::store::PREFIX;
use crate::store::objects::Op;

/// Spoils for as long as things go wrong: while a job waits for its other ranges, and in the moment in which it is to be published.
pub(crate) async fn spoiler(birth: Birth) -> Result<()> {
    let mut dice = Dice::new(birth.world.seed, &format!("spoils of {}", birth.life.name));
    while !birth.drain.load(Ordering::Relaxed) {
        let whim = sleep(dice.about(Duration::from_secs(20)));
        tokio::select! {
            biased;
            () = birth.world.something_is_compacted() => sleep(Duration::from_millis(dice.below(60))).await,
            () = whim => {}
        }
        let there = staged(&birth);
        // Nobody has much of it: what is published at once is in the way for some hundredths of a second.
        if birth.world.is_faulty() && !there.is_empty() && dice.permille(600) {
            birth.world.struck(Fault::SpoiledCheckpoint);
            let victim = there[dice.below(there.len() as u64) as usize].clone();
            spoil(&birth, victim, &mut dice);
        }
    }
    Ok(())
}

/// What finished ranges of jobs left in the store that are not over.
fn staged(birth: &Birth) -> Vec<String> {
    birth.world.look(|oracle, objects| {
        let staged = oracle.model.jobs.values().flat_map(|job| &job.staged);
        let there = staged.filter(|path| objects.get(&format!("{PREFIX}/{path}")).is_some());
        there.cloned().collect()
    })
}

fn spoil(birth: &Birth, path: String, dice: &mut Dice) {
    birth.world.count(|coverage| coverage.reached(Scenario(17)));
    let key = format!("{PREFIX}/{path}");
    let op = match dice.permille(500) {
        true => Op::Delete { key, if_match: None },
        false => Op::Put {
            body: birth.world.look(|oracle, objects| {
                oracle.model.spoiled.insert(path);
                let whole = objects
                    .get(&key)
                    .map(|version| version.bytes.clone())
                    .unwrap_or_default();
                whole.slice(..dice.below(whole.len().max(1) as u64) as usize)
            }),
            key,
            if_absent: false,
        },
    };
    birth
        .world
        .carry_out_for(None, &op, "a finished range is spoiled");
}
