//! SIGKILL of Baler, and of the server under it, at random moments: nothing lost, nothing doubled, no orphan after
//! `gc`. A tenth of it runs in CI, all of it in `cargo xtask soak`.

use std::time::{Duration, Instant};

use baler_teststores::Seaweed;

use super::place::Place;
use super::running::{all_ended, kill};
use crate::support::tenth_unless_soaking;

on_every_store!(kills_of_baler_on_a_store_cost_nothing_but_time);

const KILLS: u32 = 100;

/// Kills before a run is let finish.
const KILLS_A_ROUND: u32 = 10;

const FLAGS: [&str; 8] = [
    "--sort-by",
    "key",
    "--workers",
    "2",
    "--memory",
    "64MiB",
    "--lease",
    "1s",
];

async fn kills_of_baler_on_a_store_cost_nothing_but_time(place: Place) {
    place.write_many("whole", 3, 3, 300).await;
    let began = Instant::now();
    assert_eq!(place.compact("whole", &FLAGS).code, 0);
    let whole = began.elapsed();
    let (kills, mut killed, mut round) = (tenth_unless_soaking(KILLS), 0, 0);
    while killed < kills {
        round += 1;
        let root = format!("round-{round}");
        place.write_many(&root, 3, 3, 300).await;
        let before = place.rows(&root).await;
        for _ in 0..KILLS_A_ROUND {
            let child = place.compact_command(&root, &FLAGS).spawn().unwrap();
            tokio::time::sleep(whole.mul_f64(rand::random_range(0.0..1.1))).await;
            killed += u32::from(kill(child));
        }
        let run = place.compact(&root, &FLAGS);
        assert_eq!(run.code, 0, "{}: {run:?}", place.name);
        assert_settled(&place, &root, &before).await;
    }
    println!(
        "figure: {killed} kills of baler on {}, nothing lost, doubled or orphaned",
        place.name
    );
}

/// Everything is compacted, all rows are there, and after `gc` nothing else is.
async fn assert_settled(place: &Place, root: &str, before: &std::collections::BTreeMap<String, u64>) {
    assert_eq!(
        &place.rows(root).await,
        before,
        "{}: rows were lost or doubled",
        place.name
    );
    let again = place.compact(root, &FLAGS);
    assert_eq!(
        (again.code, again.number("jobs")),
        (0, 0),
        "{}: not at rest: {again:?}",
        place.name
    );
    assert_eq!(place.baler(&["verify", &place.at(root)]).code, 0);
    let gc = place.baler(&["gc", &place.at(root), "--now", "--full"]);
    assert_eq!(gc.code, 0, "{gc:?}");
    place.assert_no_orphans(root).await;
    assert_eq!(
        &place.rows(root).await,
        before,
        "{}: gc deleted something live",
        place.name
    );
}

const SERVER_KILLS: u32 = 20;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn kills_of_the_server_under_two_processes_lose_nothing() {
    let directory = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let Some(seaweed) = Seaweed::start(directory.path()).await.unwrap() else {
        return;
    };
    let bucket = seaweed.new_bucket().await.unwrap();
    let place = Place::in_bucket("SeaweedFS", seaweed.s3(), &bucket);
    let (kills, mut survived, mut failed) = (tenth_unless_soaking(SERVER_KILLS), 0, 0);
    for round in 0..kills {
        let root = format!("round-{round}");
        place.write_many(&root, 8, 6, 1_000).await;
        let before = place.rows(&root).await;
        let start = |_| place.compact_command(&root, &FLAGS).spawn().unwrap();
        let children = (0..2).map(start).collect();
        tokio::time::sleep(Duration::from_millis(rand::random_range(200..2_500))).await;
        seaweed.kill();
        tokio::time::sleep(Duration::from_millis(rand::random_range(0..1_000))).await;
        seaweed.restart().await.unwrap();
        for run in all_ended(children) {
            match run.code {
                0 => survived += 1,
                1 if run.stderr.contains("error: ") => failed += 1,
                _ => panic!("neither well nor a clear error: {run:?}"),
            }
        }
        let run = place.compact(&root, &FLAGS);
        assert_eq!(run.code, 0, "{run:?}");
        assert_settled(&place, &root, &before).await;
    }
    println!(
        "figure: {kills} kills of SeaweedFS under two processes: {survived} runs went on, {failed} ended with a clear \
         error, nothing lost, doubled or orphaned"
    );
}
