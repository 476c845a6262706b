//! Several processes on one root, started together: every job is committed once, and hardly anything is done twice.

use std::time::Duration;

use baler_teststores::{Fault, FaultProxy, shared_seaweed};

use super::place::Place;
use super::running::all_ended;
use crate::support::{Ended, soaking};

on_every_place!(
    two_processes_share_the_work,
    eight_processes_share_the_work,
    a_mix_of_commands_at_once_does_no_harm,
);

/// Bytes written for nothing, of all that were written.
const WASTED_SHARE_MAX: f64 = 0.05;

async fn two_processes_share_the_work(place: Place) {
    share_the_work(&place, 2).await;
}

async fn eight_processes_share_the_work(place: Place) {
    share_the_work(&place, 8).await;
}

async fn share_the_work(place: &Place, processes: usize) {
    let (folders, files, rows) = if soaking() { (24, 6, 20_000) } else { (8, 4, 300) };
    place.write_many("data", folders, files, rows).await;
    let before = place.rows("data").await;
    let start = |_| {
        let flags = [
            "--sort-by",
            "key",
            "--workers",
            "1",
            "--threads",
            "1",
            "--memory",
            "64MiB",
        ];
        place.compact_command("data", &flags).spawn().unwrap()
    };
    let runs = all_ended((0..processes).map(start).collect());
    for run in &runs {
        assert_eq!(run.code, 0, "{}: {run:?}", place.name);
    }
    let sum = |name: &str| runs.iter().map(|run| run.number(name)).sum::<u64>();

    assert_eq!(place.rows("data").await, before, "{}", place.name);
    let inputs = u64::try_from(folders * files).unwrap();
    assert_eq!(
        sum("files_in"),
        inputs,
        "{}: each input is replaced once: {runs:?}",
        place.name
    );
    let jobs = u64::try_from(folders).unwrap();
    assert_eq!((sum("jobs"), sum("files_out")), (jobs, jobs), "{runs:?}");
    let status = place.baler(&["status", &place.at("data"), "--json"]).json();
    let recent = status["recent"].as_array().unwrap();
    let committed = recent.iter().filter(|job| job["status"] == "committed");
    assert_eq!(committed.count() as u64, jobs, "{status}");

    let wasted = sum("bytes_wasted") as f64 / (sum("bytes_out") + sum("bytes_wasted")) as f64;
    assert!(wasted < WASTED_SHARE_MAX, "{}: {wasted}: {runs:?}", place.name);
    let (appends, conflicts) = (sum("appends"), sum("append_conflicts"));
    println!(
        "figure: {processes} processes on {}: {jobs} jobs committed once, {:.1} % of bytes wasted, {:.1} % of {} appends met \
         a conflict, {} of {processes} took part",
        place.name,
        100.0 * wasted,
        100.0 * conflicts as f64 / (appends + conflicts) as f64,
        appends + conflicts,
        runs.iter().filter(|run| run.number("jobs") > 0).count(),
    );
}

/// Jobs of milliseconds are nearly all appending, so they meet all the time. These last as long as jobs do: the store takes
/// seconds for what they write.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn jobs_that_last_seconds_seldom_meet() {
    let Some(server) = shared_seaweed().await else {
        return;
    };
    let (jobs_each, seconds) = if soaking() { (6, 6) } else { (1, 1) };
    for processes in [2, 5, 8] {
        let bucket = server.new_bucket().await.unwrap();
        let proxy = FaultProxy::start(server.s3()).await.unwrap();
        let place = Place::in_bucket("SeaweedFS", server.s3(), &bucket);
        let slow = Place::in_bucket("SeaweedFS", proxy.s3(), &bucket);
        let jobs = processes * jobs_each;
        place.write_many("data", jobs, 4, 300).await;
        for job in 0..jobs as u64 {
            let delay = Duration::from_millis(seconds * 500 + job * 7919 % (seconds * 1_000));
            proxy.plan("PUT", "_baler/staging", 1, Fault::DelayResponse(delay));
        }
        let flags = ["--sort-by", "key", "--workers", "1", "--threads", "1"];
        let start = |_| slow.compact_command("data", &flags).spawn().unwrap();
        let runs = all_ended((0..processes).map(start).collect());
        let sum = |name: &str| runs.iter().map(|run| run.number(name)).sum::<u64>();
        assert!(runs.iter().all(|run| run.code == 0), "{runs:?}");
        assert_eq!(sum("jobs"), jobs as u64, "{runs:?}");
        let (appends, conflicts) = (sum("appends"), sum("append_conflicts"));
        println!(
            "figure: {processes} processes, jobs of about {seconds} s: {:.1} % of {} appends met a conflict (seed 000 expects 2 % \
             with 2 and 5 % with 5)",
            100.0 * conflicts as f64 / (appends + conflicts) as f64,
            appends + conflicts,
        );
    }
}

/// Whatever cron jobs meet: nobody fails, and nothing that is live is collected.
async fn a_mix_of_commands_at_once_does_no_harm(place: Place) {
    place.write_many("data", 4, 4, 200).await;
    let before = place.rows("data").await;
    let root = place.at("data");
    assert_eq!(place.compact("data", &["--partition", "day=00"]).code, 0);
    let commands: [&[&str]; 8] = [
        &["compact", &root, "--settle", "0s", "--json"],
        &["gc", &root, "--now", "--full"],
        &["plan", &root, "--settle", "0s"],
        &["compact", &root, "--settle", "0s", "--json"],
        &["gc", &root, "--now"],
        &["status", &root],
        &["verify", &root, "--quick"],
        &["compact", &root, "--settle", "0s", "--json"],
    ];
    let children = commands.map(|args| place.command(args).spawn().unwrap());
    let ended: Vec<Ended> = all_ended(children.into());
    for (args, ended) in commands.iter().zip(&ended) {
        // A file that is replaced and deleted while it is verified is missed: there is nothing to pin here.
        if args[0] != "verify" {
            assert_eq!(ended.code, 0, "{}: {args:?}: {ended:?}", place.name);
        }
    }
    let last = place.compact("data", &[]);
    assert_eq!(last.code, 0, "{last:?}");
    assert_eq!(place.rows("data").await, before, "{}", place.name);
    assert_eq!(place.data_files("data").await.len(), 4);
    assert_eq!(place.baler(&["verify", &root]).code, 0);
    let gc = place.baler(&["gc", &root, "--now", "--full"]);
    assert_eq!(gc.code, 0, "{gc:?}");
    place.assert_no_orphans("data").await;
}
