//! Leases without clocks: a worker stops its merge only if no watcher accepts its token within the lease time. In a run in which
//! processes die and nothing else fails, a worker that lives keeps what it knows that it holds while some coordinator is there.

use super::Wrong;
use crate::faults::{Fault, Mix};
use crate::model::{Model, range_of, token_of};
use crate::oracle::At;

/// Whether processes die in this mix, and nothing fails but clocks beside.
pub(crate) fn only_deaths(mix: &Mix) -> bool {
    let deadly = [Fault::Crash, Fault::WrongClock, Fault::ClockJump];
    let others = Fault::ALL.into_iter().filter(|fault| !deadly.contains(fault));
    mix.has(Fault::Crash) && others.into_iter().all(|fault| !mix.has(fault))
}

/// For how many lease times a coordinator must have listened before it is held against a worker that it did not turn to it:
/// it asks at a third of the lease time, waits for an answer as long, and is not heard of for one.
const LISTENED_LEASES: u64 = 4;

pub(super) fn event(model: &Model, at: At<'_>, wrong: &mut Wrong) {
    if !model.lives.only_deaths || at.kind != "RangeReleased" || at.body["why"] != "Lost" {
        return;
    }
    let attempt = &at.body["attempt"];
    let (range, token) = (range_of(&attempt["range"]), token_of(&attempt["token"]));
    let Some(id) = attempt["job"].as_u64() else {
        return;
    };
    let lease = model.jobs.get(&id).and_then(|job| job.leases.get(&range));
    let Some(lease) = lease.filter(|lease| model.lives.is_alive(&lease.worker)) else {
        return;
    };
    let heard_of = model.lives.has_shown(&(id, range, token));
    let then_ms = at.now_ms.saturating_sub(LISTENED_LEASES * model.lease_ms);
    if heard_of && model.lives.listened_since(then_ms) {
        let worker = &lease.worker;
        wrong.push((
            7,
            format!("{worker} lives and lost job {id}, while a coordinator would have answered for it"),
        ));
    }
}
