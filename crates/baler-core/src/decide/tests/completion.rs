//! A result counts once, under the present token, and only if every input is still what it was.

use super::fixtures::*;
use super::story::{Story, given};
use crate::apply::apply_event;
use crate::decide;
use crate::event::{Event, ReleaseReason};
use crate::ids::{JobId, RangeId, Sequence, Token};
use crate::job::{CancelReason, JobStatus};
use crate::limits;
use crate::names::Attempt;
use crate::request::{Finish, Refusal, Reply, Request};

fn merging(table: &str) -> Story {
    given([added(table, ["a", "b"]), planned(table, 0, ["a", "b"]), leased(0)])
}

fn right(story: &Story) -> Finish {
    finish(story.job(0), &story.attempt(0))
}

fn no_such_lease() -> Refusal {
    Refusal::NoSuchLease {
        job: JobId(0),
        range: RangeId::Keys(0),
    }
}

#[test]
fn the_last_range_of_a_native_table_commits() {
    let story = merging(NATIVE);
    let finish = right(&story);
    let output = finish.finished.outputs[0].path.clone();
    let story = story
        .when(Request::Finish(finish.clone()))
        .then([
            Event::RangeFinished {
                job: JobId(0),
                range: RangeId::Keys(0),
                finished: finish.finished,
            },
            Event::JobCommitted { job: JobId(0) },
        ])
        .only_once()
        .go_on();
    assert_eq!(story.live(NATIVE), [output]);
}

#[test]
fn a_commit_counts_only_with_the_current_token() {
    let story = merging(NATIVE);
    let zombie = right(&story);
    let attempt = story.attempt(0);
    let story = story.after(release(attempt, ReleaseReason::Stalled));
    story
        .clone()
        .when(Request::Finish(zombie.clone()))
        .refused(no_such_lease());
    let story = story.and([leased(0)]);
    story.when(Request::Finish(zombie)).refused(no_such_lease());
}

#[test]
fn a_worker_that_took_back_its_own_job_is_fenced_from_its_old_attempt() {
    let story = merging(NATIVE);
    let old = story.attempt(0);
    let story = story
        .after(release(old, ReleaseReason::TakenOver))
        .after(poll(LONER, 1));
    assert_ne!(story.attempt(0), old);
    story
        .clone()
        .when(Request::Finish(finish(story.job(0), &old)))
        .refused(no_such_lease());
    story
        .when(release(old, ReleaseReason::Drained))
        .refused(no_such_lease());
}

#[test]
fn a_largest_token_is_no_master_key() {
    let story = merging(NATIVE);
    let master = Token {
        sequence: Sequence(u64::MAX),
        index: u32::MAX,
    };
    let attempt = Attempt {
        token: master,
        ..story.attempt(0)
    };
    let forged = finish(story.job(0), &attempt);
    story
        .clone()
        .when(Request::Finish(forged))
        .refused(no_such_lease());
    story
        .clone()
        .when(release(attempt, ReleaseReason::Drained))
        .refused(no_such_lease());
    story
        .when(Request::Rewatch {
            watcher: CHIEF,
            attempts: vec![attempt],
        })
        .refused(no_such_lease());
}

#[test]
fn a_job_whose_input_was_removed_commits_nothing_and_resurrects_nothing() {
    for table in [NATIVE, PLACE] {
        let story = merging(table);
        let late = right(&story);
        let story = story.after(lose(table, Sequence(2), ["a"]));
        let story = story.when(Request::Finish(late)).refused(no_such_lease()).go_on();
        assert_eq!(story.live(table), paths(["b"]));
    }
}

#[test]
fn an_input_that_changed_during_the_merge_ends_the_job() {
    for now in [None, Some(version("2"))] {
        let story = merging(PLACE);
        let changed = Finish {
            inputs_now: Some(vec![Some(version("1")), now]),
            ..right(&story)
        };
        let cancelled = Event::JobCancelled {
            job: JobId(0),
            why: CancelReason::InputsChanged(paths(["b"])),
        };
        story
            .when(Request::Finish(changed))
            .then([cancelled, lost(PLACE, ["b"])])
            .replies(Reply::JobCancelled(JobId(0)))
            .only_once();
    }
}

/// A name that Baler gave is offered by no listing: let go, it would be taken for a late write, and deleted.
#[test]
fn an_output_that_somebody_wrote_over_is_named_and_stays() {
    let story = merging(PLACE);
    let finish_first = right(&story);
    let output = finish_first.finished.outputs[0].path.clone();
    let story = story.after(Request::Finish(finish_first));
    let token = story.publish_token(0);
    let story = story.after(publish(0, token));
    let story = story.and([
        added(PLACE, ["c"]),
        planned(PLACE, 1, [&*output.path, "c"]),
        leased(1),
    ]);
    let written_over = Finish {
        inputs_now: Some(vec![Some(version("2")), Some(version("1"))]),
        ..finish(story.job(1), &story.attempt(1))
    };
    let story = story
        .when(Request::Finish(written_over))
        .replies(Reply::JobCancelled(JobId(1)))
        .only_once()
        .go_on();
    let evidence = story.state.sequence;
    assert!(story.table(PLACE).files.contains_key(&output), "it was let go");
    assert!(
        story.table(PLACE).quarantine.contains_key(&output),
        "nobody is told"
    );
    let found = Request::ReportLateWrites {
        table: PLACE.into(),
        evidence,
        paths: vec![output],
    };
    story.when(found).nothing();
}

#[test]
fn a_plain_table_commits_nothing_without_a_look_at_every_input() {
    let story = merging(PLACE);
    for inputs_now in [None, Some(vec![]), Some(vec![Some(version("1"))])] {
        let blind = Finish {
            inputs_now,
            ..right(&story)
        };
        story
            .clone()
            .when(Request::Finish(blind))
            .nothing()
            .refused(Refusal::InputsUnseen(JobId(0)));
    }
}

/// Trap: the error path of a commit forgets the lease, and its renewal goes on for ever.
#[test]
fn a_failed_commit_leaves_no_lease_behind() {
    let story = merging(PLACE);
    let changed = Finish {
        inputs_now: Some(vec![None, None]),
        ..right(&story)
    };
    let mut unproved = right(&story);
    unproved.finished.outputs[0].rows += 1;
    for failing in [changed, unproved] {
        let story = story.clone().after(Request::Finish(failing));
        assert!(story.state.jobs.values().all(|job| job.leases().count() == 0));
        assert!(story.state.watchers.is_empty(), "nobody answers for it");
        story.when(Request::Renew(LONER)).nothing();
    }
}

#[test]
fn a_finish_that_came_twice_is_a_success_twice() {
    let story = merging(NATIVE);
    let request = Request::Finish(right(&story));
    let first = story.when(request.clone());
    let committed = first.decision.reply.clone();
    let told = first.go_on().when(request).nothing().replies(committed);
    let Reply::Finished { committed, .. } = told.decision.reply else {
        panic!("not finished")
    };
    assert_eq!(committed.unwrap().status, JobStatus::Committed);
}

#[test]
fn final_states_absorb() {
    let story = merging(NATIVE);
    let (request, attempt) = (Request::Finish(right(&story)), story.attempt(0));
    let committed = story.clone().after(request.clone());
    let cancelled = story.after(Request::Cancel(JobId(0)));
    for ended in [committed, cancelled] {
        let status = ended.state.recent.clone();
        let after = ended
            .clone()
            .after(request.clone())
            .after(release(attempt, ReleaseReason::InputFault("late".into())))
            .after(lose(NATIVE, ended.state.sequence, ["a"]));
        assert_eq!(after.state.recent, status);
        after
            .when(Request::Cancel(JobId(0)))
            .refused(Refusal::NoSuchJob(JobId(0)));
    }
}

#[test]
fn a_finished_range_is_not_a_leftover() {
    let story = merging(PLACE);
    let attempt = story.attempt(0);
    let request = Request::Finish(right(&story));
    let story = story.after(request);
    assert!(story.state.leftovers.is_empty());
    let staged = attempt.staged(0).path;
    story.when(sweep(attempt, [&staged])).nothing();
}

/// Trap: the state remembers every job there ever was, and each snapshot is larger than the one before.
#[test]
fn the_state_keeps_open_jobs_and_the_last_that_ended() {
    let open = planned(NATIVE, 0, ["open-a", "open-b"]);
    let mut state = given([added(NATIVE, ["open-a", "open-b"]), open]).state;
    let last = limits::RECENT_JOBS_MAX as u64 + 20;
    for job in 1..=last {
        let names = [format!("{job}-a"), format!("{job}-b")];
        let names = [names[0].as_str(), names[1].as_str()];
        apply_event(&mut state, &added(NATIVE, names));
        apply_event(&mut state, &planned(NATIVE, job, names));
        let decision = decide(&state, &Request::Cancel(JobId(job)));
        decision
            .events
            .iter()
            .for_each(|event| apply_event(&mut state, event));
    }
    assert_eq!(state.jobs.keys().copied().collect::<Vec<_>>(), [JobId(0)]);
    assert_eq!(state.recent.len(), limits::RECENT_JOBS_MAX);
    let ids = [state.recent.front(), state.recent.back()].map(|job| job.unwrap().id);
    assert_eq!(ids, [JobId(21), JobId(last)], "the oldest go, the last stay");
}
