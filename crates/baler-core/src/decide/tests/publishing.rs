//! Outputs of plain tables reach their final names before the job counts as committed.

use super::fixtures::*;
use super::story::{Story, given};
use crate::event::{Event, ReleaseReason};
use crate::file::FilePath;
use crate::garbage::Stage;
use crate::ids::{JobId, RangeId, Sequence};
use crate::job::{CancelReason, JobStatus};
use crate::lease::HostLock;
use crate::names::{self, Attempt};
use crate::request::{Grant, Refusal, Reply, Request};

/// Merged, and now being published.
fn publishing(table: &str) -> Story {
    let (a, b) = if table == OUTPUT {
        ("src:a", "src:b")
    } else {
        ("a", "b")
    };
    let story = given([added(table, [a, b]), planned(table, 0, [a, b]), leased(0)]);
    let request = Request::Finish(finish(story.job(0), &story.attempt(0)));
    story.after(request)
}

fn output(story: &Story) -> FilePath {
    story.job(0).outputs().next().unwrap().path.clone()
}

fn lost_outputs(story: &Story) -> Request {
    Request::Publish {
        job: JobId(0),
        token: story.publish_token(0),
        identities: vec![None],
    }
}

#[test]
fn whoever_finished_the_last_range_publishes() {
    let story = given([added(PLACE, ["a"]), planned(PLACE, 0, ["a"]), leased(0)]);
    let request = Request::Finish(finish(story.job(0), &story.attempt(0)));
    let told = story.when(request);
    let events = told.decision.events.clone();
    assert_eq!(events[1], Event::JobCompacted { job: JobId(0) });
    assert_eq!(events[2], leased_by(0, RangeId::Publish, LONER));
    let Reply::Finished {
        publish: Some(Grant { token, .. }),
        committed: None,
    } = told.decision.reply.clone()
    else {
        panic!("nothing to publish")
    };
    assert_eq!(told.go_on().publish_token(0), token);
}

#[test]
fn publishing_commits_and_only_then_are_inputs_set_aside() {
    let story = publishing(PLACE);
    assert!(story.state.garbage.is_empty());
    let token = story.publish_token(0);
    let story = story
        .when(publish(0, token))
        .then([
            Event::JobPublished {
                job: JobId(0),
                token,
                identities: vec![published()],
            },
            Event::JobCommitted { job: JobId(0) },
        ])
        .only_once()
        .go_on();
    let aside = &story.state.garbage[&names::aside(JobId(0), 0)];
    assert_eq!(aside.stage, Stage::ToSetAside);
    assert_eq!(aside.original.as_ref().unwrap().path, path("a"));
}

#[test]
fn a_publish_that_came_twice_is_a_success_twice() {
    let story = publishing(PLACE);
    let request = publish(0, story.publish_token(0));
    let first = story.when(request.clone());
    let reply = first.decision.reply.clone();
    first.go_on().when(request).nothing().replies(reply);
}

#[test]
fn the_source_of_an_output_table_is_never_touched() {
    let story = publishing(OUTPUT);
    let token = story.publish_token(0);
    let story = story.after(publish(0, token));
    assert!(story.state.garbage.is_empty());
}

#[test]
fn no_job_takes_outputs_that_are_not_published() {
    let story = publishing(PLACE);
    let table = story.table(PLACE);
    assert!(table.view(&"".into(), story.state.time).files.is_empty());
}

#[test]
fn outputs_lost_before_they_are_published_give_the_inputs_back() {
    let story = publishing(PLACE);
    let (request, output) = (lost_outputs(&story), output(&story));
    let why = CancelReason::OutputsLost(vec![output.clone()]);
    let story = story
        .when(request)
        .then([
            Event::JobCancelled { job: JobId(0), why },
            due(PLACE, [&output.path]),
        ])
        .only_once()
        .go_on();
    let table = story.table(PLACE);
    let live: Vec<_> = table.files.keys().cloned().collect();
    assert_eq!(live, paths(["a", "b"]));
    assert!(table.consumed.is_empty() && table.held.is_empty());
}

#[test]
fn inputs_seen_to_be_gone_are_not_given_back() {
    let story = publishing(PLACE);
    let evidence = story.state.sequence;
    let story = story.after(lose(PLACE, evidence, ["a"]));
    let request = lost_outputs(&story);
    let story = story.after(request);
    assert_eq!(story.live(PLACE), paths(["b"]));
}

#[test]
fn every_output_is_accounted_for() {
    let story = publishing(PLACE);
    for identities in [vec![], vec![Some(published()), None], vec![None, None]] {
        let request = Request::Publish {
            job: JobId(0),
            token: story.publish_token(0),
            identities,
        };
        story.clone().when(request).nothing().not_proved("accounted");
    }
}

#[test]
fn an_output_of_another_length_is_not_the_one_that_was_written() {
    let story = publishing(PLACE);
    let request = Request::Publish {
        job: JobId(0),
        token: story.publish_token(0),
        identities: vec![Some(version("short"))],
    };
    story.when(request).replies(Reply::JobCancelled(JobId(0)));
}

#[test]
fn publishing_counts_only_under_the_present_token() {
    let story = publishing(PLACE);
    let old = story.attempt_at(0, RangeId::Publish);
    let request = publish(0, old.token);
    let story = story.after(release(old, ReleaseReason::Drained));
    let refusal = Refusal::NoSuchLease {
        job: JobId(0),
        range: RangeId::Publish,
    };
    let story = story.when(request.clone()).refused(refusal.clone()).go_on();
    let story = story.after(poll(CHIEF, 1));
    story.when(request).refused(refusal);
}

#[test]
fn a_job_being_published_is_beyond_cancelling_and_blaming() {
    let story = publishing(PLACE);
    story
        .clone()
        .when(Request::Cancel(JobId(0)))
        .refused(Refusal::TooLate(JobId(0)));
    let mut story = story;
    for _ in 0..3 {
        let attempt = story.attempt_at(0, RangeId::Publish);
        let blame = Request::Release {
            attempt,
            why: ReleaseReason::InputFault("bad".into()),
            culprits: vec![mark("a", "bad")],
        };
        story = story.after(blame).after(poll(LONER, 1));
    }
    assert_eq!(story.job(0).status, JobStatus::Compacted);
}

#[test]
fn publishing_goes_before_merging() {
    let story = publishing(PLACE).and([added(PLACE, ["c"]), planned(PLACE, 1, ["c"])]);
    let attempt: Attempt = story.attempt_at(0, RangeId::Publish);
    let story = story.after(release(attempt, ReleaseReason::Drained));
    story
        .when(poll(CHIEF, 1))
        .then([leased_by(0, RangeId::Publish, CHIEF)]);
}

#[test]
fn the_watchers_lock_file_is_known_while_it_publishes() {
    let host = HostLock {
        boot: "boot".into(),
        lock: "lock".into(),
    };
    let Event::RangeLeased {
        job,
        range,
        worker,
        watcher,
        ..
    } = leased(0)
    else {
        unreachable!("it is a lease")
    };
    let leased = Event::RangeLeased {
        job,
        range,
        worker,
        watcher,
        embedded: true,
        host: Some(host.clone()),
        tenant: None,
        isolates: false,
    };
    let story = given([added(PLACE, ["a"]), planned(PLACE, 0, ["a"]), leased]);
    let request = Request::Finish(finish(story.job(0), &story.attempt(0)));
    let story = story.after(request);
    assert_eq!(story.state.watchers[&LONER].host, Some(host));
}

#[test]
fn a_file_overwritten_while_its_job_is_published_is_new_data() {
    let story = publishing(PLACE);
    let evidence = story.state.sequence;
    assert!(evidence > Sequence(2));
    let story = story
        .when(add(PLACE, evidence, ["a@2"]))
        .then([added(PLACE, ["a@2"])])
        .go_on();
    let token = story.publish_token(0);
    let story = story.after(publish(0, token));
    let nothing = Request::ReportAside {
        moved: vec![],
        nothing: vec![names::aside(JobId(0), 0)],
    };
    let story = story.after(nothing);
    assert!(story.table(PLACE).files.contains_key(&path("a")));
}

#[test]
fn a_404_from_before_it_was_published_does_not_let_an_output_go() {
    let story = publishing(PLACE);
    let (evidence, output) = (story.state.sequence, output(&story));
    let token = story.publish_token(0);
    let story = story.after(publish(0, token));
    let gone = Request::LoseFiles {
        table: PLACE.into(),
        evidence,
        paths: vec![output],
    };
    story.when(gone).nothing();
}
