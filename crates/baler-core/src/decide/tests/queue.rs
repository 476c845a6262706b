//! A full queue, jobs that are ended on purpose, and stores that fail.

use super::fixtures::*;
use super::story::{Story, given};
use crate::apply::apply_event;
use crate::event::{Event, ReleaseReason};
use crate::ids::{JobId, RangeId};
use crate::job::CancelReason;
use crate::limits::{
    OPEN_JOBS_MAX, OPEN_JOBS_RESERVED, SHED_PUT_OFF, STORE_BACKOFF_FIRST, STORE_BACKOFF_MAX,
};
use crate::request::{Refusal, Request, Scope};
use crate::scheduler::{backed_off_for, free_ranges};
use crate::state::State;
use crate::time::Millis;

/// As many jobs as may be open, each of one file; and two more files that want to be a job.
fn full() -> State {
    let mut state = given([added(KEYED, ["x", "y"])]).state;
    for job in 0..OPEN_JOBS_MAX as u64 {
        let name = format!("f{job:05}");
        apply_event(&mut state, &added(NATIVE, [&name]));
        apply_event(&mut state, &planned(NATIVE, job, [&name]));
    }
    state.open_batch(None);
    state
}

fn job_mut(state: &mut State, job: u64) -> &mut crate::job::Job {
    std::sync::Arc::make_mut(state.jobs.get_mut(&JobId(job)).unwrap())
}

fn decide_poll(state: &State) -> Vec<Event> {
    crate::decide(state, &poll(CHIEF, 1)).events
}

fn shed_job(events: &[Event]) -> Option<u64> {
    events.iter().find_map(|event| match event {
        Event::JobCancelled {
            job,
            why: CancelReason::Shed { .. },
        } => Some(job.0),
        _ => None,
    })
}

/// What is leased leaves nothing free, so that the poll has a reason to plan.
fn all_leased(state: &mut State, except: &[u64]) {
    let jobs = (0..OPEN_JOBS_MAX as u64).filter(|job| !except.contains(job));
    for job in jobs.collect::<Vec<_>>() {
        apply_event(state, &leased_by(job, RangeId::Keys(0), CHIEF));
    }
}

#[test]
fn a_queue_of_healthy_jobs_lets_nothing_in() {
    let mut state = full();
    all_leased(&mut state, &[]);
    let events = decide_poll(&state);
    let enters = |event: &Event| matches!(event, Event::JobPlanned { .. } | Event::JobCancelled { .. });
    assert!(!events.iter().any(enters), "{events:?}");
}

#[test]
fn the_job_that_fails_most_makes_room_and_is_listed() {
    let mut state = full();
    for (job, faults) in [(3, 1), (4, 5), (5, 9), (6, 2)] {
        job_mut(&mut state, job).input_faults = faults;
        job_mut(&mut state, job).last_error = Some("bad page".into());
    }
    all_leased(&mut state, &[3, 4, 6]);
    for job in [3, 4, 6] {
        let backoff = crate::job::Backoff {
            store_faults: 1,
            since: state.sequence,
        };
        job_mut(&mut state, job).ranges[0].backoff = Some(backoff);
    }
    let events = decide_poll(&state);
    assert_eq!(shed_job(&events), Some(4), "job 5 fails more, but it is leased");
    for event in &events {
        apply_event(&mut state, event);
    }
    assert_eq!(crate::invariants::broken(&state).len(), 0);
    let listed = state.recent.back().unwrap();
    let why = CancelReason::Shed {
        input_faults: 5,
        last_error: Some("bad page".into()),
    };
    assert_eq!((listed.id, listed.cancelled.clone()), (JobId(4), Some(why)));
    let put_off = &state.tables[&crate::ids::TableName::from(NATIVE)].put_off[&path("f00004")];
    assert_eq!((put_off.job, put_off.lasts), (JobId(4), Some(SHED_PUT_OFF)));
    assert_eq!(state.jobs.len(), OPEN_JOBS_MAX);
    let newest = &state.jobs.get_max().unwrap().1;
    assert_eq!(newest.table, KEYED.into(), "and another got in");
}

#[test]
fn a_compacted_job_never_makes_room() {
    let mut state = full();
    all_leased(&mut state, &[7]);
    job_mut(&mut state, 7).input_faults = 3;
    job_mut(&mut state, 7).status = crate::job::JobStatus::Compacted;
    job_mut(&mut state, 7).publish.backoff = Some(crate::job::Backoff {
        store_faults: 4,
        since: state.sequence,
    });
    assert_eq!(shed_job(&decide_poll(&state)), None);
}

#[test]
fn one_tenants_full_queue_is_not_everybodys() {
    let mut state = full();
    all_leased(&mut state, &[]);
    let spec = crate::table::TableSpec {
        tenant: Some("tenant".into()),
        ..crate::table::TableSpec::clone(&state.tables[&crate::ids::TableName::from(NATIVE)].spec)
    };
    let table = Event::TableCreated {
        table: "tenanted".into(),
        spec: spec.into(),
    };
    apply_event(&mut state, &table);
    for tenant in 0..OPEN_JOBS_RESERVED + 2 {
        let in_tenant = |name: &str| {
            let mut made = crate::file::File::clone(&file(&format!("{tenant}/{name}")));
            made.partition = format!("tenant={tenant:05}").as_str().into();
            std::sync::Arc::new(made)
        };
        let files = vec![in_tenant("a"), in_tenant("b")];
        let table = "tenanted".into();
        apply_event(&mut state, &Event::FilesAdded { table, files });
    }
    let request = poll(CHIEF, OPEN_JOBS_RESERVED + 2);
    for event in crate::decide(&state, &request).events {
        apply_event(&mut state, &event);
    }
    assert_eq!(state.jobs.len(), OPEN_JOBS_MAX + OPEN_JOBS_RESERVED);
    assert_eq!(crate::invariants::broken(&state).len(), 0);
}

#[test]
fn what_made_room_is_planned_again_later() {
    let put_off = Event::FilesPutOff {
        table: NATIVE.into(),
        paths: paths(["a", "b"]),
        job: JobId(0),
        lasts: Some(SHED_PUT_OFF),
        reason: "shed".into(),
    };
    let story = given([added(NATIVE, ["a", "b"]), put_off]);
    story.clone().when(poll(CHIEF, 1)).nothing();
    let story = story.later(SHED_PUT_OFF).after(poll(CHIEF, 1));
    assert_eq!(story.state.jobs.len(), 1);
    assert!(story.table(NATIVE).put_off.is_empty());
}

#[test]
fn a_cancelled_job_is_not_planned_again_before_somebody_asks() {
    let story = given([added(NATIVE, ["a", "b"])]).after(poll(CHIEF, 1));
    let story = story.when(Request::Cancel(JobId(0))).only_once().go_on();
    let story = story.later(Millis(u64::MAX / 4));
    story.clone().when(poll(CHIEF, 1)).nothing();
    // Others are, and do not take them along.
    let others = story
        .clone()
        .and([added(NATIVE, ["c", "d"])])
        .after(poll(CHIEF, 1));
    let inputs: Vec<_> = others
        .job(1)
        .inputs
        .iter()
        .map(|input| input.path.clone())
        .collect();
    assert_eq!(inputs, paths(["c", "d"]));
    let retry = Request::Retry {
        table: NATIVE.into(),
        paths: paths(["a", "b"]),
    };
    let story = story.when(retry).only_once().go_on().after(poll(CHIEF, 1));
    assert_eq!(story.job(1).inputs.len(), 2);
}

#[test]
fn only_an_open_job_can_be_cancelled() {
    let story = given([added(PLACE, ["a", "b"]), planned(PLACE, 0, ["a", "b"]), leased(0)]);
    story
        .clone()
        .when(Request::Cancel(JobId(9)))
        .refused(Refusal::NoSuchJob(JobId(9)));
    let attempt = story.attempt(0);
    let cancelled = story.clone().after(Request::Cancel(JobId(0)));
    cancelled
        .when(release(attempt, ReleaseReason::Drained))
        .refused(Refusal::NoSuchLease {
            job: JobId(0),
            range: RangeId::Keys(0),
        });
    let done = Request::Finish(finish(story.job(0), &attempt));
    story
        .after(done)
        .when(Request::Cancel(JobId(0)))
        .refused(Refusal::TooLate(JobId(0)));
}

#[test]
fn a_put_off_file_that_leaves_is_forgotten() {
    let story = given([added(PLACE, ["a", "b"])]).after(poll(CHIEF, 1));
    let story = story.after(Request::Cancel(JobId(0)));
    let seen = story.state.sequence;
    let story = story.and([Event::Ticked]).after(add(PLACE, seen, ["a@2"]));
    let left: Vec<_> = story.table(PLACE).put_off.keys().cloned().collect();
    assert_eq!(left, paths(["b"]));
}

fn store_fault(story: Story, job: u64) -> Story {
    let story = story.and([leased(job)]);
    let attempt = story.attempt(job);
    story.after(release(attempt, ReleaseReason::StoreFault("503".into())))
}

fn free(story: &Story) -> usize {
    free_ranges(&story.state, &Scope::default()).len()
}

#[test]
fn after_a_store_fault_the_range_rests_and_the_job_is_not_blamed() {
    let story = given([added(NATIVE, ["a", "b"]), planned(NATIVE, 0, ["a", "b"])]);
    let story = store_fault(story, 0);
    assert_eq!((free(&story), story.job(0).input_faults), (0, 0));
    story.clone().when(poll(CHIEF, 1)).nothing();
    assert_eq!(
        backed_off_for(&story.state, &Scope::default()),
        Some(STORE_BACKOFF_FIRST),
        "whoever has nothing else to do is told how long to wait"
    );
    let story = story.later(STORE_BACKOFF_FIRST);
    assert_eq!(
        (free(&story), backed_off_for(&story.state, &Scope::default())),
        (1, None)
    );
    story
        .when(poll(CHIEF, 1))
        .then([leased_by(0, RangeId::Keys(0), CHIEF)]);
}

#[test]
fn back_offs_double_up_to_a_bound() {
    let mut story = given([added(NATIVE, ["a", "b"]), planned(NATIVE, 0, ["a", "b"])]);
    let mut lengths = Vec::new();
    for _ in 0..12 {
        story = store_fault(story, 0);
        let wait = backed_off_for(&story.state, &Scope::default()).unwrap();
        lengths.push(wait.0);
        story = story.later(wait);
        assert_eq!(
            free(&story),
            1,
            "however often the store failed, it is tried again"
        );
    }
    assert_eq!(lengths[..4], [1_000, 2_000, 4_000, 8_000]);
    assert_eq!(lengths[11], STORE_BACKOFF_MAX.0);
}

#[test]
fn any_other_end_of_an_attempt_ends_the_back_off() {
    for why in [
        ReleaseReason::Drained,
        ReleaseReason::NodeFault("no space".into()),
    ] {
        let story = given([added(NATIVE, ["a", "b"]), planned(NATIVE, 0, ["a", "b"])]);
        let story = store_fault(story, 0).later(STORE_BACKOFF_FIRST).and([leased(0)]);
        let attempt = story.attempt(0);
        let story = story.after(release(attempt, why));
        assert_eq!(free(&story), 1);
        let story = store_fault(story, 0);
        let wait = backed_off_for(&story.state, &Scope::default());
        assert_eq!(wait, Some(STORE_BACKOFF_FIRST));
    }
}
