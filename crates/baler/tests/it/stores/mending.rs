//! Journals that were damaged, on a directory and on real stores: what is wrong is named, and after a repair compaction goes
//! on, with no row lost or doubled, or the uncertain files named.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use baler_core::request::Request;
use baler_journal::mending::close_old;
use baler_journal::replica::Settings;
use baler_journal::{Access, JournalError, ObjectLog, Replica};
use serde_json::Value;

use super::place::Place;
use crate::support::{Ended, rows_in};

on_most_places!(
    a_flipped_bit_in_any_entry_costs_no_row,
    a_truncated_entry_is_found_and_mended,
    a_missing_entry_is_found_and_mended,
    a_missing_end_is_known_by_the_names_of_outputs,
    a_damaged_snapshot_costs_nothing_while_the_entries_are_whole,
    with_everything_gone_but_the_data_uncertain_files_are_named,
    a_repair_that_was_cut_short_is_done_by_the_next,
    whoever_follows_the_old_journal_is_refused_after_a_repair,
    a_repair_is_refused_while_others_write,
    a_root_of_a_higher_level_is_refused_by_every_command,
    a_place_above_roots_is_no_damaged_root,
);

const FLAGS: [&str; 2] = ["--sort-by", "key"];

/// A root that was compacted twice, so that its folders hold the outputs of several jobs. Answers with its rows.
async fn compacted(place: &Place, root: &str) -> BTreeMap<String, u64> {
    place.write_many(root, 2, 3, 20).await;
    let run = place.compact(root, &FLAGS);
    assert_eq!(run.code, 0, "{run:?}");
    for file in 0..3 {
        let path = format!("{root}/day=00/late-{file}.parquet");
        place
            .write(&path, &[(file, 7, "late"), (file + 10, 7, "late")])
            .await;
    }
    let run = place.compact(root, &FLAGS);
    assert_eq!(run.code, 0, "{run:?}");
    place.rows(root).await
}

fn entry(root: &str, number: u64) -> String {
    format!("{root}/_baler/journal/{number:020}")
}

async fn last_entry(place: &Place, root: &str) -> u64 {
    let names = place.names(&format!("{root}/_baler/journal")).await;
    names.last().unwrap().parse().unwrap()
}

async fn flip(place: &Place, path: &str) {
    let mut bytes = place.get(path).await.unwrap().to_vec();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 0x10;
    place.put(path, bytes).await;
}

fn check(place: &Place, root: &str) -> Ended {
    place.baler(&["journal", "check", &place.at(root), "--json"])
}

fn repair(place: &Place, root: &str) -> Value {
    repair_with(place, root, &[])
}

fn repair_with(place: &Place, root: &str, flags: &[&str]) -> Value {
    let root = place.at(root);
    let repair = ["journal", "repair", &root, "--wait", "0s", "--json"];
    let run = place.baler(&[&repair, flags].concat());
    assert!(run.code == 0 || run.code == 1, "{}: {run:?}", place.name);
    let mended = run.json();
    let certain = names(&mended["uncertain"]).is_empty() && names(&mended["second_copies"]).is_empty();
    assert_eq!(run.code == 0, certain, "{}: {run:?}", place.name);
    mended
}

fn names(files: &Value) -> BTreeSet<String> {
    let files = files.as_array().unwrap().iter();
    files
        .map(|file| file["path"].as_str().unwrap().to_owned())
        .collect()
}

/// The damage is named, stops Baler, and is repaired; then compaction goes on.
async fn assert_mended(place: &Place, root: &str, names_it: &str, before: &BTreeMap<String, u64>) -> Value {
    let stopped = place.compact(root, &FLAGS);
    assert_eq!(stopped.code, 1, "{}: {stopped:?}", place.name);
    assert!(
        stopped.stderr.contains("baler journal"),
        "{}: {stopped:?}",
        place.name
    );
    let everything = place.names(root).await;
    let checked = check(place, root);
    assert_eq!(checked.code, 1, "{}: {checked:?}", place.name);
    assert!(checked.stdout.contains(names_it), "{}: {checked:?}", place.name);
    assert_eq!(checked.json()["stops"], true, "{checked:?}");
    let dry = place.baler(&["journal", "repair", &place.at(root), "--dry-run", "--json"]);
    assert!(dry.json()["journal"].is_null(), "{dry:?}");
    assert_eq!(
        place.names(root).await,
        everything,
        "{}: a look wrote something",
        place.name
    );
    let mended = repair(place, root);
    let after = place.names(root).await;
    assert!(
        everything.iter().all(|name| after.contains(name)),
        "{}: a repair deleted something",
        place.name
    );
    assert_goes_on(place, root, &mended, before).await;
    mended
}

async fn assert_goes_on(place: &Place, root: &str, mended: &Value, before: &BTreeMap<String, u64>) {
    let checked = check(place, root);
    assert_eq!(
        (checked.code, &checked.json()["journal"]),
        (0, &mended["journal"]),
        "{}: {checked:?}",
        place.name
    );
    place
        .write(&format!("{root}/day=00/after-0.parquet"), &[(1, 9, "after")])
        .await;
    place
        .write(&format!("{root}/day=00/after-1.parquet"), &[(2, 9, "after")])
        .await;
    let run = place.compact(root, &FLAGS);
    let held: BTreeSet<String> = &names(&mended["uncertain"]) | &names(&mended["second_copies"]);
    assert_eq!(run.code, i32::from(!held.is_empty()), "{}: {run:?}", place.name);
    let (mut all, mut free) = (BTreeMap::new(), BTreeMap::<String, u64>::new());
    for name in place.data_files(root).await {
        let bytes = place.get(&format!("{root}/{name}")).await.unwrap();
        for row in rows_in(bytes)
            .into_iter()
            .filter(|row| !row.contains("text=after"))
        {
            *all.entry(row.clone()).or_default() += 1;
            if !held.contains(&name) {
                *free.entry(row).or_default() += 1;
            }
        }
    }
    for (row, times) in before {
        assert!(all.get(row) >= Some(times), "{}: {row} was lost", place.name);
        assert!(
            free.get(row).unwrap_or(&0) <= times,
            "{}: {row} was doubled",
            place.name
        );
    }
    if held.is_empty() {
        assert_eq!(&all, before, "{}", place.name);
        let gc = place.baler(&["gc", &place.at(root), "--now", "--full"]);
        assert_eq!(gc.code, 0, "{gc:?}");
        // The old journal is still there, and what was set aside under it; both are told, and neither is wrong.
        let audit = place.baler(&["audit", &place.at(root)]);
        assert_eq!(audit.code, 0, "{}: {audit:?}", place.name);
        assert!(audit.stdout.contains("kept"), "{}: {audit:?}", place.name);
    }
}

async fn a_flipped_bit_in_any_entry_costs_no_row(place: Place) {
    let before = compacted(&place, "whole").await;
    let last = last_entry(&place, "whole").await;
    // The first, some of each run, the last: on a store each takes seconds.
    for (round, number) in [1, 4, last / 2, last - 2, last].into_iter().enumerate() {
        let root = format!("round-{round}");
        assert_eq!(compacted(&place, &root).await, before);
        let number = number.min(last_entry(&place, &root).await);
        flip(&place, &entry(&root, number)).await;
        let mended = assert_mended(&place, &root, &format!("journal entry {number}"), &before).await;
        assert_eq!(mended["until"], number - 1);
    }
}

async fn a_truncated_entry_is_found_and_mended(place: Place) {
    let before = compacted(&place, "data").await;
    let path = entry("data", last_entry(&place, "data").await);
    let bytes = place.get(&path).await.unwrap();
    place.put(&path, bytes[..bytes.len() / 2].to_vec()).await;
    assert_mended(&place, "data", "journal entry", &before).await;
}

async fn a_missing_entry_is_found_and_mended(place: Place) {
    let before = compacted(&place, "data").await;
    let number = last_entry(&place, "data").await - 3;
    place.delete(&entry("data", number)).await;
    let says = format!("journal entry {number}\",\"why\":\"it is missing");
    assert_mended(&place, "data", &says, &before).await;
}

/// Trap: entries that are missing at the end leave no gap, and whoever goes on begins a second history.
async fn a_missing_end_is_known_by_the_names_of_outputs(place: Place) {
    let before = compacted(&place, "data").await;
    let last = last_entry(&place, "data").await;
    for number in last / 2..=last {
        place.delete(&entry("data", number)).await;
    }
    let checked = check(&place, "data");
    assert_eq!(
        (checked.code, &checked.json()["cut"]),
        (1, &Value::Bool(true)),
        "{checked:?}"
    );
    assert!(
        checked.stdout.contains("was written under its grant"),
        "{checked:?}"
    );
    let mended = repair(&place, "data");
    assert_goes_on(&place, "data", &mended, &before).await;
}

async fn replica(place: &Place, root: &str, snapshot_every: u64) -> Replica {
    let store = place.journal_store(root);
    let log = ObjectLog::open(store, Access::ReadWrite).await.unwrap();
    let settings = Settings {
        snapshot_every,
        ..Settings::default()
    };
    Replica::open(Arc::new(log), settings).await.unwrap()
}

async fn a_damaged_snapshot_costs_nothing_while_the_entries_are_whole(place: Place) {
    let before = compacted(&place, "data").await;
    let replica = replica(&place, "data", 5).await;
    for _ in 0..12 {
        replica.submit(Request::Tick).await.unwrap();
    }
    replica.close().await;
    let snapshots = place.names("data/_baler/snapshots").await;
    assert!(snapshots.len() >= 2, "{snapshots:?}");
    assert_eq!(check(&place, "data").code, 0);
    flip(&place, &format!("data/_baler/snapshots/{}", snapshots[0])).await;
    let checked = check(&place, "data");
    assert_eq!(
        (checked.code, &checked.json()["stops"]),
        (1, &Value::Bool(false)),
        "{checked:?}"
    );
    let newest = snapshots.last().unwrap();
    flip(&place, &format!("data/_baler/snapshots/{newest}")).await;
    let number: u64 = newest.parse().unwrap();
    let says = format!("the snapshot of entry {number}");
    let mended = assert_mended(&place, "data", &says, &before).await;
    assert_eq!(mended["cut"], false, "{mended}");
}

async fn with_everything_gone_but_the_data_uncertain_files_are_named(place: Place) {
    let before = compacted(&place, "data").await;
    for name in place.names("data").await {
        if name.starts_with("_baler/") {
            place.delete(&format!("data/{name}")).await;
        }
    }
    if place.name == "directory" {
        std::fs::remove_dir_all(place.folder().join("data/_baler")).unwrap();
    }
    // Two outputs of different jobs in one folder: perhaps one holds what the other does. Here it does.
    let output = place.data_files("data").await.remove(0);
    let (begin, _) = output.split_at(output.find("baler-").unwrap() + "baler-".len() + 32);
    let copy = format!("{begin}-99-0-7.0-0.parquet");
    let bytes = place.get(&format!("data/{output}")).await.unwrap();
    place.put(&format!("data/{copy}"), bytes.to_vec()).await;
    let checked = check(&place, "data");
    assert_eq!(checked.code, 1, "{checked:?}");
    let mended = repair_with(&place, "data", &FLAGS);
    let uncertain = names(&mended["uncertain"]);
    assert_eq!(uncertain, BTreeSet::from([output, copy.clone()]), "{mended}");
    assert_eq!(names(&mended["adopted"]).len(), 1, "{mended}");
    assert_goes_on(&place, "data", &mended, &before).await;
    // Somebody has looked, and removed the double.
    place.delete(&format!("data/{copy}")).await;
    let retry = place.baler(&["retry", &place.at("data")]);
    assert_eq!(retry.code, 0, "{retry:?}");
    let run = place.compact("data", &FLAGS);
    assert_eq!(run.code, 0, "{run:?}");
    let mut rows = place.rows("data").await;
    rows.retain(|row, _| !row.contains("text=after"));
    assert_eq!(rows, before, "{}", place.name);
}

async fn a_repair_that_was_cut_short_is_done_by_the_next(place: Place) {
    let before = compacted(&place, "data").await;
    flip(&place, &entry("data", last_entry(&place, "data").await)).await;
    let log = ObjectLog::open(place.journal_store("data"), Access::ReadWrite)
        .await
        .unwrap();
    let closed = close_old(&log).await.unwrap();
    let stopped = place.compact("data", &FLAGS);
    assert_eq!(stopped.code, 1, "{}: {stopped:?}", place.name);
    let first = repair(&place, "data");
    assert_eq!(first["begins"], closed.next.0, "{first}");
    // It dies between the claim of its first slot and the snapshot.
    place
        .delete(&format!("data/_baler/snapshots/{:020}", closed.next.0))
        .await;
    let stopped = place.compact("data", &FLAGS);
    assert_eq!(stopped.code, 1, "{}: {stopped:?}", place.name);
    let second = repair(&place, "data");
    assert_ne!(first["journal"], second["journal"]);
    assert_eq!(first["until"], second["until"]);
    assert_goes_on(&place, "data", &second, &before).await;
}

/// Trap: a process that slept through the repair goes on in the old journal, and two histories are written.
async fn whoever_follows_the_old_journal_is_refused_after_a_repair(place: Place) {
    let before = compacted(&place, "data").await;
    let sleeper = replica(&place, "data", 500).await;
    flip(&place, &entry("data", 3)).await;
    let mended = repair(&place, "data");
    let refused = sleeper.submit(Request::Tick).await;
    assert!(
        matches!(refused, Err(JournalError::Replaced { .. })),
        "{}: {refused:?}",
        place.name
    );
    let refused = sleeper.catch_up().await;
    assert!(
        matches!(refused, Err(JournalError::Replaced { .. })),
        "{}: {refused:?}",
        place.name
    );
    assert_goes_on(&place, "data", &mended, &before).await;
}

async fn a_repair_is_refused_while_others_write(place: Place) {
    let before = compacted(&place, "data").await;
    let worker = replica(&place, "data", 500).await;
    flip(&place, &entry("data", 3)).await;
    let busy = tokio::spawn(async move {
        while worker.submit(Request::Tick).await.is_ok() {
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    });
    let root = place.at("data");
    let refused = place.baler(&["journal", "repair", &root, "--wait", "2s"]);
    assert_eq!(refused.code, 1, "{refused:?}");
    assert!(refused.stderr.contains("others are at work"), "{refused:?}");
    let forced = place.baler(&["journal", "repair", &root, "--force", "--json"]);
    let mended = forced.json();
    assert!(mended["journal"].is_string(), "{forced:?}");
    busy.await.unwrap();
    assert_goes_on(&place, "data", &mended, &before).await;
}

async fn a_root_of_a_higher_level_is_refused_by_every_command(place: Place) {
    compacted(&place, "data").await;
    let root = place.at("data");
    let upgraded = place.baler(&["upgrade", &root, "--json"]);
    assert_eq!(
        (upgraded.code, upgraded.number("before"), upgraded.number("now")),
        (0, 2, 2),
        "{upgraded:?}"
    );
    place
        .put("data/_baler/format/3", b"{\"format\":3}".to_vec())
        .await;
    for args in [
        &["compact", &root][..],
        &["status", &root],
        &["upgrade", &root],
        &["gc", &root],
        &["journal", "repair", &root, "--wait", "0s"],
    ] {
        let run = place.baler(args);
        assert_eq!(run.code, 1, "{args:?}: {run:?}");
        assert!(
            run.stderr.contains("install the newer version"),
            "{args:?}: {run:?}"
        );
    }
    let checked = check(&place, "data");
    assert_eq!(checked.code, 1, "{checked:?}");
    assert!(
        checked.stdout.contains("install the newer version"),
        "{checked:?}"
    );
}

/// Outputs of roots below look like those of a root that lost its journal: a second journal over them would take their files.
async fn a_place_above_roots_is_no_damaged_root(place: Place) {
    for root in ["all/one", "all/two"] {
        place.write_many(root, 1, 3, 20).await;
        let run = place.compact(root, &FLAGS);
        assert_eq!(run.code, 0, "{}: {run:?}", place.name);
    }
    let before = place.names("all").await;
    for command in ["check", "repair"] {
        let run = place.baler(&["journal", command, &place.at("all")]);
        assert_eq!(run.code, 1, "{}: {run:?}", place.name);
        assert!(
            run.stderr.contains("cannot both be roots"),
            "{}: {run:?}",
            place.name
        );
    }
    assert_eq!(place.names("all").await, before, "{}", place.name);
    let again = place.compact("all/one", &FLAGS);
    assert_eq!(again.code, 0, "{}: {again:?}", place.name);
}
