//! What Baler will not do on any place, and what it says instead.

use super::place::Place;
use crate::support::{Ended, ended};

on_every_place!(
    tables_of_other_formats_are_refused_above_inside_and_below,
    roots_may_not_overlap,
    source_and_output_may_not_overlap,
    an_output_belongs_to_one_source_and_holds_nobody_elses_data,
    files_of_another_journal_stop_the_run_until_they_are_adopted,
    a_damaged_journal_is_never_taken_for_an_empty_one,
);

fn assert_refused(place: &Place, run: &Ended, says: &str) {
    assert!(matches!(run.code, 1 | 2), "{}: {run:?}", place.name);
    assert!(
        run.stderr.contains(says),
        "{}: expected {says:?} in {run:?}",
        place.name
    );
}

async fn tables_of_other_formats_are_refused_above_inside_and_below(place: Place) {
    for marker in [
        "_delta_log/0.json",
        "metadata/v1.metadata.json",
        ".hoodie/hoodie.properties",
    ] {
        for below in ["", "/data", "/data/deeper"] {
            let top = format!(
                "{}{}",
                marker.split('/').next().unwrap().trim_start_matches(['_', '.']),
                below.len()
            );
            place.write_many(&format!("{top}/data"), 1, 2, 5).await;
            place.put(&format!("{top}{below}/{marker}"), b"{}".to_vec()).await;
            let (root, names) = (format!("{top}/data"), place.names(&top).await);
            let run = place.compact(&root, &[]);
            assert_refused(&place, &run, "table");
            let plan = place.baler(&["plan", &place.at(&root), "--settle", "0s"]);
            assert_refused(&place, &plan, "table");
            assert_eq!(
                place.names(&top).await,
                names,
                "{}: something was written",
                place.name
            );
        }
    }
}

async fn roots_may_not_overlap(place: Place) {
    place.write_many("data/inner", 1, 3, 5).await;
    assert_eq!(place.compact("data", &[]).code, 0);
    let inside = place.compact("data/inner", &[]);
    assert_refused(&place, &inside, "cannot both be roots");
    assert!(
        place.names("data/inner/_baler").await.is_empty(),
        "{}",
        place.name
    );

    place.write_many("around/inner", 1, 3, 5).await;
    assert_eq!(place.compact("around/inner", &[]).code, 0);
    let names = place.names("around").await;
    assert_refused(&place, &place.compact("around", &[]), "cannot both be roots");
    assert_eq!(place.names("around").await, names, "{}", place.name);
}

async fn source_and_output_may_not_overlap(place: Place) {
    place.write_many("top/data", 1, 3, 5).await;
    let names = place.names("top").await;
    for output in ["top/data", "top/data/inside", "top"] {
        let run = place.compact("top/data", &["--output", &place.at(output)]);
        assert_refused(&place, &run, "overlap");
    }
    assert_eq!(place.names("top").await, names, "{}", place.name);
}

async fn an_output_belongs_to_one_source_and_holds_nobody_elses_data(place: Place) {
    place.write_many("data", 1, 3, 5).await;
    place.write_many("other", 1, 3, 5).await;
    place.write("taken/mine.parquet", &[(1, 1, "mine")]).await;
    let taken = place.compact("data", &["--output", &place.at("taken")]);
    assert_refused(&place, &taken, "mine.parquet");
    assert_eq!(place.names("taken").await, ["mine.parquet"]);

    let output = place.at("packed");
    assert_eq!(place.compact("data", &["--output", &output]).code, 0);
    assert_refused(
        &place,
        &place.compact("other", &["--output", &output]),
        "give another --output",
    );
    assert_refused(&place, &place.compact("packed", &[]), "--output");
}

async fn files_of_another_journal_stop_the_run_until_they_are_adopted(place: Place) {
    place.write_many("data", 1, 3, 5).await;
    assert_eq!(place.compact("data", &[]).code, 0);
    for name in place.data_files("data").await {
        let bytes = place.get(&format!("data/{name}")).await.unwrap();
        place.put(&format!("copy/{name}"), bytes.to_vec()).await;
    }
    place.write("copy/day=00/new.parquet", &[(1, 1, "new")]).await;
    let before = place.data_files("copy").await;
    assert_refused(&place, &place.compact("copy", &[]), "--adopt-foreign");
    assert_eq!(place.data_files("copy").await, before, "{}", place.name);
    let run = place.compact("copy", &["--adopt-foreign"]);
    assert_eq!(
        (run.code, run.number("rows_out")),
        (0, 16),
        "{}: {run:?}",
        place.name
    );
}

async fn a_damaged_journal_is_never_taken_for_an_empty_one(place: Place) {
    place.write_many("data", 1, 3, 5).await;
    assert_eq!(place.compact("data", &[]).code, 0);
    place
        .put("data/_baler/journal/00000000000000000002", Vec::new())
        .await;
    let (names, root) = (place.names("data").await, place.at("data"));
    for command in ["compact", "plan", "status", "files", "verify", "gc"] {
        assert_refused(&place, &place.baler(&[command, &root]), "damaged");
    }
    assert_eq!(place.names("data").await, names, "{}", place.name);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_bucket_is_packed_into_a_folder_and_a_folder_into_a_bucket() {
    for store in [Place::seaweed().await, Place::azurite().await]
        .into_iter()
        .flatten()
    {
        store.write_many("data", 1, 4, 20).await;
        let before = store.rows("data").await;
        let folder = store.folder().join("packed");
        let run = store.compact("data", &["--output", folder.to_str().unwrap()]);
        assert_eq!(
            (run.code, run.number("rows_out")),
            (0, 80),
            "{}: {run:?}",
            store.name
        );
        assert_eq!(store.baler(&["verify", "packed"]).code, 0);

        let back = store.at("back");
        let adopted = [
            "compact",
            "packed",
            "--output",
            &back,
            "--settle",
            "0s",
            "--json",
            "--adopt-foreign",
        ];
        let own_root = store.baler(&adopted);
        assert_refused(&store, &own_root, "packed");
        let plain = store.folder().join("plain");
        std::fs::create_dir(&plain).unwrap();
        for (number, name) in store.data_files("data").await.iter().enumerate() {
            let bytes = store.get(&format!("data/{name}")).await.unwrap();
            std::fs::write(plain.join(format!("{number}.parquet")), bytes).unwrap();
        }
        let run = store.baler(&["compact", "plain", "--output", &back, "--settle", "0s", "--json"]);
        assert_eq!(run.code, 0, "{}: {run:?}", store.name);
        assert_eq!(store.rows("back").await, before, "{}", store.name);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn wrong_settings_of_a_store_say_what_to_do() {
    for place in [Place::seaweed().await, Place::azurite().await]
        .into_iter()
        .flatten()
    {
        let missing = format!("{}-not", place.base());
        for command in ["compact", "plan", "status"] {
            let run = place.baler(&[command, &missing]);
            assert_refused(&place, &run, "there is no");
        }
    }
    let Some(place) = Place::seaweed().await else {
        return;
    };
    place.write_many("data", 1, 2, 5).await;
    let cases: [(&[(&str, &str)], &str); 4] = [
        (&[("AWS_SECRET_ACCESS_KEY", "wrong")], "AWS_SECRET_ACCESS_KEY"),
        (&[("AWS_ACCESS_KEY_ID", "nobody")], "AWS_ACCESS_KEY_ID"),
        (
            &[
                ("AWS_ENDPOINT_URL", "http://store.invalid"),
                ("AWS_ALLOW_HTTP", ""),
            ],
            "AWS_ALLOW_HTTP=true",
        ),
        (&[("AWS_ENDPOINT_URL", "http://127.0.0.1:9")], "127.0.0.1:9"),
    ];
    for (variables, says) in cases {
        let mut command = place.compact_command("data", &[]);
        command.envs(variables.iter().copied());
        assert_refused(&place, &ended(command.output().unwrap()), says);
    }
    assert!(place.names("data/_baler").await.is_empty());
}
