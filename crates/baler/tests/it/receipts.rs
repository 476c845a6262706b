//! What a receipt says of single stretches of a job, years later too, and of a job that was undone.

use std::fs::{self, File};
use std::sync::Arc;

use arrow::array::{ArrayRef, Int64Array, RecordBatch};
use parquet::arrow::ArrowWriter;
use parquet::basic::{Compression, ZstdLevel};
use parquet::file::properties::WriterProperties;
use serde_json::Value;

use crate::support::{Ended, Scene};

/// A file as Baler itself would write it, so that it can be copied as it lies. Its values do not pack.
pub(crate) fn write_packed(scene: &Scene, name: &str, keys: impl Iterator<Item = i64>) {
    let keys: Vec<i64> = keys.collect();
    let noise = keys
        .iter()
        .map(|key| key.wrapping_add(77).wrapping_mul(0x5851_F42D_4C95_7F2D));
    let noise: ArrayRef = Arc::new(Int64Array::from_iter_values(noise));
    let keys: ArrayRef = Arc::new(Int64Array::from(keys));
    let rows = RecordBatch::try_from_iter_with_nullable([("key", keys, true), ("noise", noise, true)]);
    let rows = rows.unwrap();
    let zstd = Compression::ZSTD(ZstdLevel::try_new(1).unwrap());
    let properties = WriterProperties::builder().set_compression(zstd).build();
    let path = scene.path(name);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    let mut writer =
        ArrowWriter::try_new(File::create(path).unwrap(), rows.schema(), Some(properties)).unwrap();
    writer.write(&rows).unwrap();
    writer.close().unwrap();
}

/// Files large enough to be copied, smaller ones, and two that overlap.
pub(crate) fn mixed() -> Scene {
    let scene = Scene::new();
    write_packed(&scene, "data/a.parquet", 0..2_000);
    write_packed(&scene, "data/b.parquet", 3_000..3_400);
    write_packed(&scene, "data/c.parquet", 3_400..3_800);
    write_packed(&scene, "data/d.parquet", (5_000..7_000).step_by(2));
    write_packed(&scene, "data/e.parquet", (5_001..7_001).step_by(2));
    write_packed(&scene, "data/f.parquet", 8_000..10_000);
    scene
}

pub(crate) const SORTED: [&str; 4] = ["--sort-by", "key", "--target-size", "128KiB"];

pub(crate) fn receipt(scene: &Scene, job: u64) -> Value {
    let end = scene.baler(&["receipts", "data", &job.to_string(), "--json"]);
    assert_eq!(end.code, 0, "{end:?}");
    end.json()
}

pub(crate) fn shown(scene: &Scene) -> Ended {
    let end = scene.baler(&["receipts", "data", "0"]);
    assert_eq!(end.code, 0, "{end:?}");
    end
}

fn compact(scene: &Scene) {
    let run = scene.compact(&SORTED);
    assert_eq!((run.code, run.number("jobs")), (0, 1), "{run:?}");
}

#[test]
fn each_stretch_of_a_job_is_proved_by_itself() {
    let scene = mixed();
    compact(&scene);
    let receipt = receipt(&scene, 0);
    let stretches = receipt["ranges"][0]["stretches"].as_array().unwrap();
    let told: Vec<(&str, u64, &str)> = stretches
        .iter()
        .map(|stretch| {
            let text = |of: &str| stretch[of].as_str().unwrap();
            (text("way"), stretch["rows"].as_u64().unwrap(), text("proof"))
        })
        .collect();
    let expected = [
        ("copied", 2_000, "bytes"),
        ("stitched", 800, "bytes"),
        ("merged", 2_000, "rows"),
        ("copied", 2_000, "bytes"),
    ];
    assert_eq!(told, expected, "{receipt}");
    let shown = shown(&scene);
    assert!(shown.stdout.contains("its figures add up"), "{shown:?}");
    for stretch in stretches {
        assert_eq!(stretch["read"], stretch["written"], "{stretch}");
        let sum = stretch["read"].as_str().unwrap();
        assert_ne!(sum, "0".repeat(32), "{stretch}");
        let line = shown
            .stdout
            .lines()
            .find(|line| line.contains(&format!("{sum} on both sides")));
        let line = line.unwrap_or_else(|| panic!("{stretch} is not in {shown:?}"));
        let (way, proof) = (
            stretch["way"].as_str().unwrap(),
            stretch["proof"].as_str().unwrap(),
        );
        assert!(line.trim_start().starts_with(way), "{line}");
        assert!(line.contains(&format!("proved by {proof}")), "{line}");
    }
}

/// A receipt is for years: one of a version that knew nothing of stretches is read as well as ever.
#[test]
fn a_receipt_from_before_there_were_stretches_is_still_read_and_a_false_one_is_told() {
    let scene = mixed();
    compact(&scene);
    let folder = fs::read_dir(scene.path("data/_baler/receipts"))
        .unwrap()
        .next()
        .unwrap();
    let file = fs::read_dir(folder.unwrap().path())
        .unwrap()
        .next()
        .unwrap()
        .unwrap()
        .path();
    let written: Value = serde_json::from_slice(&fs::read(&file).unwrap()).unwrap();
    let rewrite = |twist: &dyn Fn(&mut Value)| {
        let mut receipt = written.clone();
        twist(&mut receipt["ranges"][0]);
        fs::write(&file, serde_json::to_vec(&receipt).unwrap()).unwrap();
        shown(&scene).stdout
    };
    let old = rewrite(&|range| drop(range.as_object_mut().unwrap().remove("stretches")));
    assert!(old.contains("its figures add up"), "{old}");
    assert!(receipt(&scene, 0)["ranges"][0]["stretches"].is_null());
    let unbalanced = rewrite(&|range| {
        let other = range["stretches"][1]["written"].clone();
        range["stretches"][0]["written"] = other;
    });
    assert!(
        unbalanced.contains("WRONG: the stretches of range 0"),
        "{unbalanced}"
    );
    let short = rewrite(&|range| drop(range["stretches"].as_array_mut().unwrap().pop()));
    assert!(short.contains("WRONG: the stretches of range 0"), "{short}");
}

/// Who reads the receipt of a job that was undone must not take its outputs for live.
#[test]
fn the_receipt_of_an_undone_job_says_so_for_as_long_as_it_is_kept() {
    let scene = mixed();
    compact(&scene);
    assert!(receipt(&scene, 0)["undone"].is_null());
    let undone = scene.baler(&["undo", "data", "0", "--json"]);
    assert_eq!(undone.code, 0, "{undone:?}");
    let at = receipt(&scene, 0)["undone"]["entry"].as_u64();
    let jobs = scene.baler(&["jobs", "data", "--json"]).json();
    assert_eq!(at, jobs["undone"].as_u64(), "{jobs}");
    assert!(at.is_some());
    let shown = shown(&scene).stdout;
    assert!(
        shown.contains("UNDONE 2") && shown.contains("its inputs are live again"),
        "{shown}"
    );
    let listed = scene.baler(&["receipts", "data"]);
    assert!(listed.stdout.contains("; UNDONE 2"), "{listed:?}");

    // The state forgets it one day; the mark stays.
    let marks = |scene: &Scene| -> Vec<_> {
        let all = scene.everything("data/_baler/receipts").into_keys();
        all.filter(|path| path.extension().is_some_and(|extension| extension == "undone"))
            .collect()
    };
    let mark = marks(&scene).remove(0);
    let mut content: Value = serde_json::from_slice(&fs::read(&mark).unwrap()).unwrap();
    content["at"]["entry"] = 4_711.into();
    fs::write(&mark, content.to_string()).unwrap();
    assert_eq!(
        receipt(&scene, 0)["undone"]["entry"],
        4_711,
        "the mark was not read"
    );
    let listed = scene.baler(&["receipts", "data", "--json"]).json();
    assert_eq!(listed["undone"]["entry"], 4_711, "{listed}");

    // A process that dies before it has marked it takes nothing with it.
    fs::remove_file(&mark).unwrap();
    assert_eq!(receipt(&scene, 0)["undone"]["entry"].as_u64(), at);
    assert_eq!(scene.baler(&["retry", "data"]).code, 0);
    assert_eq!(scene.compact(&SORTED).number("jobs"), 1);
    assert_eq!(
        marks(&scene).len(),
        1,
        "who writes receipts marks what is not marked"
    );
    assert!(receipt(&scene, 1)["undone"].is_null());
}
