//! Guarantee 3: at most one live lease for a file and key range, and a result counts only under the token of that lease.

use std::time::Duration;

use serde_json::Value;

use super::Wrong;
use crate::model::{Model, paths_of, range_of, token_of};
use crate::oracle::At;

pub(super) fn event(model: &Model, at: At<'_>, wrong: &mut Wrong) {
    match at.kind {
        "JobPlanned" => planned(model, at, wrong),
        "RangeLeased" => leased(model, at, wrong),
        "WatcherTakenOver" => taken_over(model, at, wrong),
        "RangeFinished" => {
            let token = token_of(&at.body["finished"]["token"]);
            counts(model, at, &range_of(&at.body["range"]), token, wrong);
        }
        "JobPublished" => counts(model, at, "Publish", token_of(&at.body["token"]), wrong),
        "RangeReleased" => shown(model, &at.body["attempt"], "released", wrong),
        "LeasesRewatched" => {
            for attempt in at.body["attempts"].as_array().into_iter().flatten() {
                shown(model, attempt, "passed on", wrong);
            }
        }
        _ => {}
    }
}

fn planned(model: &Model, at: At<'_>, wrong: &mut Wrong) {
    for path in paths_of(&at.body["inputs"]) {
        if !model.live.contains_key(&path) {
            wrong.push((2, format!("{path} is planned, but not live")));
        }
        // What a job is publishing the outputs of is out of the table: another file may have the name.
        let mut open = model.jobs.iter().filter(|(_, job)| !job.compacted);
        let holder = open.find(|(_, job)| job.inputs.contains(&path));
        if let Some((id, _)) = holder {
            wrong.push((3, format!("{path} is planned, but job {id} holds it")));
        }
    }
}

fn leased(model: &Model, at: At<'_>, wrong: &mut Wrong) {
    let range = range_of(&at.body["range"]);
    let Some(job) = at.body["job"].as_u64().and_then(|id| model.jobs.get(&id)) else {
        wrong.push((3, "a range of no open job is leased".to_owned()));
        return;
    };
    if let Some(held) = job.leases.get(&range) {
        wrong.push((3, format!("range {range} is leased, but {held:?} is held")));
    }
    if job.finished.contains_key(&range) {
        wrong.push((3, format!("range {range} is leased, but finished")));
    }
}

/// Only who shows the token of a lease can give it back, or have another watcher answer for it.
fn shown(model: &Model, attempt: &Value, what: &str, wrong: &mut Wrong) {
    let (range, token) = (range_of(&attempt["range"]), token_of(&attempt["token"]));
    let job = attempt["job"].as_u64().and_then(|id| model.jobs.get(&id));
    let held = job.and_then(|job| job.leases.get(&range));
    if held.is_none_or(|held| held.token != token) {
        wrong.push((3, format!("{token:?} is {what}, but {held:?} is held")));
    }
}

/// Nobody takes over from a watcher that gave a sign of life less than a lease time ago, whatever the clocks say: whoever
/// judges it has seen the sign later than it was given.
fn taken_over(model: &Model, at: At<'_>, wrong: &mut Wrong) {
    let who = at.body["watcher"].as_str().unwrap_or_default();
    let silent_ms = model.signs.get(who).map(|sign| at.now_ms - sign);
    if let Some(silent_ms) = silent_ms.filter(|silent_ms| *silent_ms < model.lease_ms) {
        wrong.push((
            3,
            format!(
                "{who} is taken over from after {silent_ms} ms of silence, and a lease is {} ms",
                model.lease_ms
            ),
        ));
    }
}

fn counts(model: &Model, at: At<'_>, range: &str, token: (u64, u32), wrong: &mut Wrong) {
    let job = at.body["job"].as_u64().and_then(|id| model.jobs.get(&id));
    let held = job.and_then(|job| job.leases.get(range));
    if held.is_none_or(|held| held.token != token) {
        wrong.push((3, format!("a result of {token:?} counts, but {held:?} is held")));
    }
}

/// A watcher told a worker which of its leases are held. It may know of an end too late, but not by more than a lease time:
/// without a sign of life of its own it says nothing, and with one it has read what happened before.
pub(crate) fn told(model: &Model, now_ms: u64, lease: Duration, asked: &[u8], answer: &[u8]) -> Vec<String> {
    let parsed = |bytes| serde_json::from_slice::<Value>(bytes).unwrap_or_default();
    let (asked, answer) = (parsed(asked), parsed(answer));
    let leases = asked["leases"].as_array().into_iter().flatten();
    let verdicts = answer["verdicts"].as_array().into_iter().flatten();
    let kept = leases.zip(verdicts).filter(|(_, verdict)| **verdict == "kept");
    let wrong = kept.filter_map(|(shown, _)| {
        let attempt = &shown[0];
        let job = attempt["job"].as_u64()?;
        let grant = (job, range_of(&attempt["range"]), token_of(&attempt["token"]));
        let since_ms = now_ms - model.leases_ended.get(&grant)?;
        let late = since_ms > lease.as_millis() as u64 + LATE_MS;
        late.then(|| format!("a worker is told that it holds {grant:?}, which ended {since_ms} ms ago"))
    });
    wrong.collect()
}

/// What reading and answering take.
const LATE_MS: u64 = 1_000;
