//! Leases without clocks: counters that stand still, and tokens that are shown.

use super::fixtures::*;
use super::story::{Story, given};
use crate::event::{Event, ReleaseReason};
use crate::ids::{JobId, RangeId, Sequence, WatcherId};
use crate::lease::HostLock;
use crate::request::{Refusal, Reply, Request};

fn two_jobs() -> Story {
    given([
        added(NATIVE, ["a", "b"]),
        planned(NATIVE, 0, ["a"]),
        planned(NATIVE, 1, ["b"]),
    ])
}

fn granted_to(watcher: WatcherId) -> Story {
    two_jobs().and([leased_by(0, RangeId::Keys(0), watcher)])
}

fn counter(story: &Story, watcher: WatcherId) -> Sequence {
    story.state.watchers[&watcher].counter
}

fn take_over(watcher: WatcherId, counter: Sequence) -> Request {
    Request::TakeOver {
        watcher,
        counter,
        by: DEPUTY,
    }
}

#[test]
fn a_grant_is_a_lease_under_the_token_of_its_place_in_the_journal() {
    let told = two_jobs().when(poll(LONER, 2)).then([leased(0), leased(1)]);
    let Reply::Granted(grants) = told.decision.reply.clone() else {
        panic!("nothing granted")
    };
    let story = told.go_on();
    for grant in grants {
        assert_eq!(grant.attempt(), story.attempt(grant.job.id.0));
        assert_eq!(grant.token.sequence, story.state.sequence);
    }
}

#[test]
fn a_leased_range_is_not_granted_again() {
    granted_to(LONER)
        .when(poll(CHIEF, 5))
        .then([leased_by(1, RangeId::Keys(0), CHIEF)])
        .only_once();
}

#[test]
fn with_nothing_leased_a_watcher_writes_nothing() {
    two_jobs()
        .when(Request::Renew(CHIEF))
        .nothing()
        .replies(Reply::Done);
}

#[test]
fn a_renewal_raises_the_counter() {
    let story = granted_to(CHIEF);
    let before = counter(&story, CHIEF);
    let renewed = Event::WatcherRenewed { watcher: CHIEF };
    let story = story.when(Request::Renew(CHIEF)).then([renewed]).go_on();
    assert!(counter(&story, CHIEF) > before);
}

#[test]
fn an_idle_watcher_is_not_robbed_after_its_grant() {
    let story = granted_to(CHIEF);
    let seen = counter(&story, CHIEF);
    let attempt = story.attempt(0);
    let idle = story.after(release(attempt, ReleaseReason::Drained));
    idle.clone()
        .when(take_over(CHIEF, seen))
        .refused(Refusal::WatcherAlive(CHIEF));
    let busy = idle.after(poll(CHIEF, 1));
    busy.when(take_over(CHIEF, seen))
        .refused(Refusal::WatcherAlive(CHIEF));
}

#[test]
fn every_grant_counts_as_a_renewal() {
    let story = granted_to(CHIEF);
    let seen = counter(&story, CHIEF);
    let story = story.after(poll(CHIEF, 1));
    story
        .when(take_over(CHIEF, seen))
        .refused(Refusal::WatcherAlive(CHIEF));
}

#[test]
fn a_watcher_that_renewed_meanwhile_is_not_taken_over() {
    let story = granted_to(CHIEF);
    let seen = counter(&story, CHIEF);
    let story = story.after(Request::Renew(CHIEF));
    story
        .clone()
        .when(take_over(CHIEF, seen))
        .refused(Refusal::WatcherAlive(CHIEF));
    for guess in [Sequence(0), Sequence(u64::MAX)] {
        story
            .clone()
            .when(take_over(CHIEF, guess))
            .refused(Refusal::WatcherAlive(CHIEF));
    }
}

#[test]
fn nobody_takes_itself_over() {
    let story = granted_to(DEPUTY);
    let seen = counter(&story, DEPUTY);
    story
        .when(take_over(DEPUTY, seen))
        .refused(Refusal::WatcherAlive(DEPUTY));
}

#[test]
fn killing_a_coordinator_does_not_stop_its_workers() {
    let story = granted_to(CHIEF);
    let (seen, attempt) = (counter(&story, CHIEF), story.attempt(0));
    let taken = Event::WatcherTakenOver {
        watcher: CHIEF,
        by: DEPUTY,
    };
    let told = story.when(take_over(CHIEF, seen)).then([taken]).only_once();
    let story = told.go_on();
    assert_eq!(story.attempt(0), attempt, "the token stays");
    assert_eq!(
        counter(&story, DEPUTY),
        story.state.sequence,
        "counts as a renewal"
    );
    let request = Request::Finish(finish(story.job(0), &attempt));
    assert!(story.after(request).state.watchers.is_empty());
}

#[test]
fn a_worker_that_was_its_own_watcher_dies_with_it() {
    let story = granted_to(LONER);
    let (counter, attempt) = (counter(&story, LONER), story.attempt(0));
    let released = Event::RangeReleased {
        attempt,
        why: ReleaseReason::TakenOver,
    };
    let story = story
        .when(take_over(LONER, counter))
        .then([released])
        .only_once()
        .go_on();
    assert_eq!(story.job(0).input_faults, 0, "a take-over blames nobody");
    assert_eq!(story.state.leftovers.len(), 1);
}

/// Trap: a heartbeat without a condition revives a lease that somebody else has taken over.
#[test]
fn a_watcher_that_was_taken_over_revives_nothing_by_renewing() {
    for watcher in [LONER, CHIEF] {
        let story = granted_to(watcher);
        let seen = counter(&story, watcher);
        let story = story.after(take_over(watcher, seen));
        let story = story
            .when(Request::Renew(watcher))
            .nothing()
            .replies(Reply::Done)
            .go_on();
        assert!(!story.state.watchers.contains_key(&watcher));
    }
}

#[test]
fn a_worker_shows_its_token_to_another_watcher() {
    let story = granted_to(CHIEF);
    let (seen, attempt) = (counter(&story, CHIEF), story.attempt(0));
    let request = Request::Rewatch {
        watcher: DEPUTY,
        attempts: vec![attempt],
    };
    let rewatched = Event::LeasesRewatched {
        attempts: vec![attempt],
        watcher: DEPUTY,
    };
    let story = story.when(request).then([rewatched]).go_on();
    assert_eq!(counter(&story, DEPUTY), story.state.sequence);
    story
        .when(take_over(CHIEF, seen))
        .refused(Refusal::WatcherAlive(CHIEF));
}

#[test]
fn a_revoked_lease_is_not_revived_by_showing_it() {
    let story = granted_to(CHIEF);
    let attempt = story.attempt(0);
    let story = story.after(release(attempt, ReleaseReason::Stalled));
    story
        .when(Request::Rewatch {
            watcher: DEPUTY,
            attempts: vec![attempt],
        })
        .refused(Refusal::NoSuchLease {
            job: JobId(0),
            range: RangeId::Keys(0),
        });
}

#[test]
fn showing_nothing_writes_nothing() {
    let request = Request::Rewatch {
        watcher: DEPUTY,
        attempts: vec![],
    };
    two_jobs().when(request).nothing().replies(Reply::Done);
}

#[test]
fn a_worker_that_left_its_own_watcher_does_not_die_with_the_next() {
    let story = granted_to(LONER);
    let attempt = story.attempt(0);
    let story = story.after(Request::Rewatch {
        watcher: CHIEF,
        attempts: vec![attempt],
    });
    let seen = counter(&story, CHIEF);
    let story = story.after(take_over(CHIEF, seen));
    assert_eq!(story.attempt(0), attempt);
    assert_eq!(story.lease(0, RangeId::Keys(0)).watcher, DEPUTY);
}

#[test]
fn rewatching_ones_own_keeps_the_lock_file() {
    let mut story = granted_to(CHIEF);
    let host = HostLock {
        boot: "boot".into(),
        lock: "lock".into(),
    };
    let attempt = story.attempt(0);
    story.state.watchers[&CHIEF].host = Some(host.clone());
    let rewatched = Event::LeasesRewatched {
        attempts: vec![attempt],
        watcher: CHIEF,
    };
    crate::apply::apply_event(&mut story.state, &rewatched);
    assert_eq!(story.state.watchers[&CHIEF].host, Some(host));
}

#[test]
fn a_drained_worker_gives_its_range_back() {
    let story = granted_to(CHIEF);
    let attempt = story.attempt(0);
    let released = Event::RangeReleased {
        attempt,
        why: ReleaseReason::Drained,
    };
    story
        .when(release(attempt, ReleaseReason::Drained))
        .then([released])
        .only_once()
        .go_on()
        .when(poll(DEPUTY, 1))
        .then([leased_by(0, RangeId::Keys(0), DEPUTY)]);
}
