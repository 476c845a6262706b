//! Native tables, on every place.

use std::collections::BTreeMap;

use super::place::Place;
use crate::support::{Ended, rows_in};

on_every_place!(
    files_are_added_compacted_pinned_and_collected,
    what_is_added_must_lie_below_the_root,
);

fn ok(place: &Place, args: &[&str]) -> Ended {
    let end = place.baler(args);
    assert_eq!(end.code, 0, "{}: {args:?}: {end:?}", place.name);
    end
}

/// What a reader reads who reads what it is told there is.
async fn read(place: &Place, flags: &[&str]) -> BTreeMap<String, u64> {
    let root = place.at("lake");
    let files = ok(place, &[&["files", &root, "--json"], flags].concat());
    let mut counted = BTreeMap::new();
    for line in files.stdout.lines() {
        let file: serde_json::Value = serde_json::from_str(line).unwrap();
        let path = format!("lake/{}", file["path"].as_str().unwrap());
        let bytes = place
            .get(&path)
            .await
            .unwrap_or_else(|| panic!("{}: {path} is gone", place.name));
        for row in rows_in(bytes) {
            *counted.entry(row).or_default() += 1;
        }
    }
    counted
}

async fn files_are_added_compacted_pinned_and_collected(place: Place) {
    let root = place.at("lake");
    ok(
        &place,
        &[
            "table",
            "create",
            &root,
            "events",
            "--sort-by",
            "key",
            "--grace",
            "1h",
        ],
    );
    place.write_many("lake", 1, 4, 50).await;
    let names = place.data_files("lake").await;
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let add = [&["add", &root, "events", "--json"], &names[..]].concat();
    assert_eq!(ok(&place, &add).number("added"), 4);
    let rows = read(&place, &[]).await;
    assert_eq!(rows.values().sum::<u64>(), 200);
    let pin = ok(&place, &["pin", &root, "events", "--json"]).json()["pin"].clone();
    let pin = pin.as_str().unwrap();

    let run = ok(&place, &["compact", &root, "--json"]);
    assert_eq!(
        (run.number("jobs"), run.number("files_after")),
        (1, 1),
        "{}: {run:?}",
        place.name
    );
    assert_eq!(read(&place, &[]).await, rows, "{}", place.name);
    let again = ok(&place, &add);
    assert_eq!(
        (again.number("added"), again.number("known")),
        (0, 4),
        "{}: {again:?}",
        place.name
    );
    // Outputs are inputs of later jobs, in the version that was written.
    place.write("lake/day=00/more-1.parquet", &[(1, 9, "more")]).await;
    place.write("lake/day=00/more-2.parquet", &[(2, 9, "more")]).await;
    let more = ["day=00/more-1.parquet", "day=00/more-2.parquet"];
    ok(&place, &[&["add", &root, "events"], &more[..]].concat());
    ok(&place, &["compact", &root, "--json"]);
    assert_eq!(
        read(&place, &[]).await.values().sum::<u64>(),
        202,
        "{}",
        place.name
    );
    ok(&place, &["verify", &root]);

    ok(&place, &["gc", &root, "--now"]);
    assert_eq!(read(&place, &["--at", pin]).await, rows, "{}", place.name);
    ok(&place, &["unpin", &root, pin]);
    ok(&place, &["gc", &root, "--now"]);
    ok(&place, &["gc", &root, "--now"]);
    place.assert_no_orphans("lake").await;
}

async fn what_is_added_must_lie_below_the_root(place: Place) {
    let root = place.at("lake");
    ok(&place, &["table", "create", &root, "events"]);
    place.write("lake/a.parquet", &[(1, 1, "a")]).await;
    place.write("lake2/a.parquet", &[(1, 1, "a")]).await;
    let (inside, outside) = (place.at("lake/a.parquet"), place.at("lake2/a.parquet"));
    let end = place.baler(&[
        "add",
        &root,
        "events",
        &inside,
        &outside,
        "none.parquet",
        "--json",
    ]);
    assert_eq!((end.code, end.number("added")), (1, 1), "{}: {end:?}", place.name);
    let bad = end.json()["bad"].as_array().unwrap().clone();
    assert_eq!(bad.len(), 2, "{}: {end:?}", place.name);
    assert!(
        bad[0]["reason"].as_str().unwrap().contains("not below"),
        "{bad:?}"
    );
    assert!(
        bad[1]["reason"].as_str().unwrap().contains("no such file"),
        "{bad:?}"
    );
}
