//! What Baler will not do, and what it says instead.

use std::fs;
use std::process::Stdio;

use crate::support::{Ended, Scene, ended};

fn assert_refused(run: &Ended, code: i32, says: &str) {
    assert_eq!(run.code, code, "{run:?}");
    assert!(run.stderr.contains(says), "expected {says:?} in {run:?}");
}

#[test]
fn delta_iceberg_and_hudi_folders_are_refused_above_inside_and_below() {
    for marker in [
        "_delta_log/0.json",
        "metadata/v1.metadata.json",
        ".hoodie/hoodie.properties",
    ] {
        for place in ["data", "data/deeper", ""] {
            let scene = Scene::new();
            scene.write_many(3, 5);
            let path = scene.path(place).join(marker);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, "{}").unwrap();
            let before = scene.everything("data");
            let run = scene.compact(&[]);
            assert_eq!(run.code, 1, "{marker} in {place:?}: {run:?}");
            assert!(scene.everything("data") == before, "something was written");
        }
    }
}

#[test]
fn a_root_inside_a_root_is_refused() {
    let scene = Scene::new();
    scene.write_many(3, 5);
    scene.write("data/inner/a.parquet", &[(1, 1, "a")]);
    scene.write("data/inner/b.parquet", &[(2, 1, "b")]);
    assert_eq!(scene.compact(&[]).code, 0);
    let inside = scene.baler(&["compact", "data/inner", "--settle", "0s"]);
    assert_eq!(inside.code, 1, "{inside:?}");
    assert!(!scene.path("data/inner/_baler").exists());
    let around = scene.baler(&["compact", ".", "--settle", "0s"]);
    assert_eq!(around.code, 1, "{around:?}");
}

/// Neither is there when the other looks: only a second look, after the first entry is written, tells them.
#[test]
fn of_two_overlapping_roots_made_at_once_not_both_are_taken() {
    for _ in 0..10 {
        let scene = Scene::new();
        scene.write("data/a.parquet", &[(1, 1, "a")]);
        scene.write("data/inner/b.parquet", &[(2, 1, "b")]);
        let compact = |root| {
            let mut command = scene.command(&["compact", root, "--settle", "0s"]);
            let piped = command.stdout(Stdio::piped()).stderr(Stdio::piped());
            piped.spawn().unwrap()
        };
        let both = [compact("data"), compact("data/inner")];
        let ends = both.map(|child| ended(child.wait_with_output().unwrap()));
        assert!(ends.iter().any(|end| end.code == 1), "{ends:?}");
        assert_eq!(scene.rows("data").len(), 2);
    }
}

#[test]
fn a_changed_sort_key_on_a_known_root_names_what_to_do() {
    let scene = Scene::new();
    scene.write_many(3, 5);
    scene.compact(&["--sort-by", "key"]);
    let run = scene.compact(&["--sort-by", "seq"]);
    assert_refused(&run, 2, "--output");
    assert!(run.stderr.contains("sorted by key"), "{run:?}");
    assert_eq!(
        scene.compact(&["--sort-by", "key"]).code,
        0,
        "the same one is fine"
    );
}

#[test]
fn a_column_that_no_file_has_is_refused_and_nothing_is_merged() {
    let scene = Scene::new();
    scene.write_many(3, 5);
    let run = scene.compact(&["--sort-by", "kye"]);
    assert_refused(&run, 2, "no file has a column kye; there are: key, seq, text");
    assert_eq!(scene.data_files("data").len(), 3);
    assert_eq!(
        scene.compact(&["--sort-by", "key"]).code,
        0,
        "the typing error is not remembered"
    );
}

#[test]
fn source_and_output_may_not_overlap() {
    let scene = Scene::new();
    scene.write_many(3, 5);
    for output in ["data", "data/inside", "."] {
        let run = scene.compact(&["--output", output]);
        assert_eq!(run.code, 1, "{output}: {run:?}");
    }
    assert!(!scene.path("data/inside").exists() && !scene.path("_baler").exists());
}

#[test]
fn an_output_belongs_to_one_source() {
    let scene = Scene::new();
    scene.write_many(3, 5);
    scene.write("other/a.parquet", &[(1, 1, "a")]);
    scene.compact(&["--output", "packed"]);
    let run = scene.baler(&["compact", "other", "--output", "packed", "--settle", "0s"]);
    assert_refused(&run, 2, "give another --output");
    let in_place = scene.baler(&["compact", "packed", "--settle", "0s"]);
    assert_eq!(in_place.code, 2, "{in_place:?}");
}

#[test]
fn an_output_with_somebody_elses_files_is_refused() {
    let scene = Scene::new();
    scene.write_many(3, 5);
    scene.write("packed/mine.parquet", &[(1, 1, "mine")]);
    let run = scene.compact(&["--output", "packed"]);
    assert_eq!(run.code, 1, "{run:?}");
    assert!(!scene.path("packed/_baler").exists());
}

/// A folder copied without its journal, or a restored backup.
#[test]
fn files_of_another_journal_stop_the_run_until_they_are_adopted() {
    let scene = Scene::new();
    scene.write_many(3, 5);
    scene.compact(&[]);
    fs::create_dir(scene.path("copy")).unwrap();
    for path in scene.data_files("data") {
        fs::copy(&path, scene.path("copy").join(path.file_name().unwrap())).unwrap();
    }
    scene.write("copy/new.parquet", &[(1, 1, "new")]);
    let before = scene.data_files("copy");
    let run = scene.baler(&["compact", "copy", "--settle", "0s", "--json"]);
    assert_refused(&run, 1, "--adopt-foreign");
    assert_eq!(scene.data_files("copy"), before);
    let run = scene.baler(&["compact", "copy", "--settle", "0s", "--json", "--adopt-foreign"]);
    assert_eq!((run.code, run.number("rows_out")), (0, 16), "{run:?}");
}

#[test]
fn a_folder_that_is_missing_or_no_folder_is_named() {
    let scene = Scene::new();
    fs::write(scene.path("file"), "x").unwrap();
    assert_refused(&scene.baler(&["compact", "nowhere"]), 1, "nowhere");
    assert_refused(&scene.baler(&["compact", "file"]), 1, "file");
    fs::create_dir(scene.path("plain")).unwrap();
    for command in ["status", "files", "verify", "gc"] {
        assert_refused(&scene.baler(&[command, "plain"]), 1, "not a Baler root");
    }
}

#[test]
fn a_damaged_journal_stops_with_a_word_and_is_never_taken_for_an_empty_one() {
    let scene = Scene::new();
    scene.write_many(3, 5);
    scene.compact(&[]);
    let entry = scene.path("data/_baler/journal/00000000000000000002");
    fs::write(&entry, b"").unwrap();
    let before = scene.data_files("data");
    for command in [
        &["compact", "data"][..],
        &["status", "data"],
        &["gc", "data", "--now"],
    ] {
        let run = scene.baler(command);
        assert_refused(&run, 1, "entry 2");
    }
    assert_eq!(scene.data_files("data"), before);
}

#[test]
fn reading_commands_write_nothing() {
    let scene = Scene::new();
    scene.write_many(4, 5);
    let untouched = scene.everything("data");
    assert_eq!(scene.baler(&["plan", "data", "--settle", "0s"]).code, 0);
    assert!(scene.everything("data") == untouched, "plan wrote something");
    scene.compact(&[]);
    scene.write("data/new-1.parquet", &[(1, 1, "new")]);
    scene.write("data/new-2.parquet", &[(2, 1, "new")]);
    let before = scene.everything("data");
    for command in [
        &["plan", "data", "--settle", "0s"][..],
        &["status", "data"],
        &["files", "data"],
        &["verify", "data"],
        &["gc", "data", "--dry-run"],
    ] {
        assert_eq!(scene.baler(command).code, 0, "{command:?}");
        assert!(scene.everything("data") == before, "{command:?} wrote something");
    }
}

/// The full disk is a file size limit here, which any user may set.
#[test]
fn a_full_disk_ends_the_run_with_a_word_and_loses_nothing() {
    let scene = Scene::new();
    let mut state = 1u64;
    for file in 0..6 {
        let texts: Vec<String> = (0..5_000)
            .map(|_| {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                format!("{state:x}{:x}", state.rotate_left(17))
            })
            .collect();
        let rows: Vec<(i64, i64, &str)> = (0..)
            .zip(&texts)
            .map(|(row, text)| (row, file, text.as_str()))
            .collect();
        scene.write(&format!("data/part-{file}.parquet"), &rows);
    }
    let before = scene.rows("data");
    let baler = env!("CARGO_BIN_EXE_baler");
    let limited = std::process::Command::new("bash")
        .args([
            "-c",
            &format!("ulimit -f 200; trap '' XFSZ; {baler} compact data --settle 0s --json"),
        ])
        .current_dir(scene.path("."))
        .output()
        .unwrap();
    let run = crate::support::ended(limited);
    assert_eq!(run.code, 1, "{run:?}");
    assert_eq!(scene.rows("data"), before);
    let run = scene.compact(&[]);
    assert_eq!((run.code, run.number("files_after")), (0, 1), "{run:?}");
    assert_eq!(scene.rows("data"), before);
}

/// A restored backup of a replaced output, or a copy in another folder.
#[test]
fn a_copy_of_an_output_is_neither_taken_nor_deleted_by_surprise() {
    let scene = Scene::new();
    scene.write_many(3, 5);
    scene.compact(&[]);
    let output = scene.data_files("data").remove(0);
    fs::create_dir(scene.path("data/copies")).unwrap();
    let copy = scene.path("data/copies").join(output.file_name().unwrap());
    fs::copy(&output, &copy).unwrap();
    let run = scene.compact(&[]);
    assert_eq!((run.code, run.number("jobs")), (0, 0), "{run:?}");
    assert!(
        run.json()["skipped"][0]["reason"]
            .as_str()
            .unwrap()
            .contains("not one of its live files"),
        "{run:?}"
    );
    scene.baler(&["gc", "data", "--now"]);
    assert!(copy.exists(), "gc deleted what nobody listed");
    let full = scene.baler(&["gc", "data", "--full", "--now", "--json"]);
    assert_eq!((full.code, full.number("deleted")), (0, 1), "{full:?}");
    assert!(!copy.exists() && output.exists());
}
