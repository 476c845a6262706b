//! Older versions, and the promise to be reading one.

use super::{Rows, arrive, compact, create, files, read, texts};
use crate::support::{Scene, tenth_unless_soaking};

fn pin(scene: &Scene, flags: &[&str]) -> (String, u64) {
    let end = scene.baler(&[&["pin", "lake", "events", "--json"], flags].concat());
    assert_eq!(end.code, 0, "{end:?}");
    (
        end.json()["pin"].as_str().unwrap().to_owned(),
        end.number("version"),
    )
}

#[test]
fn a_pinned_version_reads_the_same_rows_through_commits_and_collections() {
    let scene = Scene::new();
    create(&scene, &["--sort-by", "key"]);
    arrive(&scene, "a.parquet", &[(1, 1, "a")]);
    arrive(&scene, "b.parquet", &[(2, 1, "b")]);
    let pinned = read(&scene, &[]);
    let (pin, _) = pin(&scene, &["--for", "2h", "--owner", "report"]);
    for round in 0..tenth_unless_soaking(50) {
        arrive(
            &scene,
            &format!("more-{round}.parquet"),
            &[(10 + i64::from(round), 1, "more")],
        );
        arrive(
            &scene,
            &format!("most-{round}.parquet"),
            &[(100 + i64::from(round), 1, "most")],
        );
        compact(&scene);
        assert_eq!(scene.baler(&["gc", "lake", "--now"]).code, 0);
        assert_eq!(read(&scene, &["--at", &pin]), pinned, "in round {round}");
    }
    assert!(scene.path("lake/a.parquet").exists(), "a pinned file was deleted");
    assert_eq!(scene.baler(&["unpin", "lake", &pin]).code, 0);
    scene.baler(&["gc", "lake", "--now"]);
    assert!(!scene.path("lake/a.parquet").exists(), "nobody reads it any more");
    assert_eq!(scene.baler(&["files", "lake", "--at", &pin]).code, 1);
    assert_eq!(
        scene.data_files("lake").len(),
        files(&scene, &[]).len(),
        "something was left behind"
    );
}

#[test]
fn versions_within_the_grace_period_can_be_read_and_pinned_by_number() {
    let scene = Scene::new();
    create(&scene, &["--sort-by", "key"]);
    arrive(&scene, "a.parquet", &[(1, 1, "a")]);
    let (first, version) = pin(&scene, &[]);
    assert_eq!(scene.baler(&["unpin", "lake", &first]).code, 0);
    arrive(&scene, "b.parquet", &[(2, 1, "b")]);
    compact(&scene);
    let at = version.to_string();
    assert_eq!(texts(&read(&scene, &["--at", &at])), ["a"]);
    assert_eq!(texts(&read(&scene, &[])), ["a", "b"]);
    let (_, again) = pin(&scene, &["--at", &at]);
    assert_eq!(again, version);
    scene.baler(&["gc", "lake", "--now"]);
    assert_eq!(texts(&read(&scene, &["--at", &at])), ["a"]);

    let future = scene.baler(&["files", "lake", "--at", "100000"]);
    assert_eq!(future.code, 1, "{future:?}");
    assert!(future.stderr.contains("cannot be read: versions"), "{future:?}");
    let odd = scene.baler(&["files", "lake", "--at", "yesterday"]);
    assert_eq!(odd.code, 2, "{odd:?}");
}

#[test]
fn a_pin_prints_the_files_that_it_holds() {
    let scene = Scene::new();
    create(&scene, &[]);
    arrive(&scene, "a.parquet", &[(1, 1, "a")]);
    let end = scene.baler(&["pin", "lake", "events", "--json"]);
    assert_eq!(end.json()["files"][0]["path"], "a.parquet", "{end:?}");
    let status = scene.baler(&["status", "lake", "--json"]);
    assert_eq!(status.number("pins"), 1);
    assert_eq!(scene.baler(&["unpin", "lake", "7.7"]).code, 1);
    assert_eq!(scene.baler(&["unpin", "lake", "seven"]).code, 2);
    assert_eq!(scene.baler(&["pin", "lake", "events", "--for", "0s"]).code, 2);
}

/// A plain folder has no versions: a pin would promise what nobody keeps.
#[test]
fn plain_tables_refuse_pins() {
    let scene = Scene::new();
    scene.write_many(4, 5);
    scene.compact(&[]);
    let end = scene.baler(&["pin", "data", "data"]);
    assert_eq!(end.code, 1, "{end:?}");
    assert!(end.stderr.contains("plain folder"), "{end:?}");
    let end = scene.baler(&["files", "data", "--at", "1"]);
    assert!(end.code == 1 && end.stderr.contains("plain folder"), "{end:?}");
    let nothing: Rows = Rows::new();
    assert_ne!(scene.rows("data"), nothing);
}

/// Trap: the end of a promise that a dead reader left is seen only in the present, and on an idle root nobody asks for it.
#[test]
fn a_pin_that_nobody_takes_back_ends_on_an_idle_root_too() {
    let scene = Scene::new();
    create(&scene, &["--sort-by", "key", "--grace", "0s"]);
    arrive(&scene, "a.parquet", &[(1, 1, "a")]);
    arrive(&scene, "b.parquet", &[(2, 1, "b")]);
    pin(&scene, &["--for", "2s"]);
    compact(&scene);
    scene.baler(&["gc", "lake"]);
    assert!(scene.path("lake/a.parquet").exists(), "a pinned file was deleted");
    std::thread::sleep(std::time::Duration::from_secs(3));
    scene.baler(&["gc", "lake"]);
    assert!(!scene.path("lake/a.parquet").exists(), "nobody reads it any more");
}
