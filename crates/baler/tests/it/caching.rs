//! A cache makes a run cheaper and never wrong: whatever becomes of it, the rows are those of the store.

use std::fs;
use std::path::{Path, PathBuf};

use rustix::process::Signal;

use crate::fleet::{Fleet, wait_until};
use crate::support::{Ended, Scene};

/// The same source, compacted to a new place each time.
fn pack(scene: &Scene, to: &str, args: &[&str]) -> Ended {
    let all = [
        "compact",
        "data",
        "--output",
        to,
        "--settle",
        "0s",
        "--json",
        "--sort-by",
        "key",
    ];
    let ended = scene.baler(&[&all[..], args].concat());
    assert_eq!(ended.code, 0, "{ended:?}");
    assert_eq!(scene.rows(to), scene.rows("data"), "{to}");
    ended
}

fn cached(ended: &Ended, what: &str) -> u64 {
    ended.json()["cache"][what]
        .as_u64()
        .unwrap_or_else(|| panic!("no {what} in {ended:?}"))
}

fn entries(dir: &Path) -> Vec<PathBuf> {
    let folders = fs::read_dir(dir.join("entries")).unwrap();
    let files = folders.flat_map(|folder| fs::read_dir(folder.unwrap().path()).unwrap());
    files.map(|file| file.unwrap().path()).collect()
}

#[test]
fn the_second_reader_of_a_file_asks_the_cache() {
    let scene = Scene::new();
    scene.write_many(12, 500);
    let first = pack(&scene, "a", &["--cache", "cache"]);
    assert_eq!(cached(&first, "hits"), 0);
    assert!(cached(&first, "bytes_stored") > 0);
    let second = pack(&scene, "b", &["--cache", "cache"]);
    assert_eq!(cached(&second, "misses"), 0, "{second:?}");
    assert!(cached(&second, "hits") >= 12, "{second:?}");
    let without = pack(&scene, "c", &[]);
    assert!(without.json()["cache"].is_null());
}

#[test]
fn a_file_overwritten_in_the_store_is_read_from_the_store() {
    let scene = Scene::new();
    scene.write_many(8, 100);
    pack(&scene, "a", &["--cache", "cache"]);
    let rows: Vec<(i64, i64, &str)> = (0..100).map(|row| (row * 8 + 3, 99, "overwritten")).collect();
    scene.write("data/part-0003.parquet", &rows);
    let second = pack(&scene, "b", &["--cache", "cache"]);
    assert!(
        cached(&second, "misses") > 0 && cached(&second, "hits") > 0,
        "{second:?}"
    );
}

#[test]
fn damage_in_the_cache_costs_a_read_and_nothing_else() {
    let scene = Scene::new();
    scene.write_many(8, 100);
    pack(&scene, "a", &["--cache", "cache"]);
    for path in entries(&scene.path("cache")) {
        let mut bytes = fs::read(&path).unwrap();
        bytes[100] ^= 1;
        fs::write(&path, bytes).unwrap();
    }
    let second = pack(&scene, "b", &["--cache", "cache"]);
    assert!(cached(&second, "damaged") >= 8, "{second:?}");
    assert_eq!(cached(&second, "hits"), 0, "{second:?}");
    let third = pack(&scene, "c", &["--cache", "cache"]);
    assert_eq!(
        (cached(&third, "damaged"), cached(&third, "misses")),
        (0, 0),
        "{third:?}"
    );
}

#[test]
fn a_cache_that_is_of_no_use_is_in_nobodys_way() {
    let scene = Scene::new();
    scene.write_many(4, 100);
    let read_only = pack(&scene, "a", &["--cache", "/proc/self"]);
    assert_eq!(cached(&read_only, "hits"), 0);
    fs::write(scene.path("file"), "x").unwrap();
    let refused = scene.baler(&["compact", "data", "--output", "b", "--cache", "file"]);
    assert_eq!(refused.code, 1, "{refused:?}");
    assert!(refused.stderr.contains("--cache"), "{refused:?}");
    let small = scene.baler(&[
        "compact",
        "data",
        "--output",
        "b",
        "--cache",
        "c",
        "--cache-bytes",
        "1KiB",
    ]);
    assert_eq!(small.code, 2, "{small:?}");
    let alone = scene.baler(&["compact", "data", "--output", "b", "--cache-bytes", "1GiB"]);
    assert_eq!(alone.code, 2, "{alone:?}");
    assert!(!scene.path("b").exists());
}

#[test]
fn two_processes_share_one_cache_within_its_bound() {
    let scene = Scene::new();
    scene.write_many(30, 20_000);
    let bound = ["--cache", "cache", "--cache-bytes", "2MiB"];
    std::thread::scope(|scope| {
        for to in ["a", "b", "c"] {
            let scene = &scene;
            scope.spawn(move || pack(scene, to, &bound));
        }
    });
    let files = entries(&scene.path("cache"));
    let bytes: u64 = files.iter().map(|path| fs::metadata(path).unwrap().len()).sum();
    // Each process may be behind by what it added since it last looked.
    assert!(
        bytes < (2 << 20) + 3 * (1 << 20),
        "{bytes} bytes in {} files",
        files.len()
    );
}

/// The attempts whose outputs lie in the cache, whole and to be found.
fn holds(dir: &Path, attempt: &str) -> bool {
    let named = |path: &PathBuf| {
        let bytes = fs::read(path).unwrap();
        let key = bytes[bytes.len().saturating_sub(2_000)..].to_vec();
        String::from_utf8_lossy(&key).contains(attempt)
    };
    entries(dir).iter().any(named)
}

/// Trap: what a loser wrote is served to the next merge.
#[test]
fn outputs_of_the_winner_enter_and_those_of_a_loser_never() {
    let fleet = Fleet::new();
    fleet.scene.write_many(40, 20_000);
    let serve = fleet.serve(&["--no-worker", "--lease", "1s"]);
    let args = ["--cache", "cache", "--threads", "1"];
    let loser = fleet.worker(&[&serve.url], &args);
    let lost = fleet.wait_for_attempt();
    loser.send(Signal::STOP);
    let heir = fleet.worker(&[&serve.url], &args);
    wait_until("another has committed", || fleet.committed() == 1);
    loser.send(Signal::CONT);
    let output = fleet.scene.data_files("data").remove(0);
    let won = output.file_stem().unwrap().to_str().unwrap().to_owned();
    assert!(!won.contains(&lost), "it did not lose");
    let cache = fleet.scene.path("cache");
    wait_until("the winner's output has entered", || holds(&cache, &won));
    let mut processes = [loser, heir];
    for process in &mut processes {
        assert_eq!(process.stop(), Some(0));
    }
    assert!(!holds(&cache, &lost), "what {lost} wrote is in the cache");
    assert_eq!(
        fs::read_dir(cache.join("new")).unwrap().count(),
        0,
        "and nothing is left of it"
    );
}
