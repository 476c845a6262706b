//! Wrong usages of tables, each with a word on what to do.

use super::{arrive, create};
use crate::support::Scene;

fn refused(scene: &Scene, args: &[&str], code: i32, says: &str) {
    let end = scene.baler(args);
    assert_eq!(end.code, code, "{args:?}: {end:?}");
    assert!(end.stderr.contains(says), "{args:?}: {end:?}");
}

#[test]
fn wrong_settings_are_refused_before_anything_is_made() {
    let scene = Scene::new();
    for name in ["", "_hidden", ".hidden", "a/b", "a b", "ä"] {
        refused(
            &scene,
            &["table", "create", "lake", name],
            2,
            "cannot be a table's name",
        );
    }
    let create = ["table", "create", "lake", "t"];
    for (flags, code, says) in [
        (&["--retain", "30d"][..], 1, "which column holds the rows' time"),
        (&["--retain", "soon", "--row-time", "ts"], 2, "--retain soon"),
        (&["--retain", "0s", "--row-time", "ts"], 2, "longer than nothing"),
        (&["--row-time", "ts:min"], 2, "none of s, ms, us, ns"),
        (&["--row-time", ":ms"], 2, "empty"),
        (&["--expire-after", "7d"], 2, "--row-time COLUMN"),
        (&["--expire-after", "7d@:ms"], 2, "empty"),
        (&["--drop-deleted-where", "gone"], 1, "needs a key"),
        (
            &[
                "--key",
                "id",
                "--newest",
                "v",
                "--row-time",
                "ts",
                "--drop-deleted-where",
                "gone",
            ],
            1,
            "how late rows may come",
        ),
        (&["--key", "id"], 2, "--newest"),
        (&["--target-size", "1B"], 2, "64KiB"),
        (&["--leave-inputs"], 2, "for buckets"),
        (&["--output", "x"], 2, "--output"),
    ] {
        refused(&scene, &[&create[..], flags].concat(), code, says);
    }
    assert!(
        !scene.path("lake/_baler").exists(),
        "a refused table left a root behind"
    );
}

#[test]
fn a_table_is_made_once_and_altered_by_name() {
    let scene = Scene::new();
    create(&scene, &["--sort-by", "key"]);
    create(&scene, &["--sort-by", "key"]);
    refused(&scene, &["table", "create", "lake", "events"], 1, "table alter");
    arrive(&scene, "a.parquet", &[(1, 1, "a")]);
    refused(
        &scene,
        &["table", "alter", "lake", "events", "--sort-by", "seq"],
        1,
        "sort key",
    );
    refused(
        &scene,
        &["table", "alter", "lake", "others", "--grace", "1h"],
        1,
        "there are events",
    );
    refused(
        &scene,
        &["table", "drop", "lake", "others"],
        1,
        "there are events",
    );
    let end = scene.baler(&["table", "alter", "lake", "events", "--grace", "2h", "--json"]);
    assert_eq!(end.json()["changed"], true, "{end:?}");
    refused(&scene, &["add", "lake", "events", "-", "a.parquet"], 2, "- alone");
    refused(
        &scene,
        &["add", "lake", "others", "a.parquet"],
        1,
        "there is no table others",
    );
    refused(
        &scene,
        &["add", "nowhere", "events", "a.parquet"],
        1,
        "does not exist",
    );
}

#[test]
fn a_column_that_no_file_has_is_a_typing_error() {
    let scene = Scene::new();
    create(&scene, &["--sort-by", "kye", "--row-time", "seq:ms"]);
    scene.write("lake/a.parquet", &[(1, 1, "a")]);
    refused(
        &scene,
        &["add", "lake", "events", "a.parquet"],
        2,
        "no file has a column kye",
    );
    scene.baler(&[
        "table",
        "alter",
        "lake",
        "events",
        "--sort-by",
        "key",
        "--row-time",
        "sqe:ms",
    ]);
    refused(
        &scene,
        &["add", "lake", "events", "a.parquet"],
        2,
        "no file has a column sqe",
    );
}

#[test]
fn plain_and_native_tables_do_not_share_a_root_nor_their_flags() {
    let scene = Scene::new();
    scene.write_many(4, 5);
    scene.compact(&[]);
    refused(
        &scene,
        &["table", "create", "data", "events"],
        1,
        "root of its own",
    );
    refused(
        &scene,
        &["table", "alter", "data", "data", "--grace", "1h"],
        1,
        "plain folder",
    );
    refused(&scene, &["table", "drop", "data", "data"], 1, "plain folder");
    refused(&scene, &["add", "data", "data", "x.parquet"], 1, "plain folder");
    refused(
        &scene,
        &["compact", "data", "--table", "x"],
        2,
        "leave out --table",
    );
    refused(&scene, &["table", "create", "data/below", "events"], 1, "data");

    create(&scene, &[]);
    scene.write("fresh/a.parquet", &[(1, 1, "a")]);
    refused(
        &scene,
        &["compact", "lake", "--sort-by", "key"],
        2,
        "baler table alter",
    );
    refused(&scene, &["compact", "lake", "--grace", "1h"], 2, "--grace");
    refused(&scene, &["compact", "lake", "--output", "packed"], 1, "lake");
    refused(
        &scene,
        &["compact", "fresh", "--output", "lake"],
        2,
        "native tables",
    );
    refused(
        &scene,
        &["plan", "lake", "--key", "a", "--newest", "b"],
        2,
        "--key",
    );
    refused(
        &scene,
        &["compact", "lake", "--table", "x"],
        1,
        "there is no table x",
    );
    refused(&scene, &["cancel", "lake", "7"], 1, "no open job 7");
}
