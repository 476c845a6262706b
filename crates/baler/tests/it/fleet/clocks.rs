//! Wall clocks that are wrong, each in another way, and that jump: nothing that matters is decided by them, so nobody alive
//! loses a lease. `cargo xtask test` installs what lies to the processes about the time, and says where in
//! `BALER_FAKETIME`.

use std::path::PathBuf;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use baler_journal::store::LocalStore;

use super::Fleet;
use super::processes::wait_until;
use crate::ledger::Ledger;

const PARTS: i64 = 3;

/// How wrong a process's clock is.
#[derive(Clone, Copy)]
enum Clock {
    Ahead,
    Behind,
    Jumping,
}

/// What lies about the time; `None`, with a line that says so, where it is not installed or does not work here.
fn faketime() -> Option<PathBuf> {
    let Some(library) = std::env::var_os("BALER_FAKETIME").map(PathBuf::from) else {
        println!("skipped: BALER_FAKETIME is not set; run `cargo xtask test`");
        return None;
    };
    let year = Command::new("date")
        .arg("+%Y")
        .env("LD_PRELOAD", &library)
        .env("FAKETIME", "@2001-02-03 04:05:06")
        .output()
        .unwrap();
    if year.stdout != b"2001\n" {
        println!(
            "skipped: {} does not work on this machine: {year:?}",
            library.display()
        );
        return None;
    }
    Some(library)
}

/// A file that says how wrong the clock is, as it is read again and again.
struct JumpingClock {
    stop: Arc<AtomicBool>,
    jumping: Option<thread::JoinHandle<()>>,
}

impl JumpingClock {
    fn start(path: PathBuf) -> Self {
        let stop = Arc::new(AtomicBool::new(false));
        let stopped = stop.clone();
        std::fs::write(&path, "+0\n").unwrap();
        let jumping = thread::spawn(move || {
            for offset in ["+10m\n", "-10m\n", "+0\n"].iter().cycle() {
                if stopped.load(Ordering::Relaxed) {
                    return;
                }
                std::fs::write(&path, offset).unwrap();
                thread::sleep(Duration::from_millis(700));
            }
        });
        Self {
            stop,
            jumping: Some(jumping),
        }
    }
}

impl Drop for JumpingClock {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        let _ = self.jumping.take().map(thread::JoinHandle::join);
    }
}

/// Trap: leases are judged by wall clocks, so that one that is ahead takes live work away, and one that is behind never notices
/// a death.
#[tokio::test]
async fn clocks_ten_minutes_apart_and_jumping_take_no_lease_from_the_living() {
    let Some(library) = faketime() else { return };
    let fleet = Fleet::new();
    for part in 0..PARTS {
        for file in 0..25 {
            let rows: Vec<(i64, i64, &str)> =
                (0..20_000).map(|row| (row * 25 + file, part, "text")).collect();
            let path = format!("data/part={part}/{file:02}.parquet");
            fleet.scene.write(&path, &rows);
        }
    }
    let before = fleet.scene.rows("data");
    let file = fleet.scene.path("clock.txt");
    let jumping = JumpingClock::start(file.clone());
    let with = |clock: Clock| -> Vec<(&'static str, String)> {
        let mut env = vec![
            ("LD_PRELOAD", library.to_str().unwrap().to_owned()),
            ("FAKETIME_DONT_FAKE_MONOTONIC", "1".to_owned()),
        ];
        match clock {
            Clock::Ahead => env.push(("FAKETIME", "+10m".to_owned())),
            Clock::Behind => env.push(("FAKETIME", "-10m".to_owned())),
            Clock::Jumping => env.extend([
                ("FAKETIME_TIMESTAMP_FILE", file.to_str().unwrap().to_owned()),
                ("FAKETIME_NO_CACHE", "1".to_owned()),
            ]),
        }
        env
    };
    let serve = ["--no-worker", "--lease", "3s"];
    let coordinators = [
        fleet.serve_with(&serve, &with(Clock::Ahead)),
        fleet.serve_with(&serve, &with(Clock::Jumping)),
    ];
    let urls: Vec<&str> = coordinators.iter().map(|process| process.url.as_str()).collect();
    let merging = ["--threads", "1"];
    let alone = ["--threads", "1", "--lease", "3s", "--rescan", "never"];
    let workers = [
        fleet.worker_with(&urls, &merging, &with(Clock::Behind)),
        fleet.worker_with(&[urls[1], urls[0]], &merging, &with(Clock::Ahead)),
        fleet.worker_with(&["data"], &alone, &with(Clock::Jumping)),
    ];
    let parts = usize::try_from(PARTS).unwrap();
    wait_until("everything is merged", || fleet.committed() >= parts);
    fleet.wait_for_rest(parts, &before);
    drop((workers, coordinators, jumping));
    let store = LocalStore::open(fleet.scene.path("data")).unwrap();
    let ledger = Ledger::read(Arc::new(store)).await;
    assert_eq!(ledger.jobs(), parts);
    assert!(ledger.released.is_empty(), "taken from the living: {ledger:?}");
    assert_eq!(ledger.taken_over, 0, "{ledger:?}");
    println!(
        "figure: 2 coordinators and 3 workers whose clocks are 10 minutes ahead, 10 minutes behind and jumping: {parts} jobs, no lease \
         was taken from anybody"
    );
}
