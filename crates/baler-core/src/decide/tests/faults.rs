//! Who is to blame when a merge fails, and what becomes of them.

use super::fixtures::*;
use super::story::{Story, given};
use crate::event::{Event, ReleaseReason};
use crate::ids::{JobId, RangeId, Sequence};
use crate::job::{CancelReason, Why};
use crate::limits::{INPUT_FAULTS_MAX, OPEN_JOBS_AND_HALVES_MAX, REASON_CHARS_MAX};
use crate::request::{Reply, Request};

fn bad() -> ReleaseReason {
    ReleaseReason::InputFault("bad page".into())
}

/// The open job is granted and fails, as often as it takes to be judged.
fn fails(mut story: Story, job: u64) -> Story {
    for _ in 0..INPUT_FAULTS_MAX {
        story = story.and([leased(job)]);
        let attempt = story.attempt(job);
        story = story.after(release(attempt, bad()));
    }
    story
}

fn succeeds(story: Story, job: u64) -> Story {
    let story = story.and([leased(job)]);
    let request = Request::Finish(finish(story.job(job), &story.attempt(job)));
    story.after(request)
}

fn open_jobs(story: &Story) -> Vec<u64> {
    story.state.jobs.keys().map(|job| job.0).collect()
}

#[test]
fn node_faults_never_count_against_the_job() {
    let mut story = given([added(NATIVE, ["a"]), planned(NATIVE, 0, ["a"])]);
    for _ in 0..5 {
        for why in [
            ReleaseReason::NodeFault("no space".into()),
            ReleaseReason::StoreFault("503".into()),
            ReleaseReason::Drained,
            ReleaseReason::Stalled,
            ReleaseReason::TakenOver,
        ] {
            story = story.and([leased(0)]);
            let attempt = story.attempt(0);
            story = story.after(release(attempt, why));
        }
    }
    assert_eq!(story.job(0).input_faults, 0);
    assert_eq!(story.job(0).last_error.as_deref(), Some("503"));
}

#[test]
fn a_release_that_came_twice_counts_once() {
    let story = given([
        added(NATIVE, ["a", "b"]),
        planned(NATIVE, 0, ["a", "b"]),
        leased(0),
    ]);
    let attempt = story.attempt(0);
    let released = Event::RangeReleased { attempt, why: bad() };
    let told = story.when(release(attempt, bad())).then([released]).only_once();
    assert_eq!(told.go_on().job(0).input_faults, 1);
}

#[test]
fn bisection_ends_the_parent_and_plans_the_halves_in_one_append() {
    let story = given([
        added(NATIVE, ["a", "b", "c"]),
        planned(NATIVE, 0, ["a", "b", "c"]),
        leased(0),
    ]);
    let attempt = story.attempt(0);
    let story = story.after(release(attempt, bad())).and([leased(0)]);
    let attempt = story.attempt(0);
    let (job, half) = (JobId(0), Why::Bisected { of: JobId(0) });
    story.when(release(attempt, bad())).then([
        Event::RangeReleased { attempt, why: bad() },
        Event::JobCancelled {
            job,
            why: CancelReason::Bisected,
        },
        planned_because(NATIVE, 1, ["a"], half.clone()),
        planned_because(NATIVE, 2, ["b", "c"], half),
    ]);
}

#[test]
fn bisection_finds_the_bad_file() {
    let names = ["a", "b", "c", "d"];
    let mut story = given([added(NATIVE, names), planned(NATIVE, 0, names)]);
    while let Some(job) = open_jobs(&story).first().copied() {
        let poisoned = story.job(job).inputs.iter().any(|input| input.path == path("c"));
        story = if poisoned {
            fails(story, job)
        } else {
            succeeds(story, job)
        };
    }
    let table = story.table(NATIVE);
    assert!(table.is_quarantined(&path("c"), &version("1")));
    assert_eq!(table.quarantine.len(), 1);
    assert!(
        table.files.contains_key(&path("c")),
        "a bad file stays where it is"
    );
    assert!(table.held.is_empty());
}

#[test]
fn a_pair_that_fails_only_together_is_kept_apart() {
    let story = given([added(NATIVE, ["a", "b"]), planned(NATIVE, 0, ["a", "b"])]);
    let story = succeeds(succeeds(fails(story, 0), 1), 2);
    let marks: Vec<_> = story
        .table(NATIVE)
        .files
        .values()
        .map(|file| file.apart)
        .collect();
    assert_eq!(marks, [Some(JobId(0)), Some(JobId(0))]);
    assert!(story.table(NATIVE).quarantine.is_empty());
    let retry = Request::Retry {
        table: NATIVE.into(),
        paths: vec![],
    };
    let story = story.when(retry).only_once().go_on();
    let mut files = story.table(NATIVE).files.values();
    assert!(
        files.all(|file| file.apart.is_none()),
        "retry lets them meet again"
    );
}

#[test]
fn a_known_culprit_is_quarantined_at_once_and_outlives_the_job() {
    let story = given([
        added(NATIVE, ["a", "b"]),
        planned(NATIVE, 0, ["a", "b"]),
        leased(0),
    ]);
    let attempt = story.attempt(0);
    let request = Request::Release {
        attempt,
        why: bad(),
        culprits: vec![mark("b", "torn"), mark("b", "again"), mark("a@9", "not this one")],
    };
    let why = CancelReason::InputQuarantined(paths(["b"]));
    let story = story
        .when(request)
        .then([
            Event::RangeReleased { attempt, why: bad() },
            Event::JobCancelled { job: JobId(0), why },
            Event::FilesQuarantined {
                table: NATIVE.into(),
                files: vec![mark("b", "torn")],
            },
        ])
        .only_once()
        .go_on();
    let table = story.table(NATIVE);
    let free = table.view(&"".into(), story.state.time).files;
    assert_eq!(free.len(), 1, "the planner sees only the good one");
    story.when(add(NATIVE, Sequence(2), ["b"])).nothing();
}

#[test]
fn an_input_blamed_twice_for_having_changed_is_lost_once() {
    let story = given([
        added(NATIVE, ["a", "b"]),
        planned(NATIVE, 0, ["a", "b"]),
        leased(0),
    ]);
    let attempt = story.attempt(0);
    let request = Request::Release {
        attempt,
        why: ReleaseReason::InputsChanged,
        culprits: vec![mark("b", "404"), mark("b", "404")],
    };
    let told = story.when(request).replies(Reply::JobCancelled(JobId(0)));
    assert_eq!(told.go_on().live(NATIVE), paths(["a"]));
}

#[test]
fn retry_lifts_a_quarantine_and_an_overwrite_does_too() {
    let marked = Event::FilesQuarantined {
        table: PLACE.into(),
        files: vec![mark("a", "torn"), mark("b", "torn")],
    };
    let story = given([added(PLACE, ["a", "b"]), marked]);
    let retry = Request::Retry {
        table: PLACE.into(),
        paths: paths(["a"]),
    };
    let story = story
        .when(retry)
        .then([Event::QuarantineLifted {
            table: PLACE.into(),
            paths: paths(["a"]),
        }])
        .only_once()
        .go_on();
    let story = story.after(add(PLACE, Sequence(2), ["b@2"]));
    assert!(story.table(PLACE).quarantine.is_empty());
}

#[test]
fn a_file_quarantined_under_two_new_versions_is_lost_once() {
    let request = Request::QuarantineFiles {
        table: PLACE.into(),
        evidence: Sequence(2),
        files: vec![mark("a@2", "torn"), mark("a@3", "torn")],
    };
    let story = given([added(PLACE, ["a"])]).after(request);
    assert_eq!(story.live(PLACE), []);
}

#[test]
fn reasons_from_outside_are_cut_to_a_bound() {
    let long: String = "ü".repeat(10 * REASON_CHARS_MAX);
    let story = given([added(NATIVE, ["a"]), planned(NATIVE, 0, ["a"]), leased(0)]);
    let attempt = story.attempt(0);
    let why = ReleaseReason::NodeFault(long.as_str().into());
    let story = story.after(release(attempt, why));
    let kept = story.job(0).last_error.clone().unwrap();
    assert_eq!(kept.chars().count(), REASON_CHARS_MAX);
}

#[test]
fn without_room_for_halves_a_failing_job_stays_open() {
    let names: Vec<String> = (0..OPEN_JOBS_AND_HALVES_MAX - 2)
        .map(|n| format!("f{n:05}"))
        .collect();
    let mut state = given([added(NATIVE, ["a", "b"]), planned(NATIVE, 0, ["a", "b"])]).state;
    for (name, job) in names.iter().zip(1..) {
        for event in [added(NATIVE, [name]), planned(NATIVE, job, [name])] {
            crate::apply::apply_event(&mut state, &event);
        }
    }
    state.open_batch(None);
    for _ in 0..INPUT_FAULTS_MAX + 1 {
        crate::apply::apply_event(&mut state, &leased(0));
        let lease = state.jobs[&JobId(0)]
            .range(RangeId::Keys(0))
            .unwrap()
            .lease()
            .cloned();
        let attempt = crate::names::Attempt {
            job: JobId(0),
            range: RangeId::Keys(0),
            token: lease.unwrap().token,
        };
        let decision = crate::decide(&state, &release(attempt, bad()));
        for event in &decision.events {
            crate::apply::apply_event(&mut state, event);
        }
        assert_eq!(crate::invariants::broken(&state).len(), 0);
        assert!(state.jobs.contains_key(&JobId(0)), "it is tried again");
    }
}
