//! `baler chaos` through the front door: it finds nothing wrong, it finds what is wrong, and it leaves nothing behind.

use super::place::Place;

on_most_places!(chaos_counts_every_row_and_leaves_nothing_behind);

async fn chaos_counts_every_row_and_leaves_nothing_behind(place: Place) {
    place.write("mine/precious.parquet", &[(1, 1, "mine")]).await;
    let before = place.names("mine").await;
    let run = place.baler(&[
        "chaos",
        &place.at("mine"),
        "--minutes",
        "0.2",
        "--kills",
        "5",
        "--json",
    ]);
    assert_eq!(run.code, 0, "{}: {run:?}", place.name);
    let chaos = run.json();
    assert_eq!(chaos["verdict"], "held", "{chaos}");
    assert!(
        chaos["kills"].as_u64() > Some(0) && chaos["jobs"].as_u64() > Some(0),
        "{chaos}"
    );
    let faults: u64 = chaos["faults"]
        .as_object()
        .unwrap()
        .values()
        .filter_map(serde_json::Value::as_u64)
        .sum();
    assert!(faults > 0, "{}: no request met a fault: {chaos}", place.name);
    assert_eq!(
        place.names("mine").await,
        before,
        "{}: something was left behind, or touched",
        place.name
    );
}

/// Trap: a test that says that all is well whatever happened.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn chaos_notices_a_row_that_is_gone() {
    let place = Place::directory();
    std::fs::create_dir(place.folder().join("mine")).unwrap();
    let mut command = place.command(&[
        "chaos",
        &place.at("mine"),
        "--minutes",
        "0.1",
        "--kills",
        "1",
        "--json",
    ]);
    let child = command.spawn().unwrap();
    // Somebody takes files away behind its back, all the time: a single one may have been replaced just then.
    let thief = async {
        loop {
            tokio::time::sleep(std::time::Duration::from_millis(200)).await;
            let names = place.data_files("mine").await;
            if let Some(name) = names.iter().find(|name| name.contains("/part=")) {
                let _gone_already = std::fs::remove_file(place.folder().join("mine").join(name));
            }
        }
    };
    let run = tokio::select! {
        () = thief => unreachable!("a thief does not end by himself"),
        ended = tokio::task::spawn_blocking(move || child.wait_with_output()) => crate::support::ended(ended.unwrap().unwrap()),
    };
    assert_eq!(run.code, 1, "{run:?}");
    let chaos = run.json();
    assert_eq!(chaos["verdict"], "broken", "{chaos}");
    assert!(chaos["lost"].as_u64() > Some(0), "{chaos}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn chaos_refuses_a_root() {
    let place = Place::directory();
    place.write_many("data", 1, 2, 5).await;
    assert_eq!(place.compact("data", &[]).code, 0);
    let run = place.baler(&["chaos", &place.at("data")]);
    assert_eq!(run.code, 1, "{run:?}");
    assert!(run.stderr.contains("roots never overlap"), "{run:?}");
}
