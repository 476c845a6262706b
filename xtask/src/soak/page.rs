//! docs/soak.md.

use crate::steps::Outcome;

/// The page: one line for each name. What was run now is told, and what was not keeps the line of the page before.
pub(crate) fn render<'a>(names: impl Iterator<Item = &'a str>, run: &Run<'_>, before: &str) -> String {
    let mut page = String::from(
        "# The last soak\n\n\
         Written by `cargo xtask soak`: the long tests at their whole length, each with the commit it last ran on.\n\n\
         | step | result | minutes | when and on what | figures |\n|---|---|---|---|---|\n",
    );
    for name in names {
        let told = run.steps.iter().find(|(outcome, _)| outcome.name == name);
        let line = told.map(|(outcome, figures)| run.line(outcome, figures));
        let kept = || before.lines().find(|line| is_line_of(line, name));
        page += &match line {
            Some(line) => line,
            None => kept().map_or_else(|| format!("| {name} | not run | | | |"), str::to_owned),
        };
        page.push('\n');
    }
    page
}

/// What was run, when and on what.
pub(crate) struct Run<'a> {
    pub(crate) provenance: String,
    /// Each step with its figures.
    pub(crate) steps: Vec<(&'a Outcome, Vec<String>)>,
}

impl Run<'_> {
    fn line(&self, outcome: &Outcome, figures: &[String]) -> String {
        let result = if outcome.passed { "passed" } else { "**failed**" };
        let minutes = outcome.took.as_secs_f64() / 60.0;
        format!(
            "| {} | {result} | {minutes:.1} | {} | {} |",
            outcome.name,
            self.provenance,
            figures.join("; ")
        )
    }
}

fn is_line_of(line: &str, name: &str) -> bool {
    let cells: Vec<&str> = line.split('|').map(str::trim).collect();
    cells.len() == 7 && cells[1] == name
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn outcome(name: &str, passed: bool) -> Outcome {
        Outcome {
            name: name.to_owned(),
            passed,
            took: Duration::from_secs(90),
        }
    }

    fn page(provenance: &str, steps: &[(&Outcome, Vec<String>)], before: &str) -> String {
        let run = Run {
            provenance: provenance.to_owned(),
            steps: steps.to_vec(),
        };
        render(["kills", "memory", "readers"].into_iter(), &run, before)
    }

    #[test]
    fn a_failure_and_a_figure_are_on_the_page() {
        let (kills, memory) = (outcome("kills", true), outcome("memory", false));
        let page = page(
            "abc1234",
            &[(&kills, vec!["100 kills".into()]), (&memory, vec![])],
            "",
        );
        assert!(page.contains("| kills | passed | 1.5 | abc1234 | "), "{page}");
        assert!(
            page.contains(" | 100 kills |\n| memory | **failed** | 1.5 | "),
            "{page}"
        );
        assert!(page.ends_with("| readers | not run | | | |\n"), "{page}");
    }

    #[test]
    fn a_step_that_was_not_run_keeps_its_line() {
        let (kills, memory) = (outcome("kills", true), outcome("memory", true));
        let first = page("old", &[(&kills, vec![]), (&memory, vec!["90 MB".into()])], "");
        let second = page("new", &[(&kills, vec![])], &first);
        assert!(second.contains("| kills | passed | 1.5 | new | "), "{second}");
        assert!(second.contains("| memory | passed | 1.5 | old | "), "{second}");
        assert!(second.contains("| 90 MB |"), "{second}");
    }
}
