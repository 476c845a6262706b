//! Receipts: every committed job leaves one, whoever dies, and says what it did.

use serde_json::Value;

use super::place::Place;

on_most_places!(
    a_committed_job_leaves_a_receipt_that_adds_up,
    a_process_that_dies_before_its_receipt_takes_nothing_with_it,
    receipts_go_with_their_table,
);

/// What `baler receipts` says, youngest first.
fn receipts(place: &Place, root: &str, flags: &[&str]) -> Vec<Value> {
    let root = place.at(root);
    let end = place.baler(&[&["receipts", &root, "--json"], flags].concat());
    assert_eq!(end.code, 0, "{}: {end:?}", place.name);
    let lines = end.stdout.lines();
    lines.map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn sum(of: &Value, what: &str) -> u64 {
    let items = of.as_array().unwrap().iter();
    items.map(|item| item[what].as_u64().unwrap()).sum()
}

async fn a_committed_job_leaves_a_receipt_that_adds_up(place: Place) {
    place.write_many("data", 2, 4, 50).await;
    let run = place.compact("data", &["--sort-by", "key"]);
    assert_eq!((run.code, run.number("jobs")), (0, 2), "{}: {run:?}", place.name);
    let all = receipts(&place, "data", &[]);
    let jobs: Vec<u64> = all
        .iter()
        .map(|receipt| receipt["job"].as_u64().unwrap())
        .collect();
    assert_eq!(jobs, [1, 0], "{}: youngest first", place.name);
    for receipt in &all {
        assert_eq!(sum(&receipt["inputs"], "rows"), 200, "{receipt}");
        assert_eq!(sum(&receipt["outputs"], "rows"), 200, "{receipt}");
        assert_eq!(receipt["inputs"].as_array().unwrap().len(), 4, "{receipt}");
        let proved = sum(&receipt["ranges"], "rows") + sum(&receipt["ranges"], "bytes");
        assert_eq!(proved, 200, "every row is proved: {receipt}");
        assert_eq!(receipt["ranges"][0]["read"], receipt["ranges"][0]["written"]);
        let ended: Vec<&Value> = receipt["tried"].as_array().unwrap().iter().collect();
        assert!(
            ended.iter().all(|tried| tried["ended"] == "finished"),
            "{receipt}"
        );
        assert_eq!(receipt["attempts"], 2, "a merge and its publishing: {receipt}");
        let (planned, committed) = (&receipt["planned"], &receipt["committed"]);
        assert!(
            planned["unix_ms"].as_u64() <= committed["unix_ms"].as_u64(),
            "{receipt}"
        );
        let asked = receipt["effort"]["requests"].as_u64().unwrap() > 0;
        assert_eq!(asked, place.name != "directory", "{receipt}");
        let paid = receipt["price_usd"].as_f64().unwrap() > 0.0;
        assert_eq!(paid, place.name != "directory", "{receipt}");
    }
    let live = place.live("data");
    let outputs = all
        .iter()
        .flat_map(|receipt| receipt["outputs"].as_array().unwrap());
    let mut outputs: Vec<&str> = outputs.map(|output| output["path"].as_str().unwrap()).collect();
    outputs.sort_unstable();
    assert_eq!(outputs, live, "{}", place.name);

    let shown = place.baler(&["receipts", &place.at("data"), "1"]);
    assert!(
        shown.stdout.contains("its figures add up"),
        "{}: {shown:?}",
        place.name
    );
    assert!(
        shown.stdout.contains("part-0003.parquet"),
        "{}: {shown:?}",
        place.name
    );
    assert_eq!(receipts(&place, "data", &["--since", "1h"]).len(), 2);
    assert_eq!(receipts(&place, "data", &["--table", "other"]).len(), 0);
    let none = place.baler(&["receipts", &place.at("data"), "7"]);
    assert_eq!(none.code, 1, "{}: {none:?}", place.name);
    assert!(none.stderr.contains("no receipt of job 7"), "{none:?}");
    let jobs = place.baler(&["jobs", &place.at("data"), "--json"]).json();
    assert_eq!(jobs["attempts"], 2, "{}: {jobs}", place.name);
}

/// Trap: a receipt that only the committing process could write is lost with it.
async fn a_process_that_dies_before_its_receipt_takes_nothing_with_it(place: Place) {
    place.write_many("data", 1, 4, 50).await;
    let mut dying = place.compact_command("data", &["--sort-by", "key"]);
    let died = dying
        .env("BALER_TEST_DIES_BEFORE_RECEIPTS", "1")
        .output()
        .unwrap();
    assert!(died.status.code().is_none(), "{}: {died:?}", place.name);
    assert_eq!(place.live("data").len(), 1, "{}: it was committed", place.name);
    assert!(receipts(&place, "data", &[]).is_empty(), "{}", place.name);

    let gc = place.baler(&["gc", &place.at("data")]);
    assert_eq!(gc.code, 0, "{}: {gc:?}", place.name);
    let all = receipts(&place, "data", &[]);
    assert_eq!(all.len(), 1, "{}: another wrote it", place.name);
    assert_eq!(sum(&all[0]["outputs"], "rows"), 200);
    assert_eq!(all[0]["tried"][0]["ended"], "finished", "{}", all[0]);
    assert!(
        all[0]["effort"]["worked_ms"].is_u64() && all[0]["effort"]["rows_merged"] != 0,
        "what only the dead process knew came with its result: {}",
        all[0]
    );
    let entries = place.names("data/_baler/journal").await.len();
    assert_eq!(place.baler(&["gc", &place.at("data")]).code, 0);
    let again = place.names("data/_baler/receipts").await.len();
    assert_eq!(again, 1, "{}: it is written once", place.name);
    let more = place.names("data/_baler/journal").await.len() - entries;
    assert!(more <= 1, "{}: {more} entries for nothing", place.name);
}

async fn receipts_go_with_their_table(place: Place) {
    let root = place.at("lake");
    let ok = |args: &[&str]| {
        let end = place.baler(args);
        assert_eq!(end.code, 0, "{}: {args:?}: {end:?}", place.name);
    };
    ok(&["table", "create", &root, "events", "--sort-by", "key"]);
    ok(&["table", "create", &root, "others", "--sort-by", "key"]);
    place.write_many("lake", 2, 4, 50).await;
    for (folder, table) in [("day=00", "events"), ("day=01", "others")] {
        let names: Vec<String> = (0..4)
            .map(|file| format!("{folder}/part-{file:04}.parquet"))
            .collect();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        ok(&[&["add", &root, table], &names[..]].concat());
    }
    ok(&["compact", &root]);
    assert_eq!(receipts(&place, "lake", &["--table", "events"]).len(), 1);
    let job = receipts(&place, "lake", &["--table", "events"])[0]["job"].to_string();
    ok(&["undo", &root, &job]);
    let undone = receipts(&place, "lake", &["--table", "events"]);
    assert!(
        undone[0]["undone"]["entry"].is_u64(),
        "{}: {undone:?}",
        place.name
    );
    let objects = place.names("lake/_baler/receipts").await;
    assert_eq!(objects.len(), 3, "{}: two receipts and a mark", place.name);
    ok(&["table", "alter", &root, "events", "--grace", "0s"]);
    ok(&["table", "drop", &root, "events"]);
    ok(&["gc", &root, "--now"]);
    ok(&["gc", &root, "--now"]);
    assert!(receipts(&place, "lake", &["--table", "events"]).is_empty());
    assert_eq!(receipts(&place, "lake", &[]).len(), 1, "{}", place.name);
    assert_eq!(
        place.names("lake/_baler/receipts").await.len(),
        1,
        "{}",
        place.name
    );
    // The name is free again once nothing of the table is left.
    ok(&["table", "create", &root, "events"]);
}
