//! The main stories of the command line, on every place.

use super::place::Place;
use crate::support::Ended;

on_every_place!(
    compact_in_place_and_come_to_rest,
    with_output_the_source_is_untouched_and_only_what_is_new_is_taken,
    every_command_knows_the_root,
    bad_files_are_named_and_tried_again_once_they_are_mended,
    replaced_files_go_and_nothing_else_does,
    what_lands_in_staging_after_its_attempt_was_forgotten_is_deleted,
);

fn assert_ok(place: &Place, run: &Ended) {
    assert_eq!(run.code, 0, "{}: {run:?}", place.name);
}

async fn compact_in_place_and_come_to_rest(place: Place) {
    place.write_many("data", 2, 5, 100).await;
    let before = place.rows("data").await;
    let run = place.compact("data", &["--sort-by", "key"]);
    assert_ok(&place, &run);
    assert_eq!(
        (
            run.number("files_before"),
            run.number("files_after"),
            run.number("jobs")
        ),
        (10, 2, 2)
    );
    assert_eq!((run.number("rows_in"), run.number("rows_out")), (1_000, 1_000));
    assert_eq!(place.rows("data").await, before, "{}", place.name);
    assert_eq!(place.live("data"), place.data_files("data").await);

    let at_rest = place.names("data").await;
    let again = place.compact("data", &[]);
    assert_ok(&place, &again);
    assert_eq!((again.number("jobs"), again.number("appends")), (0, 0));
    assert_eq!(
        place.names("data").await,
        at_rest,
        "{}: a root at rest was written to",
        place.name
    );

    place.write("data/day=01/new-1.parquet", &[(1, 9, "new")]).await;
    place.write("data/day=01/new-2.parquet", &[(2, 9, "new")]).await;
    assert_ok(&place, &place.compact("data", &[]));
    let rows = place.rows("data").await;
    assert_eq!(
        (rows.get("key=1 seq=9 text=new"), rows.values().sum()),
        (Some(&1), 1_002u64)
    );
}

async fn with_output_the_source_is_untouched_and_only_what_is_new_is_taken(place: Place) {
    place.write_many("data", 2, 4, 50).await;
    let (rows, names) = (place.rows("data").await, place.names("data").await);
    let output = place.at("packed");
    let run = place.compact("data", &["--output", &output, "--sort-by", "key"]);
    assert_ok(&place, &run);
    assert_eq!(
        place.names("data").await,
        names,
        "{}: the source was written to",
        place.name
    );
    assert_eq!(place.rows("packed").await, rows);

    let at_rest = place.names("packed").await;
    assert_ok(&place, &place.compact("data", &["--output", &output]));
    assert_eq!(place.names("packed").await, at_rest, "{}", place.name);

    place.write("data/day=00/new.parquet", &[(1, 9, "new")]).await;
    place.write("data/day=00/newer.parquet", &[(2, 9, "new")]).await;
    let run = place.compact("data", &["--output", &output]);
    assert_ok(&place, &run);
    assert_eq!(
        place.rows("packed").await,
        place.rows("data").await,
        "{}",
        place.name
    );
    assert_ok(&place, &place.baler(&["verify", &output]));
}

async fn every_command_knows_the_root(place: Place) {
    place.write_many("data", 1, 6, 50).await;
    let root = place.at("data");
    let plan = place.baler(&["plan", &root, "--settle", "0s", "--json"]);
    assert_ok(&place, &plan);
    assert_eq!((plan.number("jobs"), plan.number("files_chosen")), (1, 6));
    let looked = &plan.json()["looked_into"];
    let requests = if place.name == "directory" { 0 } else { 6 };
    assert_eq!(
        (looked["footers"].as_u64(), looked["requests"].as_u64()),
        (Some(6), Some(requests)),
        "{}: one request for each footer: {plan:?}",
        place.name
    );
    assert!(
        place.names("data/_baler").await.is_empty(),
        "{}: a plan wrote something",
        place.name
    );

    for command in ["status", "files", "verify", "gc", "retry"] {
        let refused = place.baler(&[command, &root]);
        assert_eq!(refused.code, 1, "{}: {refused:?}", place.name);
        assert!(refused.stderr.contains("is not a Baler root"), "{refused:?}");
    }
    assert_ok(&place, &place.compact("data", &[]));
    let names = place.names("data").await;
    let status = place.baler(&["status", &root, "--json"]);
    assert_ok(&place, &status);
    assert_eq!(
        (
            status.json()["live"]["files"].as_u64(),
            status.json()["live"]["rows"].as_u64()
        ),
        (Some(1), Some(300))
    );
    assert_eq!(place.live("data").len(), 1);
    assert_ok(&place, &place.baler(&["verify", &root]));
    assert_ok(&place, &place.baler(&["gc", &root, "--dry-run"]));
    assert_ok(&place, &place.baler(&["plan", &root]));
    assert_eq!(
        place.names("data").await,
        names,
        "{}: a reading command wrote something",
        place.name
    );
}

async fn bad_files_are_named_and_tried_again_once_they_are_mended(place: Place) {
    place.write_many("data", 1, 4, 50).await;
    place
        .put("data/day=00/damaged.parquet", b"PAR1 no footer".to_vec())
        .await;
    place.put("data/day=00/encrypted.parquet", encrypted()).await;
    place.put("data/day=00/empty.parquet", Vec::new()).await;
    let run = place.compact("data", &[]);
    assert_eq!(
        (run.code, run.number("quarantined"), run.number("rows_out")),
        (1, 3, 200),
        "{}: {run:?}",
        place.name
    );
    let reasons = run.json()["quarantined_files"].to_string();
    assert!(reasons.contains("encrypted"), "{reasons}");
    for name in ["damaged", "encrypted", "empty"] {
        let path = format!("data/day=00/{name}.parquet");
        assert!(
            place.get(&path).await.is_some(),
            "{}: {path} stays where it is",
            place.name
        );
    }
    let again = place.compact("data", &[]);
    assert_eq!(
        (again.code, again.number("appends")),
        (1, 0),
        "{}: nothing is read twice: {again:?}",
        place.name
    );

    let retried = place.baler(&["retry", &place.at("data"), "--json"]);
    assert_eq!((retried.code, retried.number("lifted")), (0, 3), "{retried:?}");
    assert_eq!(place.compact("data", &[]).number("quarantined"), 3);
    place
        .write("data/day=00/damaged.parquet", &[(7, 7, "mended")])
        .await;
    let run = place.compact("data", &[]);
    assert_eq!(run.number("quarantined"), 2, "{}: {run:?}", place.name);
    let status = place.baler(&["status", &place.at("data"), "--json"]).json();
    assert_eq!(status["live"]["rows"].as_u64(), Some(201), "{status}");
}

/// A file whose footer is encrypted ends in other letters.
fn encrypted() -> Vec<u8> {
    let mut bytes = b"PARE".to_vec();
    bytes.extend([7; 64]);
    bytes.extend(64u32.to_le_bytes());
    bytes.extend(b"PARE");
    bytes
}

async fn replaced_files_go_and_nothing_else_does(place: Place) {
    place.write_many("data", 2, 4, 50).await;
    place.put("data/notes.txt", b"not ours".to_vec()).await;
    place.put("data/_tmp/part.parquet", b"somebody's".to_vec()).await;
    let before = place.rows("data").await;
    assert_ok(&place, &place.compact("data", &[]));
    let gc = place.baler(&["gc", &place.at("data"), "--now", "--full", "--json"]);
    assert_ok(&place, &gc);
    assert_eq!(place.rows("data").await, before, "{}", place.name);
    assert!(
        place.get("data/notes.txt").await.is_some() && place.get("data/_tmp/part.parquet").await.is_some()
    );
    place.delete("data/notes.txt").await;
    place.delete("data/_tmp/part.parquet").await;
    place.assert_no_orphans("data").await;
}

/// `<day>/baler-<journal>-<job>-<range>-<token>-<number>.parquet` was written by the attempt of these three.
fn staging_of(output: &str) -> String {
    let parts: Vec<&str> = output.split('-').collect();
    let attempt = parts[parts.len() - 4..parts.len() - 1].join("-");
    format!("_baler/staging/{attempt}")
}

/// Trap: a PUT that timed out lands after its attempt was swept for the last time, in a folder that no listing of data meets.
async fn what_lands_in_staging_after_its_attempt_was_forgotten_is_deleted(place: Place) {
    place.write_many("data", 1, 4, 50).await;
    assert_ok(&place, &place.compact("data", &[]));
    let root = place.at("data");
    let gc = |flags: &[&str]| {
        let end = place.baler(&[&["gc", &root, "--now"], flags].concat());
        assert_ok(&place, &end);
        end.stdout
    };
    // Twice: an attempt is swept, and then forgotten.
    gc(&["--full"]);
    gc(&["--full"]);
    let before = place.rows("data").await;
    let staging = staging_of(&place.live("data")[0]);
    let late = format!("{staging}/9.staged");
    let strangers = [
        format!("{staging}/mine.txt"),
        "_baler/staging/77-0-5.1/0.staged".to_owned(),
    ];
    for path in strangers.iter().chain([&late]) {
        place.put(&format!("data/{path}"), b"rows".to_vec()).await;
    }

    let audit = place.baler(&["audit", &root]).stdout;
    let told = |words: &str| audit.lines().any(|line| line.contains(words));
    assert!(
        told(&late) && told("`baler gc --full` deletes it"),
        "{}: {audit}",
        place.name
    );
    gc(&[]);
    assert!(
        place.get(&format!("data/{late}")).await.is_some(),
        "{}: nothing that is swept leads to it",
        place.name
    );
    let promised = gc(&["--full", "--dry-run"]);
    assert!(promised.contains(&late), "{}: {promised}", place.name);
    gc(&["--full"]);
    assert!(
        place.get(&format!("data/{late}")).await.is_none(),
        "{}: a look at everything does",
        place.name
    );
    for path in strangers {
        assert!(!promised.contains(&path), "{}: {promised}", place.name);
        let path = format!("data/{path}");
        assert!(
            place.get(&path).await.is_some(),
            "{}: {path} is not Baler's",
            place.name
        );
    }
    assert_eq!(place.rows("data").await, before, "{}", place.name);
}

/// Trap: whatever an attempt left is swept once, when it has ended; an upload that begins after that is nobody's.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_upload_that_begins_after_its_attempt_was_forgotten_is_ended() {
    let Some(place) = Place::seaweed().await else {
        return;
    };
    place.write_many("data", 1, 4, 50).await;
    assert_ok(&place, &place.compact("data", &[]));
    let gc = |flags: &[&str]| {
        let end = place.baler(&[&["gc", &place.at("data"), "--now"], flags].concat());
        assert_ok(&place, &end);
    };
    gc(&["--full"]);
    let late = format!("{}/9.staged", staging_of(&place.live("data")[0]));
    place.begin_upload(&format!("data/{late}")).await;
    let open = || {
        place
            .baler(&["audit", &place.at("data"), "--json"])
            .stdout
            .contains(&late)
    };
    assert!(open(), "the upload is seen");
    gc(&[]);
    assert!(open(), "nothing that is swept leads to it");
    gc(&["--full"]);
    assert!(!open(), "a look at everything does");
}
