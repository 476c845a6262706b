//! A single row that is lost, doubled or changed on its way from the merge to the encoder makes the commit refuse, whatever the path
//! that the rows take. What happens inside the encoder is noticed by `--verify reread`, and by nothing else.

use std::sync::Arc;

use arrow::array::{ArrayRef, Int64Array, RecordBatch};
use parquet::arrow::ArrowWriter;
use parquet::basic::{Compression, ZstdLevel};
use parquet::file::properties::WriterProperties;

use crate::fleet::{Fleet, wait_until};
use crate::support::{Ended, Scene, ended};

/// Debug builds do this to rows.
const DAMAGE: &str = "BALER_TEST_DAMAGE";

/// How rows get into the output.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Way {
    /// Keys overlap.
    Merge,
    /// Small row groups that overlap nothing.
    Stitch,
    /// Large ones.
    Copy,
}

const WAYS: [Way; 3] = [Way::Merge, Way::Stitch, Way::Copy];

fn write(scene: &Scene, way: Way) {
    std::fs::create_dir_all(scene.path("data")).unwrap();
    let rows = if way == Way::Copy { 1_000_000 } else { 400 };
    for file in 0..3 {
        let (first, step) = match way {
            Way::Merge => (file, 3),
            Way::Stitch | Way::Copy => (file * rows, 1),
        };
        let keys: Int64Array = (0..rows).map(|row| Some(first + row * step)).collect();
        let seq: Int64Array = (0..rows).map(|row| Some(row % 7)).collect();
        let columns: [(&str, ArrayRef); 2] = [("key", Arc::new(keys)), ("seq", Arc::new(seq))];
        let batch = RecordBatch::try_from_iter(columns).unwrap();
        let zstd = Compression::ZSTD(ZstdLevel::default());
        let settings = WriterProperties::builder().set_compression(zstd).build();
        let file = std::fs::File::create(scene.path(&format!("data/part-{file}.parquet"))).unwrap();
        let mut writer = ArrowWriter::try_new(file, batch.schema(), Some(settings)).unwrap();
        writer.write(&batch).unwrap();
        writer.close().unwrap();
    }
}

fn compact(scene: &Scene, damage: &str, args: &[&str]) -> Ended {
    let common = [
        "compact",
        "data",
        "--settle",
        "0s",
        "--json",
        "--sort-by",
        "key",
        "--output",
        "packed",
    ];
    let mut command = scene.command(&[&common[..], args].concat());
    command.env(DAMAGE, damage);
    ended(command.output().unwrap())
}

/// Trap: what is committed is not what was merged.
#[test]
fn a_row_lost_doubled_or_changed_between_merge_and_encoder_is_refused_on_every_path() {
    for way in WAYS {
        for damage in ["lost", "doubled", "changed"] {
            let scene = Scene::new();
            write(&scene, way);
            let run = compact(&scene, damage, &[]);
            let case = format!("{way:?}, {damage}: {run:?}");
            assert_eq!(run.code, 1, "{case}");
            assert_eq!(scene.data_files("packed").len(), 0, "{case}");
            assert_eq!(run.number("jobs"), 0, "{case}");
        }
    }
}

/// The paths are those that they are taken for, and without damage nothing is refused.
#[test]
fn without_damage_all_paths_commit() {
    for way in WAYS {
        let scene = Scene::new();
        write(&scene, way);
        let run = compact(&scene, "", &[]);
        assert_eq!(run.code, 0, "{way:?}: {run:?}");
        assert!(scene.rows("packed") == scene.rows("data"), "{way:?}");
        // Rows that were merged have a digest on record; pages that were copied have not.
        let verified = scene.baler(&["verify", "packed", "--json"]).json();
        let proved_by = if way == Way::Merge { "digest" } else { "footer" };
        assert_eq!(verified["proved_by"], proved_by, "{way:?}");
    }
}

/// Trap: the encoder writes other rows than it was handed, and everything adds up.
#[test]
fn damage_inside_the_encoder_is_caught_by_reread_and_not_without() {
    for (number, args) in [&[][..], &["--isolate"]].into_iter().enumerate() {
        let scene = Scene::new();
        write(&scene, Way::Merge);
        let blind = compact(&scene, "encoder", args);
        assert_eq!(blind.code, 0, "{blind:?}");
        assert!(scene.rows("packed") != scene.rows("data"), "there was no damage");

        let scene = Scene::new();
        write(&scene, Way::Merge);
        let run = compact(&scene, "encoder", &[args, &["--verify", "reread"]].concat());
        assert_eq!(run.code, 1, "{number}: {run:?}");
        assert_eq!(scene.data_files("packed").len(), 0, "{run:?}");
        let status = scene.baler(&["status", "packed", "--json"]).json();
        let reason = status["quarantined"][0]["reason"].to_string();
        assert!(reason.contains("was read back"), "{reason}");
    }
}

#[test]
fn what_is_sound_is_read_back_and_committed() {
    for way in [Way::Merge, Way::Stitch] {
        let scene = Scene::new();
        write(&scene, way);
        let run = compact(&scene, "", &["--verify", "reread"]);
        assert_eq!(run.code, 0, "{run:?}");
        assert!(scene.rows("packed") == scene.rows("data"));
    }
}

/// The table says so, and whoever merges for it obeys: also a worker that was started without the flag.
#[test]
fn every_worker_of_a_table_that_asks_for_it_reads_back() {
    let fleet = Fleet::new();
    write(&fleet.scene, Way::Merge);
    let damaged = [(DAMAGE, "encoder".to_owned())];
    let serve = fleet.serve(&["--no-worker", "--lease", "1s", "--verify", "reread"]);
    let _worker = fleet.worker_with(&[&serve.url], &[], &damaged);
    wait_until("the damage is noticed", || {
        let status = fleet.status();
        let marks = status["quarantined"].as_array().unwrap();
        marks
            .iter()
            .any(|mark| mark["reason"].to_string().contains("was read back"))
    });
    assert_eq!(fleet.scene.data_files("data").len(), 3, "something was committed");
}
