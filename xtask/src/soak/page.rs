//! docs/soak.md.

use std::process::Command;
use std::thread::available_parallelism;

use anyhow::Result;

use crate::process;
use crate::steps::Outcome;
use crate::workspace::Workspace;

pub(crate) fn commit(workspace: &Workspace) -> Result<String> {
    Ok(workspace
        .git(&["describe", "--always", "--dirty", "--exclude=*"])?
        .trim()
        .to_owned())
}

pub(crate) fn date() -> Result<String> {
    Ok(process::output(Command::new("date").args(["-u", "+%Y-%m-%d"]))?
        .trim()
        .to_owned())
}

pub(crate) fn render(commit: &str, date: &str, outcomes: &[Outcome], figures: &[Vec<String>]) -> String {
    let cores = available_parallelism().map_or(0, usize::from);
    let mut page = format!(
        "# The last soak\n\n\
         Written by `cargo xtask soak`: the long tests at their whole length.\n\n\
         Commit {commit}, {date}, {cores} cores, {}.\n\n\
         | step | result | minutes | figures |\n|---|---|---|---|\n",
        std::env::consts::OS
    );
    for (outcome, figures) in outcomes.iter().zip(figures) {
        let result = if outcome.passed { "passed" } else { "**failed**" };
        let minutes = outcome.took.as_secs_f64() / 60.0;
        page += &format!(
            "| {} | {result} | {minutes:.1} | {} |\n",
            outcome.name,
            figures.join("; ")
        );
    }
    page
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn a_failure_and_a_figure_are_on_the_page() {
        let outcome = |name: &str, passed| Outcome {
            name: name.to_owned(),
            passed,
            took: Duration::from_secs(90),
        };
        let outcomes = [outcome("kills", true), outcome("memory", false)];
        let page = render(
            "abc1234",
            "2026-01-31",
            &outcomes,
            &[vec!["100 kills".into()], vec![]],
        );
        assert!(page.contains("Commit abc1234, 2026-01-31"), "{page}");
        assert!(
            page.contains("| kills | passed | 1.5 | 100 kills |\n| memory | **failed** | 1.5 |  |\n"),
            "{page}"
        );
    }
}
