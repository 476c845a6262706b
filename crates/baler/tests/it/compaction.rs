//! Folders of small files become few large sorted ones, and come to rest.

use std::fs;
use std::time::{Duration, SystemTime};

use crate::support::{Scene, column};

#[test]
fn small_files_become_one_sorted_file_with_the_same_rows() {
    let scene = Scene::new();
    let rows = scene.write_many(20, 100);
    let before = scene.rows("data");
    let run = scene.compact(&["--sort-by", "key"]);
    assert_eq!(run.code, 0, "{run:?}");
    assert_eq!((run.number("files_before"), run.number("files_after")), (20, 1));
    assert_eq!(
        (
            run.number("rows_in"),
            run.number("rows_out"),
            run.number("rows_dropped")
        ),
        (rows, rows, 0)
    );
    assert_eq!((run.number("jobs"), run.number("quarantined")), (1, 0));
    assert_eq!(scene.rows("data"), before);
    let [output] = &scene.data_files("data")[..] else {
        panic!("one file was expected")
    };
    assert!(column(output, "key").is_sorted());
}

#[test]
fn a_second_run_finds_nothing_to_do_and_writes_nothing() {
    let scene = Scene::new();
    scene.write_many(8, 50);
    scene.compact(&["--sort-by", "key"]);
    let before = scene.everything("data");
    let again = scene.compact(&[]);
    assert_eq!((again.code, again.number("jobs")), (0, 0), "{again:?}");
    assert!(
        scene.everything("data") == before,
        "a root at rest was written to"
    );
}

#[test]
fn with_output_the_source_is_untouched_and_only_what_is_new_is_taken_the_next_time() {
    let scene = Scene::new();
    scene.write_many(6, 50);
    let source = scene.everything("data");
    let run = scene.compact(&["--output", "packed", "--sort-by", "key"]);
    assert_eq!((run.code, run.number("files_after")), (0, 1), "{run:?}");
    assert!(scene.everything("data") == source, "the source was written to");
    assert_eq!(scene.rows("packed"), scene.rows("data"));

    let at_rest = scene.everything("packed");
    let again = scene.compact(&["--output", "packed"]);
    assert_eq!((again.code, again.number("jobs")), (0, 0), "{again:?}");
    assert!(
        scene.everything("packed") == at_rest,
        "a root at rest was written to"
    );

    scene.write("data/late-1.parquet", &[(1_000_000, 1, "late")]);
    scene.write("data/late-2.parquet", &[(1_000_001, 1, "late")]);
    let more = scene.compact(&["--output", "packed"]);
    assert_eq!(more.code, 0, "{more:?}");
    assert_eq!(scene.rows("packed"), scene.rows("data"));
}

#[test]
fn folders_are_partitions_and_never_merged_with_each_other() {
    let scene = Scene::new();
    for day in ["day=1", "day=2"] {
        for part in 0..4 {
            scene.write(&format!("data/{day}/part-{part}.parquet"), &[(part, 0, day)]);
        }
    }
    let run = scene.compact(&["--sort-by", "key"]);
    assert_eq!(
        (run.code, run.number("files_after"), run.number("jobs")),
        (0, 2, 2),
        "{run:?}"
    );
    for day in ["day=1", "day=2"] {
        let rows = scene.rows(&format!("data/{day}"));
        assert_eq!(rows.len(), 4);
        assert!(rows.keys().all(|row| row.ends_with(day)), "{rows:?}");
    }
}

#[test]
fn a_glob_and_a_bound_on_bytes_limit_a_run() {
    let scene = Scene::new();
    for day in ["day=1", "day=2", "day=3"] {
        for part in 0..4 {
            scene.write(&format!("data/{day}/part-{part}.parquet"), &[(part, 0, day)]);
        }
    }
    let one_day = scene.compact(&["--partition", "day=1"]);
    assert_eq!(one_day.number("jobs"), 1, "{one_day:?}");
    let size = fs::metadata(&scene.data_files("data/day=2")[0]).unwrap().len() * 5;
    let bounded = scene.compact(&["--max-bytes", &format!("{size}B")]);
    assert_eq!(bounded.number("jobs"), 1, "{bounded:?}");
    assert_eq!(bounded.json()["bounded"], true);
    assert_eq!(scene.compact(&[]).number("jobs"), 1);
}

#[test]
fn files_younger_than_settle_wait_and_are_counted() {
    let scene = Scene::new();
    scene.write_many(4, 10);
    let old = SystemTime::now() - Duration::from_secs(3_600);
    for path in &scene.data_files("data")[..3] {
        fs::File::options()
            .write(true)
            .open(path)
            .unwrap()
            .set_modified(old)
            .unwrap();
    }
    let run = scene.baler(&["compact", "data", "--json"]);
    assert_eq!(
        (run.number("waiting"), run.number("files_before")),
        (1, 3),
        "{run:?}"
    );
}

#[test]
fn columns_that_appear_disappear_and_widen_are_united() {
    use std::sync::Arc;

    use arrow::array::{Float64Array, Int32Array, Int64Array};

    let scene = Scene::new();
    fs::create_dir_all(scene.path("data")).unwrap();
    let narrow = Arc::new(Int32Array::from(vec![1, 2]));
    let wide = Arc::new(Int64Array::from(vec![3, 1 << 40]));
    let extra = Arc::new(Float64Array::from(vec![0.5, 1.5]));
    crate::support::write_columns(&scene.path("data/a.parquet"), vec![("key", narrow)]);
    crate::support::write_columns(
        &scene.path("data/b.parquet"),
        vec![("extra", extra), ("key", wide)],
    );
    let before = scene.rows("data");
    let run = scene.compact(&["--sort-by", "key"]);
    assert_eq!((run.code, run.number("files_after")), (0, 1), "{run:?}");
    assert_eq!(scene.rows("data"), before);
}

#[test]
fn outputs_are_rolled_at_the_target_size_and_do_not_overlap() {
    let scene = Scene::new();
    let mut state = 1u64;
    for file in 0..8 {
        let texts: Vec<String> = (0..4_000)
            .map(|_| {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                format!("{state:x}")
            })
            .collect();
        let rows: Vec<(i64, i64, &str)> = (0..)
            .zip(&texts)
            .map(|(row, text)| (row * 8 + file, file, text.as_str()))
            .collect();
        scene.write(&format!("data/part-{file}.parquet"), &rows);
    }
    let run = scene.compact(&["--sort-by", "key", "--target-size", "128KiB"]);
    assert_eq!(run.code, 0, "{run:?}");
    let files = scene.data_files("data");
    let allowed = run.number("bytes_after").div_ceil(128 << 10) + 1;
    assert!(
        files.len() > 1 && files.len() as u64 <= allowed,
        "{} files, {allowed} allowed",
        files.len()
    );
    let mut ranges: Vec<(i64, i64)> = files
        .iter()
        .map(|path| {
            let keys = column(path, "key");
            assert!(keys.is_sorted());
            (keys[0], keys[keys.len() - 1])
        })
        .collect();
    ranges.sort_unstable();
    assert!(ranges.windows(2).all(|pair| pair[0].1 <= pair[1].0), "{ranges:?}");
    assert_eq!(scene.compact(&[]).number("jobs"), 0);
}

#[test]
fn gc_deletes_what_was_replaced_and_nothing_else() {
    let scene = Scene::new();
    scene.write_many(5, 20);
    let rows = scene.rows("data");
    scene.compact(&["--sort-by", "key"]);
    let kept = scene.baler(&["gc", "data", "--json"]);
    assert_eq!(
        (kept.code, kept.number("deleted")),
        (0, 0),
        "the grace period is not over: {kept:?}"
    );
    let preview = scene.baler(&["gc", "data", "--dry-run", "--now", "--json"]);
    let doomed: Vec<&str> = preview.stdout.lines().collect();
    assert_eq!(doomed.len(), 5, "{preview:?}");
    assert!(
        doomed.iter().all(|line| line.contains("replaced part-")),
        "{preview:?}"
    );
    let gone = scene.baler(&["gc", "data", "--now", "--json"]);
    assert_eq!((gone.code, gone.number("deleted")), (0, 5), "{gone:?}");
    assert_eq!(scene.rows("data"), rows);
    assert_no_orphans(&scene, "data");
}

#[test]
fn a_grace_period_ends_by_the_stores_clock_and_then_a_plain_gc_deletes() {
    let scene = Scene::new();
    scene.write_many(3, 20);
    scene.compact(&["--grace", "1s"]);
    std::thread::sleep(Duration::from_millis(2_500));
    let gone = scene.baler(&["gc", "data", "--json"]);
    assert_eq!((gone.code, gone.number("deleted")), (0, 3), "{gone:?}");
}

#[test]
fn verify_finds_a_flipped_byte_and_a_missing_file() {
    let scene = Scene::new();
    scene.write_many(4, 500);
    scene.compact(&["--sort-by", "key"]);
    assert_eq!(scene.baler(&["verify", "data"]).code, 0);
    let output = &scene.data_files("data")[0];
    let modified = fs::metadata(output).unwrap().modified().unwrap();
    let mut bytes = fs::read(output).unwrap();
    bytes[40] ^= 1;
    {
        use std::os::unix::fs::FileExt;
        let file = fs::File::options().write(true).open(output).unwrap();
        file.write_all_at(&bytes, 0).unwrap();
        file.set_modified(modified).unwrap();
    }
    let flipped = scene.baler(&["verify", "data", "--json"]);
    assert_eq!(flipped.code, 1, "{flipped:?}");
    fs::remove_file(output).unwrap();
    let missing = scene.baler(&["verify", "data", "--quick", "--json"]);
    assert_eq!(missing.code, 1, "{missing:?}");
}

/// Nothing lies in the root but live files, the journal and its snapshots.
pub(crate) fn assert_no_orphans(scene: &Scene, root: &str) {
    let live = scene.baler(&["files", root, "--json"]);
    let live: Vec<String> = live
        .stdout
        .lines()
        .map(|line| {
            serde_json::from_str::<serde_json::Value>(line).unwrap()["path"]
                .as_str()
                .unwrap()
                .to_owned()
        })
        .collect();
    for path in scene.everything(root).keys() {
        let path = path
            .strip_prefix(scene.path(root))
            .unwrap()
            .to_string_lossy()
            .into_owned();
        let journal = [
            "_baler/journal/",
            "_baler/snapshots/",
            "_baler/boundary/",
            "_baler/probed/",
            "_baler/format/",
            "_baler/home/",
            "_baler/receipts/",
        ];
        let of_journal = journal.iter().any(|prefix| path.starts_with(prefix)) && !path.contains('#');
        let expected = live.contains(&path) || of_journal;
        assert!(expected, "{path} is an orphan");
    }
}
