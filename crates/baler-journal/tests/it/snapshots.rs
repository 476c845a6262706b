//! Every part of the state survives a snapshot.

use baler_core::ids::{JobId, JournalId, TableName};
use baler_core::receipt::Undoing;
use baler_core::request::Request;
use baler_core::state::State;
use baler_core::time::{Millis, StoreTime};
use baler_journal::checksum::Checksum;
use baler_journal::snapshot;
use proptest::prelude::*;

use crate::world::{all_tables, next_request};

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
    for event in all_tables() {
        baler_core::apply::apply_event(&mut state, &event);
    }
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
fn a_job_that_is_being_undone_survives_a_snapshot() {
    let mut state = begun();
    let table = TableName::from("in-place");
    state.undoing.insert(JobId(4), Undoing { table, waiting: 3 });
    assert_survives(&state);
}

#[test]
fn an_empty_state_survives_a_snapshot() {
    assert_survives(&State::default());
}

/// Few files are looked at in vain too cheaply to be written down, so this is told by hand.
#[test]
fn what_the_planner_need_not_look_at_survives_a_snapshot() {
    let mut state = begun();
    for number in 0..300 {
        let request = next_request(&state, number);
        step(&mut state, &request);
    }
    let resting: Vec<_> = state
        .tables
        .iter()
        .filter_map(|(name, table)| Some((name.clone(), table.partitions.keys().next()?.clone())))
        .collect();
    assert!(resting.len() > 1);
    for (at, (table, partition)) in resting.into_iter().enumerate() {
        let until = (at > 0).then_some(StoreTime { unix_ms: at as u64 });
        let rested = baler_core::Event::PartitionsRested {
            table,
            planner: baler_core::planner::VERSION,
            partitions: vec![baler_core::event::Rested { partition, until }],
        };
        baler_core::apply::apply_event(&mut state, &rested);
    }
    let mut tables = state.tables.values();
    assert!(tables.any(|table| table.agenda.next_due().is_some()));
    assert_survives(&state);
}

/// The property above proves nothing about a part of the state that its stories never reach.
#[test]
fn a_table_on_its_way_out_survives_a_snapshot() {
    let mut state = begun();
    for number in 0..2_000 {
        let request = next_request(&state, number);
        step(&mut state, &request);
    }
    let pin = Request::Pin {
        table: TableName::from("native"),
        owner: "reader".into(),
        lifetime: Millis(1_000),
        version: None,
    };
    step(&mut state, &pin);
    step(&mut state, &Request::DropTable(TableName::from("native")));
    let table = &state.tables[&TableName::from("native")];
    assert!(table.is_dropped() && !table.history.is_empty() && table.files.is_empty());
    assert_survives(&state);
}

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
        "times",
        "history",
        "older pins",
        "ripe",
        "drops",
        "turn",
        "paused root",
        "paused table",
        "put off",
        "backoff",
        "cut",
        "lost",
        "alone",
        "tries",
        "stuck",
        "failed",
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
        "tables" => state.tables.len() == 6,
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
        "history" => any_table(&|table| !table.history.is_empty() && table.readable_from.0 > 1),
        "older pins" => state.pins.iter().any(|(id, pin)| pin.version < id.entry),
        "ripe" => {
            let mut garbage = state.garbage.values();
            garbage.any(|garbage| garbage.stage == baler_core::garbage::Stage::Ripe)
        }
        "drops" => any_job(&|job| job.drops.is_some()),
        "compacted" => any_job(&|job| job.status == baler_core::job::JobStatus::Compacted),
        "finished" => any_job(&|job| job.finished().next().is_some()),
        "times" => any_file(&|file| file.times.is_some()),
        "turn" => state.turn.is_some(),
        "paused root" => state.paused,
        "paused table" => any_table(&|table| table.paused),
        "put off" => any_table(&|table| table.put_off.len() > 1),
        "lost" => any_job(&|job| job.ranges.iter().any(|range| !range.lost.is_empty())),
        "alone" => any_job(&|job| {
            job.ranges
                .iter()
                .any(|range| range.alone && range.lease().is_some())
        }),
        "tries" => any_job(&|job| job.tries.as_ref().is_some_and(|tries| tries.count > 1)),
        "stuck" => any_job(&|job| job.tries.as_ref().is_some_and(|tries| tries.stuck.is_some())),
        "failed" => state.recent.iter().any(|job| job.failed.is_some()),
        "cut" => any_job(&|job| job.ranges.len() > 1 && job.finished().next().is_some()),
        "backoff" => any_job(&|job| job.ranges().any(|(_, range)| range.backoff.is_some())),
        other => panic!("no such part: {other}"),
    }
}
