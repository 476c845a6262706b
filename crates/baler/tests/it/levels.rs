//! Format levels: what older versions of Baler would misread is written only where they are kept out.

use std::fs;
use std::path::Path;

use crate::support::Scene;

/// A place where a Baler that knew no more than level 1 made a root and was stopped right then.
fn root_of_level_1(scene: &Scene) {
    fs::create_dir_all(scene.path("data/_baler/format")).unwrap();
    fs::write(scene.path("data/_baler/format/1"), r#"{"format":1}"#).unwrap();
}

fn levels(root: &Path) -> usize {
    fs::read_dir(root.join("_baler/format")).unwrap().count()
}

/// The hash of the newest receipt.
fn hash(scene: &Scene) -> String {
    let receipts = scene.baler(&["receipts", "data", "--json"]);
    let newest = receipts.stdout.lines().next().unwrap_or_default();
    let newest: serde_json::Value = serde_json::from_str(newest).unwrap_or_else(|_| panic!("{receipts:?}"));
    newest["hash"]
        .as_str()
        .unwrap_or_else(|| panic!("{newest}"))
        .to_owned()
}

/// All rows are there, and have the digests that the journal and the receipts say.
fn is_sound(scene: &Scene, rows: usize) {
    let verified = scene.baler(&["verify", "data", "--deep"]);
    assert_eq!(verified.code, 0, "{verified:?}");
    assert_eq!(scene.rows("data").len(), rows);
}

#[test]
fn a_new_root_has_the_best_hash_and_keeps_older_versions_out() {
    let scene = Scene::new();
    scene.write_many(4, 50);
    assert_eq!(scene.compact(&[]).code, 0);
    assert_eq!(levels(&scene.path("data")), 2);
    assert_eq!(hash(&scene), "Weighted");
    is_sound(&scene, 200);
}

/// Trap: a newer version writes into a shared root what older ones, which are at work there too, take for damage.
#[test]
fn a_root_of_level_1_is_used_as_it_is_and_its_tables_keep_their_hash_when_it_is_upgraded() {
    let scene = Scene::new();
    root_of_level_1(&scene);
    scene.write_many(4, 50);
    assert_eq!(scene.compact(&[]).code, 0);
    assert_eq!(levels(&scene.path("data")), 1, "nobody is shut out unasked");
    assert_eq!(hash(&scene), "Xxh3");
    is_sound(&scene, 200);

    let upgraded = scene.baler(&["upgrade", "data", "--json"]);
    assert_eq!(
        (upgraded.number("before"), upgraded.number("now")),
        (1, 2),
        "{upgraded:?}"
    );
    scene.write("data/late.parquet", &[(-1, 1, "late")]);
    scene.write("data/later.parquet", &[(-2, 1, "later")]);
    let compacted = scene.compact(&[]);
    assert_eq!(compacted.code, 0, "{compacted:?}");
    assert_eq!(
        hash(&scene),
        "Xxh3",
        "files of both hashes in one table could not be compared"
    );
    is_sound(&scene, 202);
}

#[test]
fn a_root_of_a_level_that_is_not_known_is_refused() {
    let scene = Scene::new();
    scene.write_many(2, 10);
    assert_eq!(scene.compact(&[]).code, 0);
    fs::write(scene.path("data/_baler/format/3"), r#"{"format":3}"#).unwrap();
    let before = scene.rows("data");
    for command in [
        &["compact", "data"][..],
        &["status", "data"],
        &["verify", "data"],
        &["upgrade", "data"],
    ] {
        let refused = scene.baler(command);
        assert_ne!(refused.code, 0, "{refused:?}");
        assert!(
            refused.stderr.contains("install the newer version"),
            "{refused:?}"
        );
    }
    assert_eq!(scene.rows("data"), before);
}
