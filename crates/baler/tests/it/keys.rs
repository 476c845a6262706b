//! Last write wins.

use crate::support::{Scene, rows_of};

#[test]
fn the_newest_row_of_each_key_survives() {
    let scene = Scene::new();
    scene.write("data/a.parquet", &[(1, 5, "newest of 1"), (2, 1, "old")]);
    scene.write(
        "data/b.parquet",
        &[(1, 3, "older"), (2, 2, "newest of 2"), (3, 0, "only")],
    );
    let run = scene.compact(&["--key", "key", "--newest", "seq"]);
    assert_eq!(
        (
            run.number("rows_in"),
            run.number("rows_out"),
            run.number("rows_dropped")
        ),
        (5, 3, 2),
        "{run:?}"
    );
    let rows = rows_of(&scene.data_files("data")[0]);
    assert_eq!(
        rows,
        [
            "key=1 seq=5 text=newest of 1",
            "key=2 seq=2 text=newest of 2",
            "key=3 seq=0 text=only"
        ]
    );
}

/// An older record that arrives later must not beat a newer one that was compacted before.
#[test]
fn an_older_record_that_arrives_later_loses() {
    let scene = Scene::new();
    scene.write("data/a.parquet", &[(1, 5, "newest")]);
    scene.write("data/b.parquet", &[(1, 4, "older")]);
    scene.compact(&["--key", "key", "--newest", "seq"]);
    scene.write("data/c.parquet", &[(1, 3, "oldest")]);
    scene.write("data/d.parquet", &[(2, 1, "other")]);
    let run = scene.compact(&[]);
    assert_eq!(run.code, 0, "{run:?}");
    let rows: Vec<String> = scene.rows("data").into_keys().collect();
    assert_eq!(rows, ["key=1 seq=5 text=newest", "key=2 seq=1 text=other"]);
}

/// Rows of one key must meet even where the sort key goes on beyond the key: by the whole sort key, these two files
/// would not overlap, and each is large enough to be left alone.
#[test]
fn a_longer_sort_key_does_not_keep_rows_of_one_key_apart() {
    let scene = Scene::new();
    let mut state = 1u64;
    let texts: Vec<String> = (0..4_000)
        .map(|_| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            format!("{state:x}")
        })
        .collect();
    let rows = |keys: std::ops::Range<i64>| keys.zip(&texts).map(|(key, text)| (key, 1, text.as_str()));
    let low: Vec<_> = rows(0..4_000).chain([(4_000, 1, "old")]).collect();
    let high: Vec<_> = [(4_000, 2, "new")]
        .into_iter()
        .chain(rows(4_001..8_000))
        .collect();
    scene.write("data/low.parquet", &low);
    scene.write("data/high.parquet", &high);
    let keyed = [
        "--key",
        "key",
        "--newest",
        "seq",
        "--sort-by",
        "key,seq",
        "--target-size",
        "64KiB",
    ];
    let run = scene.compact(&keyed);
    assert_eq!((run.code, run.number("rows_dropped")), (0, 1), "{run:?}");
    let met: Vec<String> = scene
        .rows("data")
        .into_keys()
        .filter(|row| row.starts_with("key=4000 "))
        .collect();
    assert_eq!(met, ["key=4000 seq=2 text=new"]);
}

#[test]
fn the_key_must_begin_the_sort_key() {
    let scene = Scene::new();
    scene.write("data/a.parquet", &[(1, 5, "a")]);
    let run = scene.compact(&["--key", "key", "--newest", "seq", "--sort-by", "seq,key"]);
    assert_eq!(run.code, 2, "{run:?}");
    assert!(
        run.stderr.contains("must begin with the --key columns"),
        "{run:?}"
    );
}
