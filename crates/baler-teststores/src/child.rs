//! A server process that cannot outlive this one. A shell stands between them and reads a pipe that only this process
//! can write to: when the pipe closes, be it on purpose, by a panic or by SIGKILL, the shell kills the server.

use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{ChildStdin, Command, Stdio};

use anyhow::{Context, Result};

/// Ctrl-C reaches the shell too; it must live on to see the pipe close.
const WATCHDOG: &str = r#"
trap '' INT TERM HUP
exec 3<&0
"$@" </dev/null >&2 3<&- &
echo $!
exec >&-
read -r _ <&3
kill -9 $!
wait $!
[ -z "$BALER_SWEEP" ] || rm -rf "$BALER_SWEEP"
"#;

/// A running server.
#[derive(Debug)]
pub(crate) struct Child {
    watchdog: std::process::Child,
    pipe: Option<ChildStdin>,
    pid: u32,
}

impl Child {
    /// Starts the command; what it prints goes to the log. The directory to sweep goes when the server does.
    pub(crate) fn start(command: &Command, log: &Path, sweep: Option<&Path>) -> Result<Self> {
        let log = File::options().create(true).append(true).open(log)?;
        let mut watchdog = Command::new("sh");
        watchdog.args(["-c", WATCHDOG, "watchdog"]);
        watchdog.arg(command.get_program()).args(command.get_args());
        for (name, value) in command.get_envs() {
            watchdog.env(name, value.unwrap_or_default());
        }
        watchdog.env("BALER_SWEEP", sweep.unwrap_or(Path::new("")));
        let mut watchdog = watchdog
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(log)
            .spawn()
            .context("`sh` could not be started")?;
        let pipe = watchdog.stdin.take();
        let mut first_line = String::new();
        let stdout = watchdog.stdout.take().context("the shell has no stdout")?;
        BufReader::new(stdout).read_line(&mut first_line)?;
        let pid = first_line.trim().parse().context("the shell names no process")?;
        Ok(Self { watchdog, pipe, pid })
    }

    /// The server's process, not the shell's.
    pub(crate) fn pid(&self) -> u32 {
        self.pid
    }
}

/// SIGKILL, by way of the closed pipe; returns once the server is gone.
impl Drop for Child {
    fn drop(&mut self) {
        drop(self.pipe.take());
        let _gone_already = self.watchdog.wait();
    }
}
