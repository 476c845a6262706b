//! What a figure was measured on: commit, day, machine. A page without it cannot be argued with.

use std::process::Command;
use std::thread::available_parallelism;

use anyhow::Result;

use crate::process;
use crate::workspace::Workspace;

/// What figures depend on; a page that was just written does not make them another commit's.
const MEASURED: &[&str] = &["crates", "xtask", "bench", "Cargo.toml", "Cargo.lock"];

/// `Commit abc1234, 2026-01-31, 2 cores, linux`. Ask before the work begins, since sources may change while it runs.
pub(crate) fn line(workspace: &Workspace) -> Result<String> {
    let commit = workspace.git(&["rev-parse", "--short", "HEAD"])?;
    let mut status = vec!["status", "--porcelain", "--"];
    status.extend(MEASURED);
    let changed = workspace.git(&status)?;
    let date = process::output(Command::new("date").args(["-u", "+%Y-%m-%d"]))?;
    let cores = available_parallelism().map_or(0, usize::from);
    let os = std::env::consts::OS;
    Ok(render(commit.trim(), !changed.is_empty(), date.trim(), cores, os))
}

fn render(commit: &str, changed: bool, date: &str, cores: usize, os: &str) -> String {
    let changed = if changed { " with changes" } else { "" };
    format!("Commit {commit}{changed}, {date}, {cores} cores, {os}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_of_uncommitted_sources_say_so() {
        assert_eq!(
            render("abc1234", false, "2026-01-31", 2, "linux"),
            "Commit abc1234, 2026-01-31, 2 cores, linux"
        );
        assert!(render("abc1234", true, "", 2, "").starts_with("Commit abc1234 with changes, "));
    }
}
