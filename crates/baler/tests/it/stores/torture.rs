//! Death at every named step, and at random: afterwards a run ends well, every row is there once, nothing is left behind after
//! `gc`, and the journal is whole. A few of the random deaths in CI, all of them in `cargo xtask torture`.

use std::collections::{BTreeMap, BTreeSet};
use std::os::unix::process::ExitStatusExt;
use std::sync::Arc;
use std::time::Instant;

use baler_core::ids::JournalId;
use baler_core::request::Request;
use baler_journal::replica::Settings;
use baler_journal::steps::Step;
use baler_journal::store::{MemoryStore, Store};
use baler_journal::{Access, ObjectLog, Replica};
use futures::TryStreamExt;

use super::place::Place;
use super::running::kill;
use crate::support::soaking;

const KILLS: u32 = 500;

/// Other stories kill at random too, at a tenth of their length in CI.
fn a_few_unless_soaking() -> u32 {
    match soaking() {
        true => KILLS,
        false => 4,
    }
}

const FLAGS: [&str; 8] = [
    "--sort-by",
    "key",
    "--workers",
    "2",
    "--memory",
    "64MiB",
    "--lease",
    "1s",
];

/// Steps of a block's end, which comes after ten thousand entries.
const OF_A_BLOCK: [Step; 3] = [Step::SnapshotWritten, Step::BoundaryCreated, Step::MidRetire];

/// Steps of a repair.
const OF_A_REPAIR: [Step; 3] = [Step::RepairClosed, Step::RepairCopied, Step::RepairClaimed];

on_most_places!(
    a_death_at_every_step_costs_nothing_but_time,
    a_death_at_every_step_of_a_repair_is_made_good_by_the_next,
    deaths_at_random_cost_nothing_but_time,
);

/// Whether one of these commands died at the step; they are run in order until one does.
fn dies_at(place: &Place, step: Step, commands: &[Vec<&str>]) -> bool {
    commands.iter().any(|args| {
        let mut command = place.command(args);
        let ended = command.env("BALER_DIE_AT", step.name()).output().unwrap();
        ended.status.signal().is_some()
    })
}

async fn a_death_at_every_step_costs_nothing_but_time(place: Place) {
    let mut died = 0;
    for step in Step::ALL {
        if OF_A_BLOCK.contains(&step) || OF_A_REPAIR.contains(&step) {
            continue;
        }
        // Nothing can be renamed aside on a store.
        if step == Step::SetAside && place.name != "directory" {
            continue;
        }
        let root = format!("at-{}", step.name());
        place.write_many(&root, 2, 3, 50).await;
        let before = place.rows(&root).await;
        let at = place.at(&root);
        let compact = [&["compact", at.as_str(), "--settle", "0s"][..], &FLAGS].concat();
        let gc = vec!["gc", at.as_str(), "--now"];
        assert!(
            dies_at(&place, step, &[compact, gc]),
            "{}: {} was never reached",
            place.name,
            step.name()
        );
        died += 1;
        assert_survived(&place, &root, &before).await;
    }
    println!(
        "figure: {died} named steps on {}, a death at each, nothing lost, doubled or orphaned",
        place.name
    );
}

async fn a_death_at_every_step_of_a_repair_is_made_good_by_the_next(place: Place) {
    for step in OF_A_REPAIR {
        let root = format!("at-{}", step.name());
        place.write_many(&root, 2, 3, 50).await;
        let before = place.rows(&root).await;
        let run = place.compact(&root, &FLAGS);
        assert_eq!(run.code, 0, "{run:?}");
        let entry = format!("{root}/_baler/journal/{:020}", 3);
        place.delete(&entry).await;
        let at = place.at(&root);
        let repair = vec!["journal", "repair", at.as_str(), "--wait", "0s"];
        assert!(
            dies_at(&place, step, std::slice::from_ref(&repair)),
            "{} was never reached",
            step.name()
        );
        let stopped = place.compact(&root, &FLAGS);
        assert_eq!(
            stopped.code, 1,
            "{}: half a repair is no root: {stopped:?}",
            place.name
        );
        let repaired = place.baler(&repair);
        assert_eq!(repaired.code, 0, "{}: {repaired:?}", place.name);
        assert_rows(&place, &root, &before).await;
    }
}

/// A run ends well; then nothing is there but live files and a journal that is whole.
async fn assert_survived(place: &Place, root: &str, before: &BTreeMap<String, u64>) {
    assert_rows(place, root, before).await;
    let again = place.compact(root, &FLAGS);
    assert_eq!(
        (again.code, again.number("jobs")),
        (0, 0),
        "{}: not at rest: {again:?}",
        place.name
    );
    let gc = place.baler(&["gc", &place.at(root), "--now", "--full"]);
    assert_eq!(gc.code, 0, "{gc:?}");
    place.assert_no_orphans(root).await;
    assert_eq!(
        &place.rows(root).await,
        before,
        "{}: gc deleted something live",
        place.name
    );
    let checked = place.baler(&["journal", "check", &place.at(root)]);
    assert_eq!(checked.code, 0, "{}: {checked:?}", place.name);
}

async fn assert_rows(place: &Place, root: &str, before: &BTreeMap<String, u64>) {
    let run = place.compact(root, &FLAGS);
    assert_eq!(run.code, 0, "{} {root}: {run:?}", place.name);
    assert_eq!(
        &place.rows(root).await,
        before,
        "{} {root}: rows were lost or doubled",
        place.name
    );
}

async fn deaths_at_random_cost_nothing_but_time(place: Place) {
    let wanted = std::env::var("BALER_KILLS")
        .ok()
        .and_then(|kills| kills.parse().ok());
    let kills = wanted.unwrap_or_else(a_few_unless_soaking);
    place.write_many("whole", 3, 3, 300).await;
    let began = Instant::now();
    assert_eq!(place.compact("whole", &FLAGS).code, 0);
    let whole = began.elapsed();
    let (mut killed, mut round) = (0, 0);
    while killed < kills {
        round += 1;
        let root = format!("round-{round}");
        place.write_many(&root, 3, 3, 300).await;
        let before = place.rows(&root).await;
        for _ in 0..kills.min(10) {
            let child = place.compact_command(&root, &FLAGS).spawn().unwrap();
            tokio::time::sleep(whole.mul_f64(rand::random_range(0.0..1.1))).await;
            killed += u32::from(kill(child));
        }
        assert_survived(&place, &root, &before).await;
    }
    println!(
        "figure: {killed} deaths at random on {}, nothing lost, doubled or orphaned",
        place.name
    );
}

/// A journal that is about to end its first block: its entries as a replica wrote them, in memory, which is fast.
async fn a_long_journal() -> Vec<(String, Vec<u8>)> {
    let store: Arc<dyn Store> = Arc::new(MemoryStore::default());
    let log = ObjectLog::open(store.clone(), Access::ReadWrite).await.unwrap();
    let replica = Replica::open(Arc::new(log), Settings::default()).await.unwrap();
    let begin = Request::CreateJournal(JournalId(rand::random()));
    replica.submit(begin).await.unwrap();
    while replica.state().sequence.0 < 10_496 {
        replica.submit(Request::Tick).await.unwrap();
    }
    replica.close().await;
    let mut objects = Vec::new();
    let listed: Vec<_> = store.list("_baler", "").try_collect().await.unwrap();
    for meta in listed.into_iter().filter(|meta| !meta.path.contains("/probed/")) {
        let bytes = store.get(&meta.path).await.unwrap().bytes;
        objects.push((meta.path, bytes.to_vec()));
    }
    objects
}

/// On a directory only, and in a soak or `cargo xtask torture` only: a block is ten thousand objects, each of which is deleted
/// for good.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_death_at_the_end_of_a_block_costs_nothing_but_time() {
    if !soaking() && std::env::var_os("BALER_KILLS").is_none() {
        return;
    }
    let place = Place::directory();
    let journal = a_long_journal().await;
    for step in OF_A_BLOCK {
        let root = format!("at-{}", step.name());
        for (path, bytes) in &journal {
            let path = place.folder().join(&root).join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, bytes).unwrap();
        }
        place.write_many(&root, 2, 3, 50).await;
        let before = place.rows(&root).await;
        let at = place.at(&root);
        let compact = [&["compact", at.as_str(), "--settle", "0s"][..], &FLAGS].concat();
        assert!(
            dies_at(&place, step, &[compact]),
            "{} was never reached",
            step.name()
        );
        assert_survived(&place, &root, &before).await;
    }
}

/// Trap: a step is named, and no test dies there.
#[test]
fn every_named_step_is_one_that_a_test_dies_at() {
    let names: BTreeSet<&str> = Step::ALL.iter().map(|step| step.name()).collect();
    assert_eq!(names.len(), Step::ALL.len(), "two steps share a name");
    // The stories above fail where a step is not reached; what they leave out, the other two take.
    let apart = OF_A_BLOCK.iter().chain(&OF_A_REPAIR);
    assert!(apart.clone().all(|step| Step::ALL.contains(step)));
    assert_eq!(apart.count(), 6);
}
