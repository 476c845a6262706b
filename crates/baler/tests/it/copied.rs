//! Roots that were copied with their journals, or restored: nobody goes on there as if nothing had happened, and after a repair
//! every row is there once.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use crate::support::{Ended, Scene};

type Rows = BTreeMap<String, u64>;

/// A root after a compaction, with its originals set aside and new files that nobody knows yet. Answers with its rows.
fn compacted(scene: &Scene) -> Rows {
    scene.write_many(6, 50);
    let run = scene.compact(&["--sort-by", "key"]);
    assert_eq!(run.code, 0, "{run:?}");
    assert_eq!(aside(scene, "data").len(), 6);
    scene.write("data/late-0.parquet", &[(1, 90, "late")]);
    scene.write("data/late-1.parquet", &[(2, 90, "late")]);
    scene.rows("data")
}

fn aside(scene: &Scene, root: &str) -> Vec<PathBuf> {
    let everything = scene.everything(root).into_keys();
    everything
        .filter(|path| path.extension().is_some_and(|extension| extension == "aside"))
        .collect()
}

fn shell(scene: &Scene, command: &str) {
    let done = Command::new("sh")
        .args(["-c", command])
        .current_dir(scene.path("."))
        .status();
    assert!(done.unwrap().success(), "{command}");
}

fn compact(scene: &Scene, root: &str) -> Ended {
    scene.baler(&["compact", root, "--settle", "0s", "--json"])
}

fn repair(scene: &Scene, root: &str) -> Value {
    let run = scene.baler(&["journal", "repair", root, "--wait", "0s", "--json"]);
    assert!(run.code == 0 || run.code == 1, "{run:?}");
    let mended = run.json();
    let certain = ["uncertain", "second_copies"]
        .iter()
        .all(|kind| names(&mended, kind).is_empty());
    assert_eq!(run.code == 0, certain, "{run:?}");
    mended
}

fn names(mended: &Value, kind: &str) -> Vec<String> {
    let files = mended[kind].as_array().unwrap().iter();
    files
        .map(|file| file["path"].as_str().unwrap().to_owned())
        .collect()
}

fn journal(scene: &Scene, root: &str) -> Value {
    let checked = scene.baler(&["journal", "check", root, "--json"]);
    checked.json()["journal"].clone()
}

/// What a refusal must say: where, and what to do.
fn assert_refused(end: &Ended, root: &Path) {
    assert_eq!(end.code, 1, "{end:?}");
    let advice = format!(
        "baler journal repair {}",
        fs::canonicalize(root).unwrap().display()
    );
    assert!(end.stderr.contains("is a copy of a Baler root"), "{end:?}");
    assert!(end.stderr.contains(&advice), "{end:?}");
}

/// From here on the copy is a root like any other.
fn assert_goes_on(scene: &Scene, root: &str, rows: &Rows) {
    let run = compact(scene, root);
    assert_eq!(run.code, 0, "{run:?}");
    assert!(
        run.number("jobs") > 0,
        "what was live before is merged with what came: {run:?}"
    );
    assert_eq!(&scene.rows(root), rows);
    for gc in [&["gc", root, "--now"][..], &["gc", root, "--now", "--full"]] {
        let end = scene.baler(gc);
        assert_eq!(end.code, 0, "{end:?}");
        assert_eq!(&scene.rows(root), rows, "{gc:?}");
    }
    for look in [
        &["verify", root, "--deep"][..],
        &["audit", root],
        &["journal", "check", root],
    ] {
        let end = scene.baler(look);
        assert_eq!(end.code, 0, "{end:?}");
    }
}

/// Trap: in a copy every file has another inode, and what was set aside is taken for somebody's new data and put back in sight.
#[test]
fn nobody_goes_on_in_a_copy_and_nothing_in_it_is_changed() {
    let scene = Scene::new();
    let rows = compacted(&scene);
    shell(&scene, "cp -a data copy");
    let before = scene.everything("copy");
    let commands: [&[&str]; 12] = [
        &["compact", "copy", "--settle", "0s"],
        &["compact", "copy", "--settle", "0s", "--adopt-foreign"],
        &["plan", "copy", "--settle", "0s"],
        &["gc", "copy"],
        &["gc", "copy", "--now"],
        &["gc", "copy", "--now", "--full"],
        &["gc", "copy", "--now", "--dry-run"],
        &["worker", "copy"],
        &["serve", "copy"],
        &["pause", "copy"],
        &["undo", "copy", "0"],
        &["upgrade", "copy"],
    ];
    for command in commands {
        assert_refused(&scene.baler(command), &scene.path("copy"));
        assert_eq!(scene.everything("copy"), before, "{command:?}");
    }
    // Who only looks is told so, and sees what the journal says.
    for command in [&["status", "copy"][..], &["files", "copy"]] {
        let end = scene.baler(command);
        assert_eq!(end.code, 0, "{end:?}");
        assert!(end.stderr.contains("is a copy of a Baler root"), "{end:?}");
    }
    for command in [
        &["audit", "copy"][..],
        &["verify", "copy"],
        &["journal", "check", "copy"],
    ] {
        scene.baler(command);
        assert_eq!(scene.everything("copy"), before, "{command:?}");
    }
    let checked = scene.baler(&["journal", "check", "copy"]);
    assert_eq!(checked.code, 1, "{checked:?}");
    assert!(checked.stdout.contains("repair"), "{checked:?}");
    assert_eq!(scene.rows("copy"), rows);
    // The root itself is none the worse for it.
    assert_goes_on(&scene, "data", &rows);
}

#[test]
fn after_the_repair_of_a_copy_every_row_is_there_once() {
    // As `cp`, `tar` and `rsync` do it: with times, with whole seconds of them, without any, and with links in the place of copies.
    for copying in [
        "cp -a data copy",
        "mkdir copy && tar --format=gnu -cf - -C data . | tar -xf - -C copy",
        "cp -r data copy",
        "cp -al data copy",
    ] {
        let scene = Scene::new();
        let rows = compacted(&scene);
        shell(&scene, copying);
        assert_refused(&compact(&scene, "copy"), &scene.path("copy"));
        let (old, kept) = (journal(&scene, "data"), aside(&scene, "copy"));
        let before = scene.everything("copy");
        let dry = scene.baler(&["journal", "repair", "copy", "--dry-run"]);
        assert_eq!(dry.code, 0, "{copying}: {dry:?}");
        assert_eq!(scene.everything("copy"), before, "{copying}");

        let mended = repair(&scene, "copy");
        assert_eq!(mended["is_copy"], true, "{copying}: {mended}");
        assert_eq!(mended["cut"], false, "{copying}: {mended}");
        assert_eq!(mended["kept"], 6, "{copying}: {mended}");
        assert_eq!(names(&mended, "second_copies"), [""; 0], "{copying}");
        assert_eq!(names(&mended, "uncertain"), [""; 0], "{copying}");
        assert_ne!(journal(&scene, "copy"), old, "{copying}");
        let after = scene.everything("copy");
        assert!(before.keys().all(|path| after.contains_key(path)), "{copying}");
        let backup = format!("copy/{}/journal", mended["backup"].as_str().unwrap());
        assert!(!scene.everything(&backup).is_empty(), "{copying}");

        assert_goes_on(&scene, "copy", &rows);
        let still = aside(&scene, "copy");
        assert!(
            kept.iter().all(|path| still.contains(path)),
            "{copying}: {still:?}"
        );
        // Two roots now, each with a journal of its own.
        assert_goes_on(&scene, "data", &rows);
        assert_eq!(scene.rows("copy"), rows, "{copying}");
        // And a copy of the copy is one again.
        shell(&scene, "cp -a copy third");
        assert_refused(&compact(&scene, "third"), &scene.path("third"));
    }
}

/// A copy made between the commit and the moment when the originals go out of sight has their rows twice: nobody merges them.
#[test]
fn originals_that_are_still_in_sight_in_a_copy_are_named_and_not_merged() {
    let scene = Scene::new();
    scene.write_many(6, 50);
    let rows = scene.rows("data");
    // The data as it was before, and everything else, as a slow copy would have it.
    shell(&scene, "mkdir copy && cp -a data/*.parquet copy");
    assert_eq!(scene.compact(&["--sort-by", "key"]).code, 0);
    shell(&scene, "cp -a data/_baler data/baler-*.parquet copy");
    assert_refused(&compact(&scene, "copy"), &scene.path("copy"));
    let mended = repair(&scene, "copy");
    let second = names(&mended, "second_copies");
    assert_eq!(second.len(), 6, "{mended}");
    scene.write("copy/late-0.parquet", &[(1, 90, "late")]);
    scene.write("copy/late-1.parquet", &[(2, 90, "late")]);
    assert_eq!(compact(&scene, "copy").code, 1, "quarantined files are told");
    for name in second {
        assert!(name.starts_with("part-"), "{name}");
        fs::remove_file(scene.path("copy").join(name)).unwrap();
    }
    let run = compact(&scene, "copy");
    assert_eq!(run.code, 0, "{run:?}");
    let mut all = scene.rows("copy");
    all.retain(|row, _| !row.contains("late"));
    assert_eq!(all, rows);
}

/// A copy whose data is older than its journal has the originals, and no output: their rows are nowhere else.
#[test]
fn a_copy_without_the_outputs_keeps_the_originals() {
    let scene = Scene::new();
    scene.write_many(6, 50);
    let rows = scene.rows("data");
    shell(&scene, "mkdir copy && cp -a data/*.parquet copy");
    assert_eq!(scene.compact(&["--sort-by", "key"]).code, 0);
    shell(&scene, "cp -a data/_baler copy");
    let mended = repair(&scene, "copy");
    let uncertain = names(&mended, "uncertain");
    assert_eq!(uncertain.len(), 6, "{mended}");
    assert_eq!(names(&mended, "second_copies"), [""; 0]);
    let mut retry = vec!["retry", "copy"];
    retry.extend(uncertain.iter().map(String::as_str));
    let retried = scene.baler(&retry);
    assert_eq!(retried.code, 0, "{retried:?}");
    let run = compact(&scene, "copy");
    assert_eq!((run.code, run.number("files_after")), (0, 1), "{run:?}");
    assert_eq!(scene.rows("copy"), rows);
}

#[test]
fn an_output_folder_that_was_restored_is_noticed_and_goes_on_after_a_repair() {
    let scene = Scene::new();
    scene.write_many(6, 50);
    let args = ["compact", "data", "--output", "dst", "--settle", "0s", "--json"];
    assert_eq!(scene.baler(&args).code, 0);
    let rows = scene.rows("dst");
    // Both came back from the same backup, under their old names.
    shell(
        &scene,
        "cp -a data d2 && cp -a dst o2 && rm -r data dst && mv d2 data && mv o2 dst",
    );
    let before = scene.everything("dst");
    assert_refused(&scene.baler(&args), &scene.path("dst"));
    assert_eq!(scene.everything("dst"), before);
    let mended = repair(&scene, "dst");
    assert_eq!(names(&mended, "uncertain"), [""; 0], "{mended}");
    let run = scene.baler(&args);
    assert_eq!(
        (run.code, run.number("jobs")),
        (0, 0),
        "what was merged is not merged again: {run:?}"
    );
    assert_eq!(scene.rows("dst"), rows);
    scene.write("data/late-0.parquet", &[(1, 90, "late")]);
    scene.write("data/late-1.parquet", &[(2, 90, "late")]);
    assert_eq!(scene.baler(&args).code, 0);
    assert_eq!(scene.rows("dst"), scene.rows("data"));
}

#[test]
fn a_root_that_was_moved_goes_on() {
    let scene = Scene::new();
    let rows = compacted(&scene);
    let old = journal(&scene, "data");
    fs::create_dir(scene.path("elsewhere")).unwrap();
    fs::rename(scene.path("data"), scene.path("elsewhere/moved")).unwrap();
    assert_goes_on(&scene, "elsewhere/moved", &rows);
    assert_eq!(journal(&scene, "elsewhere/moved"), old);
}

#[test]
fn a_root_of_an_older_version_goes_on_and_is_known_from_then_on() {
    let scene = Scene::new();
    let rows = compacted(&scene);
    fs::remove_dir_all(scene.path("data/_baler/home")).unwrap();
    // Who only looks writes nothing.
    assert_eq!(scene.baler(&["status", "data"]).code, 0);
    assert!(!scene.path("data/_baler/home").exists());
    assert_goes_on(&scene, "data", &rows);
    shell(&scene, "cp -a data copy");
    assert_refused(&compact(&scene, "copy"), &scene.path("copy"));
}

/// A backup from before anybody wrote down where a root lives: its files tell.
#[test]
fn a_copy_of_a_root_of_an_older_version_is_noticed_too() {
    let scene = Scene::new();
    let rows = compacted(&scene);
    fs::remove_dir_all(scene.path("data/_baler/home")).unwrap();
    shell(&scene, "cp -a data copy");
    let before = scene.everything("copy");
    let commands: [&[&str]; 5] = [
        &["compact", "copy", "--settle", "0s"],
        &["plan", "copy", "--settle", "0s"],
        &["gc", "copy", "--now"],
        &["gc", "copy", "--now", "--dry-run"],
        &["worker", "copy"],
    ];
    for command in commands {
        assert_refused(&scene.baler(command), &scene.path("copy"));
        assert_eq!(scene.everything("copy"), before, "{command:?}");
    }
    let status = scene.baler(&["status", "copy"]);
    assert!(status.stderr.contains("is a copy of a Baler root"), "{status:?}");
    repair(&scene, "copy");
    assert_goes_on(&scene, "copy", &rows);
    assert_goes_on(&scene, "data", &rows);
}

/// Whatever is under way when a copy is made: of each row one file counts, and what may hold it twice is named.
#[test]
fn a_copy_made_at_any_moment_of_a_run_loses_and_doubles_nothing() {
    let scene = Scene::new();
    for file in 0..60 {
        let rows: Vec<_> = (0..200).map(|row| (row, file, "some text")).collect();
        scene.write(&format!("data/day={:02}/{file}.parquet", file % 10), &rows);
    }
    let rows = scene.rows("data");
    let args = ["compact", "data", "--settle", "0s", "--json"];
    let mut run = scene.command(&args).stdout(Stdio::null()).spawn().unwrap();
    let pid = Pid::from_raw(i32::try_from(run.id()).unwrap()).unwrap();
    let mut copies = Vec::new();
    while run.try_wait().unwrap().is_none() && copies.len() < 12 {
        thread::sleep(Duration::from_millis(40));
        // A copy of one moment: what a run moves away while it is copied is in no copy.
        if kill_process(pid, Signal::STOP).is_ok() {
            let copy = format!("copy-{}", copies.len());
            shell(&scene, &format!("cp -a data {copy}"));
            copies.push(copy);
            kill_process(pid, Signal::CONT).unwrap();
        }
    }
    assert!(run.wait().unwrap().success());
    let mut repaired = 0;
    for copy in &copies {
        let first = compact(&scene, copy);
        if first.code == 1 {
            assert_refused(&first, &scene.path(copy));
            repaired += 1;
            let mended = repair(&scene, copy);
            assert_eq!(names(&mended, "uncertain"), [""; 0], "{copy}: {mended}");
            for second in names(&mended, "second_copies") {
                fs::remove_file(scene.path(copy).join(second)).unwrap();
            }
            // The first run notices that they are gone, the second that nothing is left to be said of them.
            compact(&scene, copy);
            let run = compact(&scene, copy);
            assert_eq!(run.code, 0, "{copy}: {run:?}");
        }
        assert_eq!(scene.rows(copy), rows, "{copy}");
        assert_eq!(scene.data_files(copy).len(), 10, "{copy}");
        let gc = scene.baler(&["gc", copy, "--now", "--full"]);
        assert_eq!(gc.code, 0, "{copy}: {gc:?}");
        assert_eq!(scene.rows(copy), rows, "{copy}");
    }
    println!("figure: {repaired} copies of {} were repaired", copies.len());
    assert!(repaired > 0);
}
