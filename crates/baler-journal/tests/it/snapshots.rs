//! Every part of the state survives a snapshot.

use baler_core::ids::JournalId;
use baler_core::request::Request;
use baler_core::state::State;
use baler_core::time::StoreTime;
use baler_journal::checksum::Checksum;
use baler_journal::snapshot;
use proptest::prelude::*;

use crate::world::next_request;

fn step(state: &mut State, request: &Request) {
    let time = StoreTime {
        unix_ms: 1_000 + state.sequence.0 * 20,
    };
    state.open_batch(Some(time).filter(|_| state.sequence.0 > 0));
    for event in baler_core::decide(state, request).events {
        baler_core::apply::apply_event(state, &event);
    }
}

fn begun() -> State {
    let mut state = State::default();
    step(&mut state, &Request::CreateJournal(JournalId(7)));
    state
}

fn assert_survives(state: &State) {
    let entry = Checksum(u128::MAX - 5);
    let bytes = snapshot::write(state, entry);
    let (read, read_entry) = snapshot::read(state.sequence, &bytes).unwrap();
    assert_eq!(read, *state);
    assert_eq!(read_entry, entry);
    assert_eq!(snapshot::verify(state.sequence, &bytes).unwrap(), entry);
    assert_eq!(snapshot::write(&read, entry), bytes, "one state has one spelling");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_random_state_survives_a_snapshot(numbers in prop::collection::vec(any::<u64>(), 0..400)) {
        let mut state = begun();
        for number in numbers {
            let request = next_request(&state, number);
            step(&mut state, &request);
        }
        assert_survives(&state);
    }
}

#[test]
fn an_empty_state_survives_a_snapshot() {
    assert_survives(&State::default());
}

/// The property above proves nothing about a part of the state that its stories never reach.
#[test]
fn the_stories_reach_every_part_of_the_state() {
    let mut state = begun();
    let mut unseen = vec![
        "marks",
        "tables",
        "jobs",
        "next_job",
        "recent",
        "watchers",
        "hosts",
        "garbage",
        "originals",
        "leftovers",
        "swept",
        "pins",
        "files",
        "held",
        "consumed",
        "removed",
        "gone after use",
        "remembered",
        "quarantine",
        "keys",
        "apart",
        "origin",
        "errors",
        "compacted",
        "finished",
    ];
    for number in 0..6_000 {
        let request = next_request(&state, number);
        step(&mut state, &request);
        unseen.retain(|part| !is_reached(&state, part));
        if number % 500 == 0 {
            assert_survives(&state);
        }
    }
    assert_eq!(unseen, Vec::<&str>::new());
}

fn is_reached(state: &State, part: &str) -> bool {
    let any_table = |reached: &dyn Fn(&baler_core::state::Table) -> bool| state.tables.values().any(reached);
    let any_job =
        |reached: &dyn Fn(&baler_core::job::Job) -> bool| state.jobs.values().any(|job| reached(job));
    let any_file = |reached: &dyn Fn(&baler_core::file::File) -> bool| {
        any_table(&|table| table.files.values().any(|file| reached(file)))
    };
    match part {
        "marks" => state.marks.len() > 1,
        "tables" => state.tables.len() == 4,
        "jobs" => state.jobs.len() > 1,
        "next_job" => state.next_job.0 > 1,
        "recent" => state.recent.len() > 1,
        "watchers" => state.watchers.len() > 1,
        "hosts" => state.watchers.values().any(|watcher| watcher.host.is_some()),
        "garbage" => state.garbage.len() > 1,
        "originals" => state.garbage.values().any(|garbage| garbage.original.is_some()),
        "leftovers" => state.leftovers.len() > 1,
        "swept" => state.leftovers.values().any(|leftover| leftover.swept),
        "pins" => !state.pins.is_empty(),
        "files" => any_table(&|table| table.partitions.len() > 1),
        "held" => any_table(&|table| !table.held.is_empty()),
        "consumed" => any_table(&|table| table.consumed.len() > 1),
        "removed" => any_table(&|table| table.removed_order.values().any(|paths| paths.len() > 1)),
        "gone after use" => {
            any_table(&|table| table.removed.values().any(|removed| removed.consumed.is_some()))
        }
        "remembered" => any_table(&|table| table.remembered_from.0 > 0),
        "quarantine" => any_table(&|table| !table.quarantine.is_empty()),
        "keys" => any_file(&|file| file.keys.is_some() && file.digest.is_some() && file.checksum.is_some()),
        "apart" => any_file(&|file| file.apart.is_some()),
        "origin" => any_file(&|file| file.origin != baler_core::file::Origin::Foreign),
        "errors" => any_job(&|job| job.last_error.is_some() && job.input_faults > 0),
        "compacted" => any_job(&|job| job.status == baler_core::job::JobStatus::Compacted),
        "finished" => any_job(&|job| job.finished().next().is_some()),
        other => panic!("no such part: {other}"),
    }
}
