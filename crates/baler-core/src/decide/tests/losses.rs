//! Leases lost without a word: a file that kills its worker sends no report. Nobody is blamed for them; but what two
//! processes did not survive runs alone, in a child process, and there a death counts.

use super::fixtures::*;
use super::story::{Story, given};
use crate::event::{Event, ReleaseReason};
use crate::file::FilePath;
use crate::ids::{JobId, RangeId, Sequence, WatcherId};
use crate::job::Range;
use crate::limits::{INPUT_FAULTS_MAX, LOSSES_MAX};
use crate::names::Attempt;
use crate::request::{Poll, Reply, Request};

const KEYS: RangeId = RangeId::Keys(0);

fn job_of<const N: usize>(inputs: [&str; N]) -> Story {
    given([added(NATIVE, inputs), planned(NATIVE, 0, inputs)])
}

/// A worker that can run a merge in a child process, and one that cannot.
fn leased_to(worker: &str, watcher: WatcherId, isolates: bool) -> Event {
    Event::RangeLeased {
        job: JobId(0),
        range: KEYS,
        worker: worker.into(),
        watcher,
        embedded: watcher == LONER,
        host: None,
        tenant: None,
        isolates,
    }
}

fn expire(watcher: WatcherId, attempts: &[Attempt]) -> Request {
    Request::Expire {
        watcher,
        attempts: attempts.to_vec(),
    }
}

/// A remote worker takes the range, and is never heard of again.
fn lost(story: Story, worker: &str) -> Story {
    let story = story.and([leased_to(worker, CHIEF, true)]);
    let attempt = story.attempt(0);
    story.after(expire(CHIEF, &[attempt]))
}

/// A worker that is its own watcher takes the range, and dies.
fn killed(story: Story, worker: &str) -> Story {
    let story = story.and([leased_to(worker, LONER, true)]);
    let counter = story.state.watchers[&LONER].counter;
    story.after(Request::TakeOver {
        watcher: LONER,
        counter,
        by: DEPUTY,
    })
}

fn ended(story: Story, worker: &str, why: ReleaseReason) -> Story {
    let story = story.and([leased_to(worker, CHIEF, true)]);
    let attempt = story.attempt(0);
    story.after(release(attempt, why))
}

fn child_died() -> ReleaseReason {
    ReleaseReason::ChildDied("signal 11".into())
}

fn range(story: &Story) -> &Range {
    &story.job(0).ranges[0]
}

fn isolating() -> Request {
    Request::Poll(Poll {
        isolates: true,
        ..a_poll(CHIEF, 1)
    })
}

fn is_granted(story: &Story, request: Request) -> bool {
    let told = story.clone().when(request);
    matches!(told.decision.reply, Reply::Granted(grants) if !grants.is_empty())
}

#[test]
fn a_silent_worker_loses_its_lease_and_is_blamed_for_nothing() {
    let story = job_of(["a"]).and([leased_to("w1", CHIEF, true)]);
    let attempt = story.attempt(0);
    let released = Event::RangeReleased {
        attempt,
        why: ReleaseReason::Lost,
    };
    let told = story.when(expire(CHIEF, &[attempt])).then([released]).only_once();
    let story = told.go_on();
    assert_eq!((story.job(0).input_faults, range(&story).alone), (0, false));
    assert_eq!(story.state.leftovers.len(), 1);
    assert!(is_granted(&story, poll(DEPUTY, 1)));
}

#[test]
fn a_watcher_lets_go_only_of_what_it_answers_for() {
    let story = job_of(["a"]).and([leased_to("w1", CHIEF, true)]);
    let attempt = story.attempt(0);
    story.clone().when(expire(DEPUTY, &[attempt])).nothing();
    let passed_on = story.clone().after(Request::Rewatch {
        watcher: DEPUTY,
        attempts: vec![attempt],
    });
    passed_on.when(expire(CHIEF, &[attempt])).nothing();
    let again = story.after(release(attempt, ReleaseReason::Drained));
    let again = again.and([leased_to("w2", CHIEF, true)]);
    again.when(expire(CHIEF, &[attempt])).nothing();
    let own = job_of(["a"]).and([leased_to("w1", LONER, true)]);
    let attempt = own.attempt(0);
    own.when(expire(LONER, &[attempt])).nothing();
}

#[test]
fn what_two_processes_did_not_survive_runs_alone() {
    let ends: [fn(Story, &str) -> Story; 3] = [lost, killed, |story, worker| {
        ended(story, worker, ReleaseReason::Stalled)
    }];
    for first in ends {
        for second in ends {
            let story = first(job_of(["a"]), "w1");
            assert!(!range(&story).alone && is_granted(&story, poll(CHIEF, 1)));
            let story = second(story, "w2");
            assert!(range(&story).alone);
            assert_eq!(story.job(0).input_faults, 0, "nobody is blamed");
            assert!(
                !is_granted(&story, poll(CHIEF, 1)),
                "whoever cannot outlive it gets none of it"
            );
            assert!(is_granted(&story, isolating()));
        }
    }
}

#[test]
fn one_process_that_dies_of_itself_proves_nothing() {
    let story = lost(lost(job_of(["a"]), "w1"), "w1");
    assert!(!range(&story).alone);
}

#[test]
fn an_end_with_a_reason_is_no_loss() {
    let mut story = job_of(["a"]);
    for worker in ["w1", "w2", "w3"] {
        for why in [
            ReleaseReason::Drained,
            ReleaseReason::NodeFault("no space".into()),
            ReleaseReason::StoreFault("503".into()),
        ] {
            story = ended(story, worker, why);
        }
    }
    assert_eq!((range(&story).lost.len(), range(&story).alone), (0, false));
}

#[test]
fn a_coordinator_that_ends_is_no_loss_of_its_workers() {
    let story = job_of(["a"]).and([leased_to("w1", CHIEF, true)]);
    let (attempt, counter) = (story.attempt(0), story.state.watchers[&CHIEF].counter);
    let story = story.after(Request::TakeOver {
        watcher: CHIEF,
        counter,
        by: DEPUTY,
    });
    assert_eq!(story.attempt(0), attempt);
    assert!(range(&story).lost.is_empty());
}

/// Or it would wait for ever for a worker that there is not.
#[test]
fn where_nobody_can_outlive_it_a_range_never_runs_alone() {
    let mut story = job_of(["a"]);
    for worker in ["w1", "w2", "w3", "w4"] {
        story = story.and([leased_to(worker, CHIEF, false)]);
        let attempt = story.attempt(0);
        story = story.after(expire(CHIEF, &[attempt]));
        assert!(is_granted(&story, poll(CHIEF, 1)));
    }
    assert_eq!(
        range(&story).lost.len(),
        LOSSES_MAX,
        "what is remembered is bounded"
    );
    assert!(range(&lost(story, "w5")).alone, "somebody who can was lost too");
}

fn alone<const N: usize>(inputs: [&str; N]) -> Story {
    let story = lost(lost(job_of(inputs), "w1"), "w2");
    assert!(range(&story).alone);
    story
}

#[test]
fn a_worker_lost_together_with_its_child_counts_nothing() {
    let mut story = alone(["a"]);
    for worker in ["w3", "w4", "w5"] {
        story = killed(lost(story, worker), worker);
    }
    assert_eq!(story.job(0).input_faults, 0);
    assert!(range(&story).alone);
}

#[test]
fn a_child_that_dies_alone_counts_and_the_only_file_is_named() {
    let mut story = alone(["a"]);
    for faults in 1..INPUT_FAULTS_MAX {
        story = ended(story, "w3", child_died());
        assert_eq!(story.job(0).input_faults, faults);
    }
    let story = ended(story, "w3", child_died());
    let mark = &story.table(NATIVE).quarantine[&path("a")];
    assert_eq!(&*mark.reason, "signal 11");
    assert!(story.state.jobs.is_empty());
}

#[test]
fn the_first_death_of_a_child_is_a_suspicion() {
    let story = ended(job_of(["a"]), "w1", child_died());
    assert_eq!((story.job(0).input_faults, range(&story).alone), (0, true));
    assert_eq!(story.job(0).last_error.as_deref(), Some("signal 11"));
}

#[test]
fn a_fault_that_is_told_in_words_still_counts() {
    let story = ended(alone(["a"]), "w3", ReleaseReason::InputFault("bad page".into()));
    assert_eq!(story.job(0).input_faults, 1);
}

#[test]
fn all_parts_of_what_runs_alone_run_alone() {
    let story = alone(["a", "b"]).and([leased_to("w3", CHIEF, true)]);
    let attempt = story.attempt(0);
    let story = story.after(Request::CutJob {
        attempt,
        edges: vec![vec![7]],
    });
    assert!(story.job(0).ranges.iter().all(|range| range.alone));
    assert!(!is_granted(&story, poll(DEPUTY, 1)));
}

#[test]
fn a_publisher_that_is_lost_marks_nothing() {
    let story = given([added(PLACE, ["a", "b"]), planned(PLACE, 0, ["a", "b"]), leased(0)]);
    let finish = finish(story.job(0), &story.attempt(0));
    let mut story = story.after(Request::Finish(finish));
    for worker in ["w1", "w2", "w3"] {
        let attempt = story.attempt_at(0, RangeId::Publish);
        story = story.after(release(attempt, ReleaseReason::Lost));
        let poll = Request::Poll(Poll {
            worker: worker.into(),
            ..a_poll(CHIEF, 1)
        });
        story = story.after(poll);
    }
    assert_eq!(
        (story.job(0).publish.alone, story.job(0).publish.attempts),
        (false, 4)
    );
}

/// A worker dies of every merge that holds this file; a child dies of it, and its worker lives.
#[test]
fn a_file_that_kills_its_workers_is_found_at_the_price_of_two() {
    let poison = path("c");
    let mut story = job_of(["a", "b", "c", "d", "e"]);
    let mut killed = 0;
    for round in 0..100 {
        let worker = format!("w{round}");
        let told = story.when(Request::Poll(Poll {
            worker: worker.as_str().into(),
            isolates: true,
            ..a_poll(CHIEF, 1)
        }));
        let Reply::Granted(grants) = told.decision.reply.clone() else {
            panic!("not answered")
        };
        story = told.go_on();
        let Some(grant) = grants.first() else { break };
        let holds: Vec<&FilePath> = grant.job.inputs.iter().map(|input| &input.path).collect();
        let request = match (holds.contains(&&poison), grant.job.ranges[0].alone) {
            (false, _) => Request::Finish(finish(&grant.job, &grant.attempt())),
            (true, true) => release(grant.attempt(), child_died()),
            (true, false) => {
                killed += 1;
                expire(CHIEF, &[grant.attempt()])
            }
        };
        story = story.after(request);
    }
    assert_eq!(killed, LOSSES_MAX);
    let marked: Vec<_> = story.table(NATIVE).quarantine.keys().cloned().collect();
    assert_eq!(marked, [poison]);
    let waiting = story.table(NATIVE).view(&"".into(), story.state.time);
    assert!(waiting.busy.is_empty() && story.state.sequence > Sequence(5));
}
