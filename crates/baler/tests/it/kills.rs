//! SIGKILL at random moments over whole runs: nothing lost, nothing doubled, no orphan after `gc`. A tenth of it runs
//! in CI, all of it in `cargo xtask soak`.

use std::process::Stdio;
use std::thread;
use std::time::{Duration, Instant};

use crate::compaction::assert_no_orphans;
use crate::support::{Scene, tenth_unless_soaking};

const KILLS: u32 = 100;

#[test]
fn kills_in_place_cost_nothing_but_time() {
    survive_kills(&[], "data");
}

#[test]
fn kills_with_output_cost_nothing_but_time() {
    survive_kills(&["--output", "packed"], "packed");
}

/// Each round kills a run at a random moment of it, then lets one finish, and starts over on a new folder once
/// everything is compacted.
fn survive_kills(args: &[&str], root: &str) {
    let kills = tenth_unless_soaking(KILLS);
    let whole = whole_run(args);
    let mut random = 0x9e37_79b9_7f4a_7c15_u64 ^ u64::from(std::process::id());
    let mut killed = 0;
    while killed < kills {
        let scene = small_scene();
        let before = scene.rows("data");
        for _ in 0..3 {
            random = random
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            let moment = whole.mul_f64((random >> 11) as f64 / (1u64 << 53) as f64 * 1.1);
            killed += u32::from(kill_after(&scene, args, moment));
        }
        let began = Instant::now();
        let last = scene.compact(&with_flags(args));
        assert!(
            began.elapsed() < Duration::from_secs(50),
            "the run waited for a lease: {last:?}"
        );
        assert_eq!(last.code, 0, "{last:?}");
        assert_eq!(scene.rows(root), before, "rows were lost or doubled");
        assert_eq!(scene.compact(args).number("jobs"), 0, "not at rest");
        assert_eq!(scene.baler(&["verify", root]).code, 0);
        assert_eq!(scene.baler(&["gc", root, "--now"]).code, 0);
        assert_no_orphans(&scene, root);
        assert_eq!(scene.rows(root), before, "gc deleted something live");
    }
    println!("figure: {killed} kills of {root}, nothing lost, doubled or orphaned");
}

fn small_scene() -> Scene {
    let scene = Scene::new();
    for day in 0..4 {
        for part in 0..6 {
            let rows: Vec<(i64, i64, &str)> = (0..2_000).map(|row| (row * 6 + part, part, "text")).collect();
            scene.write(&format!("data/day={day}/part-{part}.parquet"), &rows);
        }
    }
    scene
}

fn with_flags<'a>(args: &[&'a str]) -> Vec<&'a str> {
    [
        &["--sort-by", "key", "--workers", "2", "--memory", "128MiB"],
        args,
    ]
    .concat()
}

fn whole_run(args: &[&str]) -> Duration {
    let scene = small_scene();
    let began = Instant::now();
    assert_eq!(scene.compact(&with_flags(args)).code, 0);
    began.elapsed()
}

/// Answers whether the run was still going when it was killed.
fn kill_after(scene: &Scene, args: &[&str], moment: Duration) -> bool {
    let all = [
        &["compact", "data", "--settle", "0s", "--json"][..],
        &with_flags(args),
    ]
    .concat();
    let mut child = scene
        .command(&all)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    thread::sleep(moment);
    let running = child.try_wait().unwrap().is_none();
    child.kill().unwrap();
    child.wait().unwrap();
    running
}
