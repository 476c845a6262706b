//! A server with its command and its directory: started, killed, and started again on what is left.

use std::path::PathBuf;
use std::process::Command;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use anyhow::{Result, anyhow};

use crate::child::Child;

/// How long a server may take to its first write. Loaded machines are slow.
const READY_MAX: Duration = Duration::from_secs(60);

const LOG_LINES_SHOWN: usize = 20;

#[derive(Debug)]
pub(crate) struct Server {
    command: Command,
    log: PathBuf,
    sweep: Option<PathBuf>,
    running: Mutex<Option<Child>>,
}

impl Server {
    pub(crate) fn new(command: Command, log: PathBuf) -> Self {
        Self {
            command,
            log,
            sweep: None,
            running: Mutex::default(),
        }
    }

    /// The directory is removed when the server ends, so there is no starting it again.
    pub(crate) fn sweep(&mut self, directory: PathBuf) {
        self.sweep = Some(directory);
    }

    /// Starts it and waits until `is_ready` says so; an open port says nothing.
    pub(crate) async fn start(&self, mut is_ready: impl AsyncFnMut() -> Result<()>) -> Result<()> {
        let child = Child::start(&self.command, &self.log, self.sweep.as_deref())?;
        *self.running() = Some(child);
        let begun = Instant::now();
        loop {
            let Err(error) = is_ready().await else {
                return Ok(());
            };
            if begun.elapsed() > READY_MAX {
                self.kill();
                let error = error.context(format!("{:?} is not ready", self.command.get_program()));
                return Err(anyhow!("{error:#}; its last words:\n{}", self.last_words()));
            }
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    }

    /// SIGKILL; it is gone when this returns.
    pub(crate) fn kill(&self) {
        drop(self.running().take());
    }

    pub(crate) fn pid(&self) -> Option<u32> {
        self.running().as_ref().map(Child::pid)
    }

    fn running(&self) -> MutexGuard<'_, Option<Child>> {
        self.running.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn last_words(&self) -> String {
        let text = std::fs::read_to_string(&self.log).unwrap_or_default();
        let lines: Vec<&str> = text.lines().collect();
        lines[lines.len().saturating_sub(LOG_LINES_SHOWN)..].join("\n")
    }
}

/// Where a server is, as `cargo xtask test` says in this variable. Without it a test has nothing to run on.
pub(crate) fn installed(variable: &str) -> Option<PathBuf> {
    let path = std::env::var_os(variable).map(PathBuf::from);
    if path.is_none() {
        println!("skipped: {variable} is not set; run `cargo xtask test`");
    }
    path
}
