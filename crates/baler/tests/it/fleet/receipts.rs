//! Receipts of a fleet: whoever is left writes them, and a coordinator shows them.

use serde_json::Value;

use super::processes::{Fleet, wait_until};

/// What a coordinator or the folder says, youngest first.
fn receipts(fleet: &Fleet, place: &str) -> Vec<Value> {
    let end = fleet.scene.baler(&["receipts", place, "--json"]);
    assert_eq!(end.code, 0, "{end:?}");
    let lines = end.stdout.lines();
    lines.map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[test]
fn a_coordinator_writes_the_receipts_of_its_workers_and_shows_them() {
    let fleet = Fleet::new();
    fleet.scene.write_many(6, 200);
    let rows = fleet.scene.rows("data");
    let serve = fleet.serve(&["--no-worker"]);
    let worker = fleet.worker(&[&serve.url], &[]);
    fleet.wait_for_rest(1, &rows);
    wait_until("its receipt is written", || {
        !receipts(&fleet, &serve.url).is_empty()
    });

    let shown = receipts(&fleet, &serve.url);
    assert_eq!(shown, receipts(&fleet, "data"), "the same, whoever is asked");
    let receipt = &shown[0];
    let tried = receipt["tried"][0]["worker"].as_str().unwrap();
    assert!(tried.contains(&worker.pid().to_string()), "{receipt}");
    assert!(receipt["effort"]["bytes_in"].as_u64().unwrap() > 0, "{receipt}");
    let job = receipt["job"].to_string();
    let whole = fleet.scene.baler(&["receipts", &serve.url, &job]);
    assert!(whole.stdout.contains("its figures add up"), "{whole:?}");
    let none = fleet.scene.baler(&["receipts", &serve.url, "99"]);
    assert!(
        none.code == 1 && none.stderr.contains("no receipt of job 99"),
        "{none:?}"
    );
    let ended = fleet.scene.baler(&["jobs", &serve.url]);
    assert!(ended.stdout.contains("attempt(s)"), "{ended:?}");
}
