//! A confused process: it speaks of ranges that others work on, under tokens that nobody was given. Nothing that it says
//! may count.

use std::sync::atomic::Ordering;
use std::time::Duration;

use anyhow::Result;
use baler_core::event::ReleaseReason;
use baler_core::ids::{Sequence, Token, WatcherId};
use baler_core::names::Attempt;
use baler_core::request::Request;
use baler_core::state::State;
use tokio::time::sleep;

use crate::dice::Dice;
use crate::nodes::{Birth, opening};

/// Lies again and again.
pub(crate) async fn impostor(birth: Birth) -> Result<()> {
    let root = opening::root(&birth).await?;
    let mut dice = Dice::new(birth.world.seed, &format!("lies of {}", birth.life.name));
    while !birth.drain.load(Ordering::Relaxed) {
        let whim = sleep(dice.about(birth.plan.pace));
        tokio::select! {
            biased;
            () = birth.world.something_is_leased() => {}
            () = whim => {}
        }
        if birth.closing.load(Ordering::Relaxed) {
            sleep(Duration::from_secs(60)).await;
            continue;
        }
        let state = root.replica.catch_up().await?;
        if let Some(lie) = lie(&state, &mut dice) {
            birth.world.note(format_args!("{} says {lie:?}", birth.life.name));
            root.replica.submit(lie).await?;
        }
    }
    root.replica.clone().close().await;
    Ok(())
}

/// A range that is held is given back, or claimed for a watcher that is not there, under another token than its own.
fn lie(state: &State, dice: &mut Dice) -> Option<Request> {
    let held = state.jobs.values().flat_map(|job| {
        let leases = job.leases();
        leases.map(|(range, lease)| (job.id, range, lease.token))
    });
    let held: Vec<_> = held.collect();
    if held.is_empty() {
        return None;
    }
    let (job, range, token) = dice.one_of(&held);
    let token = made_up(token, dice);
    let attempt = Attempt { job, range, token };
    Some(match dice.permille(500) {
        true => Request::Release {
            attempt,
            why: ReleaseReason::Drained,
            culprits: vec![],
        },
        false => Request::Rewatch {
            watcher: WatcherId(u128::from(dice.bits())),
            attempts: vec![attempt],
        },
    })
}

/// An entry before it, the same, one a little after it, or the last there can be; and never an event that there is.
fn made_up(token: Token, dice: &mut Dice) -> Token {
    let sequence = token.sequence.0;
    let sequence = match dice.below(4) {
        0 => sequence.saturating_sub(dice.between(1, 5)),
        1 => sequence,
        2 => sequence + dice.between(1, 5),
        _ => u64::MAX,
    };
    Token {
        sequence: Sequence(sequence),
        index: u32::MAX,
    }
}
