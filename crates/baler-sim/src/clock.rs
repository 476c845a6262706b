//! The wall clock of a process: behind or ahead, fast or slow, and sometimes it jumps.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, UNIX_EPOCH};

use baler::root::Clock;

use crate::dice::Dice;
use crate::faults::Fault;
use crate::life::Life;
use crate::scenarios::Scenario;
use crate::world::World;

const MINUTE_MS: i64 = 60_000;

/// The clock of one process.
pub(crate) fn of(world: &Arc<World>, life: &Life) -> Clock {
    let mut dice = Dice::new(world.seed, &format!("clock of {}", life.name));
    let (mut skew_ms, mut drift) = (0, 0.0);
    if world.mix.has(Fault::WrongClock) && world.is_faulty() {
        world.struck(Fault::WrongClock);
        world.count(|coverage| coverage.reached(Scenario(13)));
        skew_ms = dice.below(20 * MINUTE_MS as u64) as i64 - 10 * MINUTE_MS;
        drift = (dice.fraction() - 0.5) / 10.0;
    }
    let jumps_every = world.mix.has(Fault::ClockJump).then(|| dice.between(20, 300));
    let (world, seen) = (world.clone(), AtomicU64::new(0));
    Clock::new(move || {
        let elapsed = world.elapsed();
        let drifted = (elapsed.as_millis() as f64 * drift) as i64;
        let jump = jumps_every.filter(|_| world.is_faulty()).map_or(0, |every| {
            let turn = elapsed.as_secs() / every;
            if seen.swap(turn, Ordering::Relaxed) != turn {
                world.struck(Fault::ClockJump);
            }
            let mut dice = Dice::new(world.seed, &format!("jump {turn}"));
            dice.below(120 * MINUTE_MS as u64) as i64 - 60 * MINUTE_MS
        });
        let now = world.now_ms().saturating_add_signed(skew_ms + drifted + jump);
        UNIX_EPOCH + Duration::from_millis(now)
    })
}
