//! A large job that is cut off anywhere is gone on with: what was finished is not merged again, and in the end the rows are those
//! of a job that nobody disturbed.

use std::collections::BTreeSet;
use std::thread;
use std::time::{Duration, Instant};

use baler::root::Root;
use baler::store::Location;

use super::Fleet;
use super::processes::wait_until;
use super::ranges::{SMALL_FILES, SMALL_RANGES, large, made};
use crate::compaction::assert_no_orphans;
use crate::support::{column, tenth_unless_soaking};

/// The tokens of all ranges that are finished, as the journal says.
fn finished(fleet: &Fleet) -> BTreeSet<String> {
    let location = Location::Local(fleet.scene.path("data"));
    let runtime = tokio::runtime::Runtime::new().unwrap();
    runtime.block_on(async {
        let Ok(root) = Root::open_to_read(&location).await else {
            return BTreeSet::new();
        };
        let state = root.replica.state();
        let finished = state.jobs.values().flat_map(|job| job.finished());
        finished.map(|(_, finished)| finished.token.to_string()).collect()
    })
}

/// Trap: whoever takes over begins anew; or goes on, and loses or doubles rows at the seam.
#[test]
fn a_job_that_was_cut_off_anywhere_is_gone_on_with_and_nothing_finished_is_merged_again() {
    let args = [
        &["compact", "data", "--settle", "0s", "--sort-by", "key"],
        &SMALL_FILES[..],
        &SMALL_RANGES,
    ]
    .concat();
    let rounds = tenth_unless_soaking(30);
    let (mut kept, mut round, mut slower) = (0, 0, 1);
    while round < rounds || kept == 0 {
        // A busy machine may have finished nothing by then; it is given more time, round by round.
        if round >= rounds {
            slower *= 2;
        }
        assert!(
            slower < 64,
            "no run was killed while a range was finished: the test shows nothing"
        );
        let fleet = large();
        let before = fleet.scene.rows("data");
        let mut done = BTreeSet::new();
        // Killed a little later each time, so that over the rounds every step of a job is met.
        for kill in 1..=3u64 {
            let mut run = fleet.scene.command(&args).spawn().unwrap();
            let late = Duration::from_millis(slower * (150 * kill + 97 * u64::from(round) % 700));
            let began = Instant::now();
            while began.elapsed() < late && run.try_wait().unwrap().is_none() {
                thread::sleep(Duration::from_millis(5));
            }
            let _over_already = run.kill();
            run.wait().unwrap();
            let now = finished(&fleet);
            let over = now.is_empty() && !done.is_empty();
            assert!(over || now.is_superset(&done), "a finished range is free again");
            done.extend(now);
        }
        let ended = fleet.scene.baler(&args);
        assert_eq!(ended.code, 0, "{ended:?}");
        let mut files = fleet.scene.data_files("data");
        files.sort_by_key(|path| made(path));
        let tokens: BTreeSet<String> = files.iter().map(|path| made(path).token).collect();
        assert!(
            tokens.is_superset(&done),
            "{done:?} were finished, and {tokens:?} committed"
        );
        kept += done.len();
        assert!(fleet.scene.rows("data") == before, "rows were lost or doubled");
        let keys: Vec<i64> = files.iter().flat_map(|path| column(path, "key")).collect();
        assert_eq!(
            keys,
            (0..keys.len() as i64).collect::<Vec<_>>(),
            "the order is not that of an uncut job"
        );
        fleet.scene.baler(&["gc", "data", "--now"]);
        assert_no_orphans(&fleet.scene, "data");
        round += 1;
    }
}

#[test]
fn a_killed_workers_range_of_a_large_job_runs_elsewhere_within_its_lease_time_and_a_poll() {
    let fleet = large();
    let before = fleet.scene.rows("data");
    let serve = fleet.serve(&[&["--no-worker", "--lease", "2s"], &SMALL_FILES[..]].concat());
    let args = [&["--workers", "2", "--threads", "1"], &SMALL_RANGES[..]].concat();
    let mut victim = fleet.worker(&[&serve.url], &args);
    let heir = fleet.worker(&[&serve.url], &args);
    let pid = format!("-{}-", victim.pid());
    let holds = || {
        let status = fleet.status();
        let jobs = status["jobs"].as_array().unwrap().clone();
        let mut workers = jobs
            .iter()
            .flat_map(|job| job["workers"].as_array().unwrap().clone());
        workers.any(|worker| worker.as_str().unwrap().contains(&pid))
    };
    wait_until("it holds a range of a job that is cut", || {
        fleet.status()["jobs"][0]["ranges"]
            .as_u64()
            .is_some_and(|ranges| ranges > 1)
            && holds()
    });
    victim.kill();
    let killed = Instant::now();
    wait_until("nothing is held by the dead", || !holds());
    let took = killed.elapsed();
    println!("what a dead worker held was free again after {took:?}");
    // A lease time, a poll, and what a loaded machine takes to say so.
    assert!(took < Duration::from_secs(2 + 5 + 3), "it took {took:?}");
    wait_until("the job is committed, and its inputs are out of sight", || {
        let live = fleet.status()["live"]["files"].as_u64();
        fleet.committed() > 0 && live == Some(fleet.scene.data_files("data").len() as u64)
    });
    assert!(fleet.scene.rows("data") == before, "rows were lost or doubled");
    drop((victim, heir, serve));
    fleet.scene.baler(&["gc", "data", "--now"]);
    assert_no_orphans(&fleet.scene, "data");
}
