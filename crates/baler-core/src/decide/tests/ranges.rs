//! A large job is cut into ranges that different workers merge. What one of them finished stays finished, and the
//! commit is proved over all of them together.

use super::fixtures::*;
use super::story::{Story, given};
use crate::event::{Event, ReleaseReason};
use crate::file::Digest;
use crate::ids::{JobId, RangeId, WatcherId};
use crate::job::{CancelReason, Finished, JobStatus};
use crate::limits::{EDGE_BYTES_MAX, INPUT_FAULTS_MAX, RANGES_MAX, STORE_BACKOFF_FIRST};
use crate::names::Attempt;
use crate::positions::Positions;
use crate::range::{Edge, Span};
use crate::request::{Finish, Grant, Poll, Refusal, Reply, Request, Scope};
use crate::scheduler::free_ranges;

const EDGES: [&str; 2] = ["g", "p"];

fn merging(table: &str) -> Story {
    given([added(table, ["a", "b"]), planned(table, 0, ["a", "b"]), leased(0)])
}

fn cut(attempt: Attempt, edges: &[&str]) -> Request {
    Request::CutJob {
        attempt,
        edges: edges.iter().map(|edge| edge.as_bytes().to_vec()).collect(),
    }
}

/// A job of three ranges, the first of them leased by whoever cut it.
fn in_three(table: &str) -> Story {
    let story = merging(table);
    let attempt = story.attempt(0);
    story.after(cut(attempt, &EDGES))
}

fn keys(range: u32) -> RangeId {
    RangeId::Keys(range)
}

/// All three ranges are being worked on, each for another watcher.
fn all_leased(table: &str) -> Story {
    in_three(table).and([leased_by(0, keys(1), CHIEF), leased_by(0, keys(2), DEPUTY)])
}

/// What a range makes that read so many rows of each input: those behind what others have read.
fn read(story: &Story, range: u32, rows: [u64; 2]) -> Finish {
    let attempt = story.attempt_at(0, keys(range));
    let mut finish = finish(story.job(0), &attempt);
    let Finished { reads, outputs, .. } = &mut finish.finished;
    for (input, (read, rows)) in reads.iter_mut().zip(rows).enumerate() {
        let before = story
            .job(0)
            .finished()
            .map(|(_, finished)| finished.reads[input].rows);
        let before: u64 = before.sum();
        read.rows = rows;
        read.positions = Some(Positions::of(before..before + rows));
        read.digest = Digest(u128::from(rows) * 1_000);
    }
    outputs[0].rows = rows.iter().sum();
    outputs[0].digest = reads.iter().map(|read| read.digest).sum();
    finish
}

fn after_reading(story: Story, range: u32, rows: [u64; 2]) -> Story {
    let finish = read(&story, range, rows);
    story.after(Request::Finish(finish))
}

fn free(story: &Story) -> Vec<RangeId> {
    let free = free_ranges(&story.state, &Scope::default());
    free.into_iter().map(|(_, range)| range).collect()
}

fn edge(text: &str) -> Edge {
    Edge(text.as_bytes().into())
}

#[test]
fn a_cut_leaves_the_first_range_to_its_worker_and_the_others_to_anybody() {
    let story = merging(NATIVE);
    let attempt = story.attempt(0);
    let cut_event = Event::JobCut {
        job: JobId(0),
        edges: EDGES.map(edge).to_vec(),
    };
    let told = story.when(cut(attempt, &EDGES)).then([cut_event]).only_once();
    let Reply::Cut(grant) = told.decision.reply.clone() else {
        panic!("not cut")
    };
    assert_eq!(grant.attempt(), attempt, "the lease stays");
    let until = |until: &str| Some(edge(until));
    let first = Span {
        from: None,
        until: until("g"),
    };
    assert_eq!(*grant.span(), first);

    let told = told.go_on().when(poll(CHIEF, 5));
    let Reply::Granted(grants) = &told.decision.reply else {
        panic!("nothing granted")
    };
    let spans: Vec<(RangeId, Span)> = grants
        .iter()
        .map(|grant: &Grant| (grant.range, grant.span().clone()))
        .collect();
    let second = Span {
        from: until("g"),
        until: until("p"),
    };
    let third = Span {
        from: until("p"),
        until: None,
    };
    assert_eq!(spans, [(keys(1), second), (keys(2), third)]);
}

#[test]
fn a_key_lies_in_exactly_one_span() {
    let spans = Span::cut(&EDGES.map(edge));
    for (key, place) in [
        ("", 0),
        ("a", 0),
        ("fz", 0),
        ("g", 1),
        ("ga", 1),
        ("p", 2),
        ("z", 2),
    ] {
        let holding: Vec<usize> = (0..3).filter(|at| spans[*at].holds(key.as_bytes())).collect();
        assert_eq!(holding, [place], "{key}");
    }
}

#[test]
fn only_the_present_lease_may_cut() {
    let story = merging(NATIVE);
    let zombie = story.attempt(0);
    let refusal = Refusal::NoSuchLease {
        job: JobId(0),
        range: keys(0),
    };
    let story = story.after(release(zombie, ReleaseReason::Stalled));
    story.clone().when(cut(zombie, &EDGES)).refused(refusal.clone());
    let story = story.and([leased_by(0, keys(0), CHIEF)]);
    story.when(cut(zombie, &EDGES)).refused(refusal);
}

#[track_caller]
fn cannot_cut(story: Story, request: Request, because: &str) {
    let told = story.when(request).nothing();
    match told.decision.reply {
        Reply::Refused(Refusal::CannotCut { why, .. }) => assert!(why.contains(because), "{why}"),
        other => panic!("not refused, but {other:?}"),
    }
}

#[test]
fn a_job_is_cut_once() {
    let story = all_leased(NATIVE);
    let first = story.attempt(0);
    story.clone().when(cut(first, &EDGES)).nothing();
    cannot_cut(story.clone(), cut(first, &["h"]), "already");
    let second = story.attempt_at(0, keys(1));
    for edges in [&EDGES[..], &["h"]] {
        cannot_cut(story.clone(), cut(second, edges), "already");
    }
}

#[test]
fn what_is_being_published_is_not_cut() {
    let story = merging(PLACE);
    let finish = finish(story.job(0), &story.attempt(0));
    let story = story.after(Request::Finish(finish));
    let publishing = story.attempt_at(0, RangeId::Publish);
    cannot_cut(story, cut(publishing, &EDGES), "merged");
}

#[test]
fn edges_are_ascending_and_bounded() {
    let story = merging(NATIVE);
    let attempt = story.attempt(0);
    let long = "x".repeat(EDGE_BYTES_MAX + 1);
    let many: Vec<String> = (0..RANGES_MAX).map(|number| format!("{number:04}")).collect();
    let many: Vec<&str> = many.iter().map(String::as_str).collect();
    let cases: [(&[&str], &str); 6] = [
        (&[], "no edge"),
        (&["", "g"], "empty"),
        (&["p", "g"], "ascending"),
        (&["g", "g"], "ascending"),
        (&[&long], "bytes"),
        (&many, "ranges"),
    ];
    for (edges, because) in cases {
        cannot_cut(story.clone(), cut(attempt, edges), because);
    }
    let story = story.after(cut(attempt, &many[1..]));
    assert_eq!(story.job(0).ranges.len(), RANGES_MAX);
}

#[test]
fn the_last_range_to_finish_commits_and_outputs_stand_in_key_order() {
    let story = all_leased(NATIVE);
    let story = after_reading(story, 2, [3, 4]);
    let story = after_reading(story, 0, [7, 0]);
    assert_eq!(
        story.live(NATIVE),
        paths(["a", "b"]),
        "nothing is visible before the last"
    );
    let last = read(&story, 1, [0, 6]);
    let token_order: Vec<_> = {
        let job = story.job(0);
        let mut tokens: Vec<_> = job
            .finished()
            .map(|(range, finished)| (range, finished.token))
            .collect();
        tokens.insert(1, (keys(1), last.finished.token));
        tokens.into_iter().map(|(_, token)| token).collect()
    };
    let told = story.when(Request::Finish(last)).only_once();
    let Reply::Finished {
        committed: Some(summary),
        publish: None,
    } = told.decision.reply.clone()
    else {
        panic!("not committed")
    };
    assert_eq!((summary.files_out, summary.rows_out), (3, 2 * ROWS));
    assert_eq!(summary.finished_by, token_order);
    let story = told.go_on();
    assert_eq!(story.live(NATIVE).len(), 3);
    assert!(story.state.watchers.is_empty());
}

#[test]
fn whoever_finishes_the_last_range_publishes_the_outputs_of_all() {
    let finish = |story: &Story, range, rows| Finish {
        inputs_now: Some(vec![Some(version("1")), Some(version("1"))]),
        ..read(story, range, rows)
    };
    let mut story = all_leased(PLACE);
    for (range, rows) in [(1, [4, 4]), (2, [3, 3]), (0, [3, 3])] {
        let finish = finish(&story, range, rows);
        story = story.after(Request::Finish(finish));
    }
    let job = story.job(0);
    assert_eq!(job.status, JobStatus::Compacted);
    assert_eq!(job.publish.lease().map(|lease| lease.watcher), Some(LONER));
    let ranges: Vec<String> = job.outputs().map(|output| output.path.to_string()).collect();
    for (range, path) in ranges.iter().enumerate() {
        assert!(
            path.contains(&format!("-0-{range}-")),
            "{path} is not of range {range}"
        );
    }
    let request = Request::Publish {
        job: JobId(0),
        token: story.publish_token(0),
        identities: vec![Some(published()); 3],
    };
    assert_eq!(story.after(request).live(PLACE).len(), 3);
}

/// A look at every input for every range would cost more requests than it is worth: the last one says it for all.
#[test]
fn only_the_last_range_has_to_look_at_the_inputs_again() {
    let blind = |story: &Story, range, rows| Finish {
        inputs_now: None,
        ..read(story, range, rows)
    };
    let mut story = all_leased(PLACE);
    for (range, rows) in [(1, [4, 4]), (2, [3, 3])] {
        let blind = blind(&story, range, rows);
        story = story.after(Request::Finish(blind));
    }
    assert_eq!(story.job(0).finished().count(), 2);
    let last = blind(&story, 0, [3, 3]);
    story
        .clone()
        .when(Request::Finish(last))
        .nothing()
        .refused(Refusal::InputsUnseen(JobId(0)));
    let changed = Finish {
        inputs_now: Some(vec![Some(version("1")), Some(version("2"))]),
        ..read(&story, 0, [3, 3])
    };
    let told = story.when(Request::Finish(changed));
    assert_eq!(told.decision.reply, Reply::JobCancelled(JobId(0)));
}

/// Trap: a row that one range lost and another that two ranges read leave every count as it was.
#[test]
fn a_lost_row_does_not_make_up_for_a_doubled_one() {
    let story = after_reading(all_leased(NATIVE), 0, [4, 4]);
    let story = after_reading(story, 1, [3, 3]);
    let right = read(&story, 2, [3, 3]);
    let mut astray = right.clone();
    astray.finished.reads[1].positions = Some(Positions::of(6..9));
    let told = story
        .clone()
        .when(Request::Finish(astray))
        .not_proved("not each of them once");
    assert!(told.go_on().live(NATIVE).contains(&paths(["a"])[0]));
    let mut silent = right.clone();
    silent.finished.reads[0].positions = None;
    story
        .clone()
        .when(Request::Finish(silent))
        .not_proved("does not say which");
    assert_eq!(story.after(Request::Finish(right)).live(NATIVE).len(), 3);
}

/// Every range is right in itself: only the sum shows it.
#[test]
fn a_key_that_fell_into_no_range_or_into_two_is_refused() {
    for wrong in [[2, 3], [4, 3], [3, 4]] {
        let story = after_reading(all_leased(NATIVE), 0, [4, 4]);
        let story = after_reading(story, 1, [3, 3]);
        let outputs: Vec<String> = story
            .job(0)
            .outputs()
            .map(|output| output.path.to_string())
            .collect();
        let last = read(&story, 2, wrong);
        let told = story
            .when(Request::Finish(last))
            .not_proved("in its footer")
            .only_once();
        let story = told.go_on();
        assert_eq!(story.live(NATIVE), paths(["a", "b"]));
        assert_eq!(story.state.recent[0].status, JobStatus::Cancelled);
        for output in outputs {
            assert!(
                story.state.garbage.contains_key(&path(&output)),
                "{output} is on no list"
            );
        }
    }
}

#[test]
fn digests_add_up_over_ranges() {
    let story = merging(NATIVE);
    let first = finish(story.job(0), &story.attempt(0));
    let output = first.finished.outputs[0].clone();
    let story = story.after(Request::Finish(first));
    let name = output.path.to_string();
    let story = story.and([planned(NATIVE, 1, [name.as_str()]), leased(1)]);
    let attempt = story.attempt(1);
    let story = story
        .after(cut(attempt, &["m"]))
        .and([leased_by(1, keys(1), CHIEF)]);
    let half = |story: &Story, range, digest| {
        let mut half = finish(story.job(1), &story.attempt_at(1, keys(range)));
        half.finished.reads[0].rows = ROWS;
        half.finished.reads[0].digest = digest;
        let begin = u64::from(range) * ROWS;
        half.finished.reads[0].positions = Some(Positions::of(begin..begin + ROWS));
        half.finished.outputs[0].rows = ROWS;
        half.finished.outputs[0].digest = digest;
        Request::Finish(half)
    };
    let low = half(&story, 0, Digest(5));
    let story = story.after(low);
    let rest = output.digest.0.wrapping_sub(5);
    let wrong = half(&story, 1, Digest(rest + 1));
    story
        .clone()
        .when(wrong)
        .not_proved("not those that were written");
    let right = half(&story, 1, Digest(rest));
    assert_eq!(
        story.after(right).state.recent.back().unwrap().status,
        JobStatus::Committed
    );
}

#[test]
fn a_finished_range_is_never_merged_again() {
    let story = after_reading(all_leased(NATIVE), 1, [4, 4]);
    let (done, lost) = (story.job(0).ranges[1].clone(), story.attempt_at(0, keys(2)));
    let story = story.after(release(lost, ReleaseReason::Drained));
    assert_eq!(free(&story), [keys(2)]);
    let story = story.after(poll(LONER, 5));
    assert_eq!(story.job(0).ranges[1], done);
    let zombie = Finish {
        range: keys(2),
        ..read(&story, 0, [3, 3])
    };
    let zombie = Finish {
        finished: Finished {
            token: lost.token,
            ..zombie.finished
        },
        ..zombie
    };
    story
        .clone()
        .when(Request::Finish(zombie))
        .refused(Refusal::NoSuchLease {
            job: JobId(0),
            range: keys(2),
        });
    let story = after_reading(story, 2, [3, 3]);
    let story = after_reading(story, 0, [3, 3]);
    assert_eq!(story.state.recent[0].status, JobStatus::Committed);
    let left: Vec<_> = story
        .state
        .leftovers
        .values()
        .map(|left| left.attempt.range)
        .collect();
    assert!(left.contains(&keys(2)), "the lost attempt is swept");
}

#[test]
fn a_range_that_fails_on_its_input_counts_against_the_job() {
    let mut story = after_reading(all_leased(NATIVE), 1, [4, 4]);
    let output = story.job(0).outputs().next().unwrap().path.clone();
    for range in [0, 2].into_iter().cycle().take(INPUT_FAULTS_MAX as usize) {
        let attempt = story.attempt_at(0, keys(range));
        story = story.after(release(attempt, ReleaseReason::InputFault("bad page".into())));
    }
    assert_eq!(story.state.recent[0].cancelled, Some(CancelReason::Bisected));
    assert!(
        story.state.garbage.contains_key(&output),
        "what was finished belongs to nobody now"
    );
    assert!(story.state.watchers.is_empty());
    assert!(
        story
            .state
            .jobs
            .values()
            .all(|half| half.ranges.len() == 1 && half.inputs.len() == 1)
    );
}

#[test]
fn a_cancelled_job_leaves_the_traces_of_all_its_ranges() {
    let story = after_reading(all_leased(NATIVE), 0, [4, 4]);
    let output = story.job(0).outputs().next().unwrap().path.clone();
    let running: Vec<Attempt> = [1, 2].map(|range| story.attempt_at(0, keys(range))).to_vec();
    let story = story.when(Request::Cancel(JobId(0))).only_once().go_on();
    assert!(story.state.garbage.contains_key(&output));
    assert!(story.state.watchers.is_empty());
    let left: Vec<Attempt> = story.state.leftovers.values().map(|left| left.attempt).collect();
    assert!(running.iter().all(|attempt| left.contains(attempt)));
    assert_eq!(left.len(), 3);
}

#[test]
fn a_dead_worker_loses_its_range_and_nobody_elses() {
    let story = all_leased(NATIVE);
    let story = story.after(Request::TakeOver {
        watcher: LONER,
        counter: story_counter(LONER, &all_leased(NATIVE)),
        by: DEPUTY,
    });
    assert_eq!(free(&story), [keys(0)]);
    assert_eq!(story.job(0).leases().count(), 2);
    story.when(poll(CHIEF, 3)).then([leased_by(0, keys(0), CHIEF)]);
}

fn story_counter(watcher: WatcherId, story: &Story) -> crate::ids::Sequence {
    story.state.watchers[&watcher].counter
}

#[test]
fn a_range_backs_off_alone() {
    let story = all_leased(NATIVE);
    let attempts = [1, 2].map(|range| story.attempt_at(0, keys(range)));
    let story = story
        .after(release(attempts[0], ReleaseReason::StoreFault("503".into())))
        .after(release(attempts[1], ReleaseReason::Drained));
    assert_eq!(free(&story), [keys(2)]);
    assert_eq!(free(&story.later(STORE_BACKOFF_FIRST)), [keys(1), keys(2)]);
}

#[test]
fn whoever_helps_begins_no_job() {
    let helping = Request::Poll(Poll {
        scope: Scope {
            jobs_left: Some(0),
            ..Scope::default()
        },
        ..a_poll(CHIEF, 1)
    });
    in_three(NATIVE)
        .when(helping)
        .then([leased_by(0, keys(1), CHIEF)]);
}
