//! docs/soak.md.

use crate::steps::Outcome;

pub(crate) fn render(provenance: &str, outcomes: &[Outcome], figures: &[Vec<String>]) -> String {
    let mut page = format!(
        "# The last soak\n\n\
         Written by `cargo xtask soak`: the long tests at their whole length.\n\n\
         {provenance}.\n\n\
         | step | result | minutes | figures |\n|---|---|---|---|\n"
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
            "Commit abc1234, 2026-01-31",
            &outcomes,
            &[vec!["100 kills".into()], vec![]],
        );
        assert!(page.contains("\n\nCommit abc1234, 2026-01-31.\n\n"), "{page}");
        assert!(
            page.contains("| kills | passed | 1.5 | 100 kills |\n| memory | **failed** | 1.5 |  |\n"),
            "{page}"
        );
    }
}
