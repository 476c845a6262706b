//! `verify --deep`: what was changed behind Baler's back is found, whatever it is.

use serde_json::Value;

use super::place::Place;

on_most_places!(
    a_whole_root_is_proved_file_by_file_with_its_receipts,
    a_flipped_bit_is_found,
    a_missing_file_is_found,
    a_foreign_file_is_found,
    a_receipt_that_says_something_else_is_found,
);

/// Two jobs, one upon the other.
async fn packed(place: &Place, root: &str, flags: &[&str]) {
    place.write_many("data", 1, 4, 50).await;
    let flags = [&["--sort-by", "key"], flags].concat();
    let run = place.compact("data", &flags);
    assert_eq!((run.code, run.number("jobs")), (0, 1), "{}: {run:?}", place.name);
    for more in 0..3 {
        let rows: Vec<(i64, i64, &str)> = (0..50).map(|row| (row, 9, "more")).collect();
        place
            .write(&format!("data/day=00/more-{more}.parquet"), &rows)
            .await;
    }
    let run = place.compact("data", &flags);
    assert_eq!((run.code, run.number("jobs")), (0, 1), "{}: {run:?}", place.name);
    assert_eq!(place.live(root).len(), 1, "{}: {run:?}", place.name);
}

/// What is wrong, and the exit code.
fn wrong(place: &Place, root: &str) -> (i32, Vec<Value>) {
    let end = place.baler(&["verify", &place.at(root), "--deep", "--json"]);
    let lines = end.stdout.lines();
    let lines = lines.map(|line| serde_json::from_str::<Value>(line).unwrap());
    (end.code, lines.filter(|line| line["ok"] == false).collect())
}

async fn a_whole_root_is_proved_file_by_file_with_its_receipts(place: Place) {
    packed(&place, "data", &[]).await;
    let end = place.baler(&["verify", &place.at("data"), "--deep", "--json"]);
    assert_eq!(end.code, 0, "{}: {end:?}", place.name);
    let file = end.json();
    assert_eq!(file["receipt"], "agrees", "{}: {file}", place.name);
    assert!(
        ["digest", "rows"].contains(&file["proved_by"].as_str().unwrap()),
        "{}: {file}",
        place.name
    );

    let out = place.at("packed");
    place.write("source/a.parquet", &[(1, 1, "a")]).await;
    place.write("source/b.parquet", &[(2, 1, "b")]).await;
    let run = place.compact("source", &["--sort-by", "key", "--output", &out]);
    assert_eq!(run.code, 0, "{}: {run:?}", place.name);
    let end = place.baler(&["verify", &out, "--deep"]);
    assert_eq!(end.code, 0, "{}: {end:?}", place.name);
}

async fn a_flipped_bit_is_found(place: Place) {
    packed(&place, "data", &[]).await;
    let live = place.live("data").remove(0);
    let path = format!("data/{live}");
    let mut bytes = place.get(&path).await.unwrap().to_vec();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    place.put(&path, bytes).await;
    let (code, wrong) = wrong(&place, "data");
    assert_eq!(code, 1, "{}: {wrong:?}", place.name);
    assert_eq!(wrong[0]["path"], live.as_str(), "{}: {wrong:?}", place.name);
    assert!(
        wrong[0]["advice"].as_str().unwrap().contains("restore"),
        "{wrong:?}"
    );
}

async fn a_missing_file_is_found(place: Place) {
    packed(&place, "data", &[]).await;
    let live = place.live("data").remove(0);
    place.delete(&format!("data/{live}")).await;
    let (code, wrong) = wrong(&place, "data");
    assert_eq!((code, wrong.len()), (1, 1), "{}: {wrong:?}", place.name);
    assert_eq!(wrong[0]["path"], live.as_str(), "{}: {wrong:?}", place.name);
    let problem = wrong[0]["problem"].as_str().unwrap();
    assert!(problem.contains("missing"), "{}: {problem}", place.name);
    assert!(
        wrong[0]["advice"].as_str().unwrap().contains("baler undo"),
        "{}: its inputs may still be kept: {wrong:?}",
        place.name
    );
}

async fn a_foreign_file_is_found(place: Place) {
    packed(&place, "data", &[]).await;
    let stranger = "day=00/baler-00000000000000000000000000000abc-12-0-45.3-7.parquet";
    let live = place.live("data").remove(0);
    let bytes = place.get(&format!("data/{live}")).await.unwrap();
    place.put(&format!("data/{stranger}"), bytes.to_vec()).await;
    let (code, wrong) = wrong(&place, "data");
    assert_eq!((code, wrong.len()), (1, 1), "{}: {wrong:?}", place.name);
    assert_eq!(wrong[0]["path"], stranger, "{}: {wrong:?}", place.name);
}

async fn a_receipt_that_says_something_else_is_found(place: Place) {
    packed(&place, "data", &[]).await;
    let name = place.names("data/_baler/receipts").await.remove(0);
    let path = format!("data/_baler/receipts/{name}");
    let text = place.get(&path).await.unwrap();
    let mut receipt: Value = serde_json::from_slice(&text).unwrap();
    assert_eq!(receipt["job"], 0, "the first job, whose output is merged on");
    let rows = receipt["outputs"][0]["rows"].as_u64().unwrap();
    receipt["outputs"][0]["rows"] = (rows - 1).into();
    receipt["inputs"][0]["rows"] = (receipt["inputs"][0]["rows"].as_u64().unwrap() - 1).into();
    place.put(&path, serde_json::to_vec(&receipt).unwrap()).await;
    let (code, wrong) = wrong(&place, "data");
    assert_eq!((code, wrong.len()), (1, 1), "{}: {wrong:?}", place.name);
    assert_eq!(wrong[0]["receipt"], "disagrees", "{}: {wrong:?}", place.name);
    let problem = wrong[0]["problem"].as_str().unwrap();
    assert!(problem.contains("job 0"), "{}: {problem}", place.name);
}
