//! docs/soak.md: one line for each step, written when it has run. What was not run keeps its line.

use std::io;
use std::path::Path;

use super::SOAKS;
use crate::steps::Outcome;

const HEAD: &str = "# The last soak\n\n\
     Written by `cargo xtask soak`: the long tests at their whole length, each with the commit it last ran on.\n\n\
     | step | result | minutes | when and on what | figures |\n|---|---|---|---|---|\n";

/// Puts the line of one step onto the page.
pub(crate) fn write_line(
    page: &Path,
    outcome: &Outcome,
    provenance: &str,
    figures: &[String],
) -> io::Result<()> {
    let before = std::fs::read_to_string(page).unwrap_or_default();
    let names = SOAKS.iter().map(|soak| soak.name);
    let told = line(outcome, provenance, figures);
    std::fs::write(page, render(names, &outcome.name, &told, &before))
}

fn render<'a>(names: impl Iterator<Item = &'a str>, ran: &str, told: &str, before: &str) -> String {
    let mut page = HEAD.to_owned();
    for name in names {
        let kept = before.lines().find(|line| is_line_of(line, name));
        page += &match (name == ran, kept) {
            (true, _) => told.to_owned(),
            (false, Some(kept)) => kept.to_owned(),
            (false, None) => format!("| {name} | not run | | | |"),
        };
        page.push('\n');
    }
    page
}

fn line(outcome: &Outcome, provenance: &str, figures: &[String]) -> String {
    let result = if outcome.passed { "passed" } else { "**failed**" };
    let minutes = outcome.took.as_secs_f64() / 60.0;
    format!(
        "| {} | {result} | {minutes:.1} | {provenance} | {} |",
        outcome.name,
        figures.join("; ")
    )
}

fn is_line_of(line: &str, name: &str) -> bool {
    let cells: Vec<&str> = line.split('|').map(str::trim).collect();
    cells.len() == 7 && cells[1] == name
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn page(name: &str, passed: bool, provenance: &str, figure: &str, before: &str) -> String {
        let outcome = Outcome {
            name: name.to_owned(),
            passed,
            took: Duration::from_secs(90),
        };
        let told = line(&outcome, provenance, &[figure.to_owned()]);
        render(["kills", "memory", "readers"].into_iter(), name, &told, before)
    }

    #[test]
    fn a_failure_and_a_figure_are_on_the_page() {
        let first = page("kills", true, "abc1234", "100 kills", "");
        let page = page("memory", false, "abc1234", "", &first);
        assert!(
            page.contains("| kills | passed | 1.5 | abc1234 | 100 kills |\n| memory | **failed** | 1.5 | "),
            "{page}"
        );
        assert!(page.ends_with("| readers | not run | | | |\n"), "{page}");
    }

    #[test]
    fn a_step_that_was_not_run_keeps_its_line_and_nothing_else_stays() {
        let first = page("memory", true, "old", "90 MB", "");
        let by_hand = format!("{first}\nSomebody wrote this.\n");
        let second = page("kills", true, "new", "", &by_hand);
        assert!(second.contains("| kills | passed | 1.5 | new | "), "{second}");
        assert!(
            second.contains("| memory | passed | 1.5 | old | 90 MB |"),
            "{second}"
        );
        assert!(!second.contains("Somebody"), "{second}");
    }
}
