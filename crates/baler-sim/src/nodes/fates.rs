//! What befalls a process: it is started, dies, stands still, is cut off or asked to end, and is started again.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use baler_journal::host::Owned;
use tokio::task::JoinHandle;
use tokio::time::{sleep, timeout};

use super::{Birth, Kind};
use crate::checkers::clocks::only_clocks;
use crate::dice::Dice;
use crate::faults::Fault;
use crate::life::Life;
use crate::plan::Night;
use crate::scenarios::Scenario;
use crate::world::Cut;

/// What may befall it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Misfortune {
    Crash,
    Pause,
    Partition,
    /// Not a fault: somebody restarts it with care.
    Drain,
    Nothing,
}

/// Runs a process for as long as the world goes on.
pub(crate) async fn supervise(kind: Kind, mut birth: Birth) {
    let mut dice = Dice::new(birth.world.seed, &format!("fate of {}", birth.name));
    for start in 1u64.. {
        let name = format!("{}.{start}", birth.name);
        birth.life = Life::begin(birth.world.seed, name);
        birth.drain = Arc::default();
        birth
            .world
            .look(|oracle, _| oracle.model.begins_to_live(&birth.life.name));
        live(kind, &birth, &mut dice).await;
        birth
            .world
            .look(|oracle, _| oracle.model.lives_no_more(&birth.life.name));
        if birth.life.is_broken() {
            let what = format!("a task of {} panicked", birth.life.name);
            birth.world.look(|oracle, _| oracle.found(8, what));
        }
        if let Some(left) = until_morning(&birth) {
            sleep(left).await;
        }
        sleep(dice.about(Duration::from_secs(5))).await;
    }
}

async fn live(kind: Kind, birth: &Birth, dice: &mut Dice) {
    let (world, life) = (&birth.world, &birth.life);
    world.note(format_args!("{} starts", life.name));
    let mut task = tokio::spawn(Owned::by(life.clone(), kind.run(birth.clone())));
    loop {
        let calm = dice.about(birth.plan.calm);
        let calm = calm.min(until_nightfall(birth).unwrap_or(calm));
        if let Ok(ended) = timeout(calm, &mut task).await {
            match ended {
                Ok(Ok(())) => world.note(format_args!("{} ends", life.name)),
                Ok(Err(error)) => world.note(format_args!("{} ends: {error:#}", life.name)),
                Err(_) => world.look(|oracle, _| oracle.found(8, format!("{} panicked", life.name))),
            }
            life.kill();
            return;
        }
        if !world.is_faulty() {
            continue;
        }
        let misfortune = match until_morning(birth) {
            Some(_) if world.mix.has(Fault::Crash) && dice.permille(500) => Misfortune::Crash,
            Some(_) => Misfortune::Drain,
            None => draw(birth, dice),
        };
        match misfortune {
            Misfortune::Nothing => {}
            Misfortune::Crash => return die(birth, &task),
            Misfortune::Pause => pause(birth, kind, dice).await,
            Misfortune::Partition => cut_off(birth, dice).await,
            Misfortune::Drain => {
                birth.drain.store(true, Ordering::Relaxed);
                world.note(format_args!("{} is asked to end", life.name));
                world.count(|coverage| coverage.reached(Scenario(18)));
                if timeout(Duration::from_secs(90), &mut task).await.is_ok() {
                    world.note(format_args!("{} ends", life.name));
                    life.kill();
                    return;
                }
                return die(birth, &task);
            }
        }
    }
}

/// Nobody restarts what is switched off for the night.
fn night(birth: &Birth) -> Option<(Duration, Night)> {
    Some((birth.world.elapsed(), birth.plan.night?))
}

/// How long it is dark, if it is.
fn until_morning(birth: &Birth) -> Option<Duration> {
    let (now, night) = night(birth).filter(|(now, night)| *now >= night.from)?;
    night.until.checked_sub(now)
}

fn until_nightfall(birth: &Birth) -> Option<Duration> {
    let (now, night) = night(birth)?;
    night.from.checked_sub(now)
}

fn draw(birth: &Birth, dice: &mut Dice) -> Misfortune {
    let mix = &birth.world.mix;
    match dice.below(5) {
        0 | 1 if mix.has(Fault::Crash) => Misfortune::Crash,
        2 if mix.has(Fault::Pause) => Misfortune::Pause,
        3 if mix.has(Fault::Partition) => Misfortune::Partition,
        // Whoever restarts a coordinator may make its workers lose their leases.
        4 if !only_clocks(mix) => Misfortune::Drain,
        _ => Misfortune::Nothing,
    }
}

fn die(birth: &Birth, task: &JoinHandle<anyhow::Result<()>>) {
    birth.world.note(format_args!("{} dies", birth.life.name));
    birth.world.struck(Fault::Crash);
    let holds = birth
        .world
        .look(|oracle, _| oracle.model.holds_lease(&birth.life.name));
    birth.world.count(|coverage| {
        coverage.reached(Scenario(8));
        if holds {
            coverage.reached(Scenario(9));
        }
    });
    birth.life.kill();
    task.abort();
}

async fn pause(birth: &Birth, kind: Kind, dice: &mut Dice) {
    let length = dice.about(birth.plan.lease * 2);
    birth.world.struck(Fault::Pause);
    birth.world.count(|coverage| match kind {
        Kind::Coordinator(_) => coverage.reached(Scenario(19)),
        _ if length > birth.plan.lease => coverage.reached(Scenario(10)),
        _ => {}
    });
    birth
        .world
        .note(format_args!("{} stands still for {length:?}", birth.life.name));
    birth.life.pause();
    sleep(length).await;
    birth.life.resume();
    birth.world.note(format_args!("{} goes on", birth.life.name));
}

async fn cut_off(birth: &Birth, dice: &mut Dice) {
    let length = dice.about(birth.plan.lease * 2);
    let cut = match dice.below(3) {
        0 => Cut {
            requests: true,
            answers: true,
        },
        1 => Cut {
            requests: false,
            answers: true,
        },
        _ => Cut {
            requests: true,
            answers: false,
        },
    };
    birth.world.struck(Fault::Partition);
    birth.world.count(|coverage| coverage.reached(Scenario(14)));
    birth
        .world
        .note(format_args!("{} is cut off {cut:?}", birth.life.name));
    birth.world.cut(&birth.life.name, cut);
    sleep(length).await;
    birth.world.cut(&birth.life.name, Cut::default());
    birth.world.note(format_args!("{} is back", birth.life.name));
}

/// A flag that is not set.
pub(crate) fn unset() -> Arc<AtomicBool> {
    Arc::default()
}
