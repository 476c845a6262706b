//! `audit`: the bucket against the journal, and nothing is changed.

use std::collections::BTreeMap;

use serde_json::Value;

use super::place::Place;

on_most_places!(
    a_root_that_was_only_worked_on_by_baler_is_clean,
    what_does_not_belong_is_told_by_kind,
    an_audit_changes_nothing,
);

/// What was found, by path, and the exit code.
fn audit(place: &Place, root: &str) -> (i32, BTreeMap<String, String>, Value) {
    let end = place.baler(&["audit", &place.at(root), "--json"]);
    let lines = end.stdout.lines();
    let mut lines: Vec<Value> = lines.map(|line| serde_json::from_str(line).unwrap()).collect();
    let summary = lines.pop().unwrap_or_else(|| panic!("{}: {end:?}", place.name));
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let found = lines
        .iter()
        .map(|line| (text(&line["path"]), text(&line["kind"])));
    (end.code, found.collect(), summary)
}

async fn packed(place: &Place) {
    place.write_many("data", 2, 4, 50).await;
    let run = place.compact("data", &["--sort-by", "key"]);
    assert_eq!((run.code, run.number("jobs")), (0, 2), "{}: {run:?}", place.name);
}

async fn a_root_that_was_only_worked_on_by_baler_is_clean(place: Place) {
    packed(&place).await;
    let (code, found, summary) = audit(&place, "data");
    assert_eq!(code, 0, "{}: {found:?}", place.name);
    assert_eq!(summary["clean"], true, "{}: {summary}", place.name);
    assert_eq!(summary["counts"]["live"], 2, "{}: {summary}", place.name);
    assert_eq!(summary["counts"]["receipt"], 2, "{}: {summary}", place.name);
    let aside = found.values().filter(|kind| *kind == "set_aside").count();
    let wanted = if place.name == "directory" { 8 } else { 0 };
    assert_eq!(aside, wanted, "{}: {found:?}", place.name);
    let unknown = summary["uploads_unknown"].is_string();
    assert_eq!(unknown, place.name == "Azurite", "{}: {summary}", place.name);
}

async fn what_does_not_belong_is_told_by_kind(place: Place) {
    packed(&place).await;
    let live = place.live("data");
    let bytes = place.get(&format!("data/{}", live[0])).await.unwrap().to_vec();
    let late = live[0].replace("-0.parquet", "-9.parquet");
    let foreign = "day=00/baler-00000000000000000000000000000abc-12-0-45.3-7.parquet";
    place.put(&format!("data/{late}"), bytes.clone()).await;
    place.put(&format!("data/{foreign}"), bytes).await;
    place.put("data/_baler/staging/77-0-5.1/0.staged", vec![1]).await;
    place.put("data/_baler/strange", vec![1]).await;
    place.write("data/day=00/new.parquet", &[(1, 1, "new")]).await;
    place.put("data/README.txt", vec![1]).await;
    place.delete(&format!("data/{}", live[1])).await;

    let (code, found, summary) = audit(&place, "data");
    assert_eq!(code, 1, "{}: {found:?}", place.name);
    assert_eq!(summary["clean"], false, "{}: {summary}", place.name);
    for (path, kind) in [
        (live[1].as_str(), "missing"),
        (&late, "leftover"),
        (foreign, "foreign"),
        ("_baler/staging/77-0-5.1/0.staged", "foreign"),
        ("_baler/strange", "foreign"),
        ("day=00/new.parquet", "new"),
        ("README.txt", "other"),
    ] {
        assert_eq!(
            found.get(path).map(String::as_str),
            Some(kind),
            "{}: {path}",
            place.name
        );
    }

    // Somebody puts another file under a live one's name.
    place
        .write(&format!("data/{}", live[0]), &[(1, 1, "other")])
        .await;
    let (code, found, _) = audit(&place, "data");
    assert_eq!(code, 1);
    assert_eq!(
        found.get(&live[0]).map(String::as_str),
        Some("differs"),
        "{}",
        place.name
    );
}

async fn an_audit_changes_nothing(place: Place) {
    packed(&place).await;
    let before = place.names("data").await;
    audit(&place, "data");
    assert_eq!(place.names("data").await, before, "{}", place.name);
}
