//! `undo`: a committed job is taken back, where that can be.

use serde_json::Value;

use super::place::Place;
use crate::support::Ended;

on_most_places!(
    a_job_of_a_native_table_is_taken_back,
    what_was_merged_on_is_refused,
    a_job_with_output_is_taken_back,
    in_place_it_depends_on_whether_inputs_are_kept,
);

fn ok(place: &Place, args: &[&str]) -> Ended {
    let end = place.baler(args);
    assert_eq!(end.code, 0, "{}: {args:?}: {end:?}", place.name);
    end
}

async fn native(place: &Place) -> String {
    let root = place.at("lake");
    ok(place, &["table", "create", &root, "events", "--sort-by", "key"]);
    place.write_many("lake", 1, 4, 50).await;
    let names: Vec<String> = (0..4)
        .map(|file| format!("day=00/part-{file:04}.parquet"))
        .collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    ok(place, &[&["add", &root, "events"], &names[..]].concat());
    ok(place, &["compact", &root]);
    assert_eq!(place.live("lake").len(), 1, "{}", place.name);
    root
}

async fn a_job_of_a_native_table_is_taken_back(place: Place) {
    let root = native(&place).await;
    let output = place.live("lake").remove(0);
    let undone = ok(&place, &["undo", &root, "0", "--json"]);
    assert_eq!((undone.number("files_back"), undone.number("files_out")), (4, 1));
    let live = place.live("lake");
    assert_eq!(live.len(), 4, "{}: {live:?}", place.name);
    let jobs: Value = ok(&place, &["jobs", &root, "--json"]).json();
    assert!(jobs["undone"].is_u64() && jobs["status"] == "committed", "{jobs}");
    // Left alone until somebody says so, and nothing is lost when the output goes.
    assert_eq!(ok(&place, &["compact", &root, "--json"]).number("jobs"), 0);
    ok(&place, &["gc", &root, "--now"]);
    assert!(
        place.get(&format!("lake/{output}")).await.is_none(),
        "{}",
        place.name
    );
    ok(&place, &["verify", &root, "--deep"]);
    ok(&place, &["undo", &root, "0"]);
    assert_eq!(place.live("lake").len(), 4, "{}: once", place.name);
    ok(&place, &["retry", &root]);
    assert_eq!(ok(&place, &["compact", &root, "--json"]).number("jobs"), 1);
    let receipts = ok(&place, &["receipts", &root, "--json"]);
    let rows = receipts.stdout.lines().next().unwrap();
    let youngest: Value = serde_json::from_str(rows).unwrap();
    assert_eq!(
        youngest["outputs"][0]["rows"], 200,
        "{}: every row once",
        place.name
    );
}

/// Trap: an undo after the outputs were merged on would double their rows.
async fn what_was_merged_on_is_refused(place: Place) {
    let root = native(&place).await;
    place.write("lake/day=00/more-1.parquet", &[(1, 9, "more")]).await;
    place.write("lake/day=00/more-2.parquet", &[(2, 9, "more")]).await;
    place.write("lake/day=00/more-3.parquet", &[(3, 9, "more")]).await;
    let more: Vec<String> = (1..4).map(|more| format!("day=00/more-{more}.parquet")).collect();
    let more: Vec<&str> = more.iter().map(String::as_str).collect();
    ok(&place, &[&["add", &root, "events"], &more[..]].concat());
    let run = ok(&place, &["compact", &root, "--json"]);
    assert_eq!(run.number("jobs"), 1, "{}: {run:?}", place.name);
    let refused = place.baler(&["undo", &root, "0"]);
    assert_eq!(refused.code, 1, "{}: {refused:?}", place.name);
    assert!(
        refused.stderr.contains("not live any more"),
        "{}: {refused:?}",
        place.name
    );
    // The last job first, and then the one before it.
    ok(&place, &["undo", &root, "1"]);
    ok(&place, &["undo", &root, "0"]);
    assert_eq!(place.live("lake").len(), 7, "{}", place.name);

    let grace = place.baler(&["undo", &root, "9"]);
    assert_eq!(grace.code, 1, "{}: {grace:?}", place.name);
    assert!(grace.stderr.contains("not among the committed jobs"), "{grace:?}");
}

async fn a_job_with_output_is_taken_back(place: Place) {
    place.write_many("data", 1, 4, 50).await;
    let out = place.at("packed");
    let run = place.compact("data", &["--sort-by", "key", "--output", &out]);
    assert_eq!((run.code, run.number("jobs")), (0, 1), "{}: {run:?}", place.name);
    ok(&place, &["undo", &out, "0"]);
    assert_eq!(
        place.live("packed").len(),
        4,
        "{}: those of the source",
        place.name
    );
    ok(&place, &["retry", &out]);
    let again = place.compact("data", &["--sort-by", "key", "--output", &out]);
    assert_eq!(
        (again.code, again.number("jobs")),
        (0, 1),
        "{}: {again:?}",
        place.name
    );
    ok(&place, &["gc", &out, "--now"]);
    assert_eq!(
        place.rows("packed").await.values().sum::<u64>(),
        200,
        "{}",
        place.name
    );
    assert_eq!(place.data_files("packed").await.len(), 1, "{}", place.name);
}

async fn in_place_it_depends_on_whether_inputs_are_kept(place: Place) {
    place.write_many("data", 1, 4, 50).await;
    let rows = place.rows("data").await;
    let names = place.data_files("data").await;
    let run = place.compact("data", &["--sort-by", "key"]);
    assert_eq!((run.code, run.number("jobs")), (0, 1), "{}: {run:?}", place.name);
    let root = place.at("data");
    if place.name != "directory" {
        let refused = place.baler(&["undo", &root, "0"]);
        assert_eq!(refused.code, 1, "{}: {refused:?}", place.name);
        assert!(
            refused.stderr.contains("--keep-inputs"),
            "{}: {refused:?}",
            place.name
        );
        assert_eq!(place.rows("data").await, rows, "{}", place.name);
        return;
    }
    // Somebody took the name of one of them.
    let taken = format!("data/{}", names[2]);
    place.write(&taken, &[(7, 7, "mine")]).await;
    let refused = place.baler(&["undo", &root, "0"]);
    assert_eq!(refused.code, 1, "{refused:?}");
    assert!(refused.stderr.contains("another file is called"), "{refused:?}");
    place.delete(&taken).await;

    ok(&place, &["undo", &root, "0"]);
    assert_eq!(place.data_files("data").await, names, "under their own names");
    assert_eq!(place.rows("data").await, rows);
    let again = place.compact("data", &["--sort-by", "key"]);
    assert_eq!(
        (again.code, again.number("jobs")),
        (0, 0),
        "left alone: {again:?}"
    );
    ok(&place, &["gc", &root, "--now"]);
    assert_eq!(
        place.rows("data").await,
        rows,
        "what lay aside was a copy by then"
    );
    ok(&place, &["verify", &root, "--deep"]);
    ok(&place, &["retry", &root]);
    let again = place.compact("data", &["--sort-by", "key"]);
    assert_eq!((again.code, again.number("jobs")), (0, 1), "{again:?}");
    assert_eq!(place.rows("data").await, rows);
    ok(&place, &["gc", &root, "--now"]);
    ok(&place, &["gc", &root, "--now"]);
    place.assert_no_orphans("data").await;
}
