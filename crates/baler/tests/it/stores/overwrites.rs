//! What others do to objects between the moment Baler reads them and the moment it would delete them.
//! Here the moment is chance; `faults` holds a run in the gap itself.

use super::place::Place;
use super::running::wait_for;
use crate::support::{Ended, ended, parquet_of};

on_every_place!(
    an_object_overwritten_between_read_and_delete_survives,
    one_overwritten_with_the_same_length_survives,
    one_deleted_meanwhile_does_not_come_back_by_itself,
    a_new_object_under_an_old_name_is_taken_by_the_next_run,
);

const ROWS: i64 = 5_000;
const VICTIM: &str = "data/day=00/part-0003.parquet";

/// Starts a run, and meddles once it has staged something.
async fn meddle(place: &Place, meddle: impl AsyncFnOnce()) -> Ended {
    place.write_many("data", 1, 12, ROWS).await;
    let flags = ["--sort-by", "key", "--threads", "1"];
    let mut child = place.compact_command("data", &flags).spawn().unwrap();
    wait_for(place, "data/_baler/staging", &mut child).await;
    meddle().await;
    ended(child.wait_with_output().unwrap())
}

/// The rows of the other inputs, each once; and of the victim either all or none, since it was read or was not.
async fn assert_others_are_whole(place: &Place, run: &Ended, more: u64) {
    let found: u64 = place.rows("data").await.values().sum();
    let (all, others) = (12 * ROWS as u64 + more, 11 * ROWS as u64 + more);
    assert!(
        found == all || found == others,
        "{}: {found} of {all}: {run:?}",
        place.name
    );
}

async fn an_object_overwritten_between_read_and_delete_survives(place: Place) {
    let newer = parquet_of(&[(-1, 0, "rewritten")]);
    let run = meddle(&place, async || place.put(VICTIM, newer).await).await;
    assert_eq!(run.code, 0, "{}: {run:?}", place.name);
    assert_eq!(place.compact("data", &[]).code, 0);
    let rows = place.rows("data").await;
    assert_eq!(
        rows.get("key=-1 seq=0 text=rewritten"),
        Some(&1),
        "{}: {run:?}",
        place.name
    );
    assert_others_are_whole(&place, &run, 1).await;
}

/// Sizes and times are not enough to tell two versions apart.
async fn one_overwritten_with_the_same_length_survives(place: Place) {
    place.write_many("data", 1, 12, ROWS).await;
    let mut newer = place.get(VICTIM).await.unwrap().to_vec();
    let at = newer.windows(9).position(|bytes| bytes == b"some text").unwrap();
    newer[at..at + 9].copy_from_slice(b"same size");
    let run = meddle(&place, async || place.put(VICTIM, newer).await).await;
    assert_eq!(run.code, 0, "{}: {run:?}", place.name);
    assert_eq!(place.compact("data", &[]).code, 0);
    let rows = place.rows("data").await;
    let newer: u64 = rows
        .iter()
        .filter(|(row, _)| row.ends_with("same size"))
        .map(|(_, count)| count)
        .sum();
    assert_eq!(newer, ROWS as u64, "{}: {run:?}", place.name);
    assert_others_are_whole(&place, &run, ROWS as u64).await;
}

async fn one_deleted_meanwhile_does_not_come_back_by_itself(place: Place) {
    let run = meddle(&place, async || place.delete(VICTIM).await).await;
    assert_eq!(run.code, 0, "{}: {run:?}", place.name);
    assert_others_are_whole(&place, &run, 0).await;
    assert!(place.get(VICTIM).await.is_none());
    let again = place.compact("data", &[]);
    assert_eq!(
        (again.code, again.number("jobs")),
        (0, 0),
        "{}: {again:?}",
        place.name
    );
}

async fn a_new_object_under_an_old_name_is_taken_by_the_next_run(place: Place) {
    place.write_many("data", 1, 4, 100).await;
    let old = place.rows("data").await;
    assert_eq!(place.compact("data", &[]).code, 0);
    assert!(place.get(VICTIM).await.is_none(), "it was replaced");
    place.write(VICTIM, &[(7, 7, "new")]).await;
    place.write("data/day=00/other.parquet", &[(8, 8, "new")]).await;
    let run = place.compact("data", &[]);
    assert_eq!(run.code, 0, "{}: {run:?}", place.name);
    let rows = place.rows("data").await;
    assert_eq!(
        rows.values().sum::<u64>(),
        old.values().sum::<u64>() + 2,
        "{}",
        place.name
    );
    assert_eq!(rows.get("key=7 seq=7 text=new"), Some(&1));
    let live = place.live("data");
    assert_eq!(
        live,
        place.data_files("data").await,
        "{}: every file is known",
        place.name
    );
}
