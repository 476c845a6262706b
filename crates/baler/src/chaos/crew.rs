//! Worker processes that die all the time: this very binary, with faults in their way.

use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

use anyhow::{Context, Result};
use baler_journal::host;

use crate::store::{FAULTS, Location, TALLY};

/// Requests of a thousand that meet a fault.
const FAULTS_PER_MILLE: &str = "20";

/// Short, so that what a dead worker held is soon somebody else's.
const LEASE: &str = "3s";

/// Workers under way. They are killed when this is dropped.
#[derive(Debug)]
pub(super) struct Crew {
    program: PathBuf,
    root: String,
    tally: PathBuf,
    workers: Vec<Child>,
}

/// How a command of this binary ended.
#[derive(Debug)]
pub(super) struct Ended {
    pub(super) well: bool,
    pub(super) stdout: String,
    pub(super) stderr: String,
}

impl Crew {
    pub(super) fn new(root: &Location, tally: PathBuf) -> Result<Self> {
        Ok(Self {
            program: std::env::current_exe().context("cannot find this binary")?,
            root: root.to_string(),
            tally,
            workers: Vec::new(),
        })
    }

    /// Starts so many workers.
    pub(super) fn start(&mut self, workers: usize) -> Result<()> {
        for _ in 0..workers {
            let worker = self.spawn()?;
            self.workers.push(worker);
        }
        Ok(())
    }

    fn spawn(&self) -> Result<Child> {
        let mut command = Command::new(&self.program);
        command.args([
            "worker", &self.root, "--lease", LEASE, "--rescan", "1s", "--settle", "0s",
        ]);
        command.args(["--workers", "1", "--threads", "1", "--memory", "64MiB"]);
        command.env(FAULTS, FAULTS_PER_MILLE).env(TALLY, &self.tally);
        command
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        command.spawn().context("cannot start a worker")
    }

    /// SIGKILL for one of them, and another begins in its place. Answers whether it was alive.
    pub(super) fn kill_one(&mut self) -> Result<bool> {
        let unlucky = host::chance() as usize % self.workers.len();
        let fresh = self.spawn()?;
        let mut dead = std::mem::replace(&mut self.workers[unlucky], fresh);
        let alive = dead.try_wait()?.is_none();
        end(&mut dead);
        Ok(alive)
    }

    /// Ends all of them in the same way.
    pub(super) fn stop(&mut self) {
        for mut worker in self.workers.drain(..) {
            end(&mut worker);
        }
    }

    /// Runs a command of this binary on the scratch table, without faults.
    pub(super) async fn run(&self, before: &[&str], after: &[&str]) -> Result<Ended> {
        let mut command = Command::new(&self.program);
        command
            .args(before)
            .arg(&self.root)
            .args(after)
            .stdin(Stdio::null());
        let output = host::blocking(move || command.output()).await??;
        Ok(Ended {
            well: output.status.success(),
            stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
            stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
        })
    }
}

impl Drop for Crew {
    fn drop(&mut self) {
        self.stop();
    }
}

fn end(worker: &mut Child) {
    // One that ended by itself is as dead.
    let _ = worker.kill();
    let _ = worker.wait();
}
