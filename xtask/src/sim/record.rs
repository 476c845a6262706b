//! What runs of the simulator reached, summed up in docs/proof.md.

use std::collections::BTreeMap;
use std::fs;

use anyhow::{Context, Result};

use crate::bench::page;
use crate::workspace::Workspace;

const PAGE: &str = "docs/proof.md";
const NAME: &str = "sim";

/// Figures by their names.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Record(BTreeMap<String, u64>);

impl Record {
    /// A line of the simulator: `figure: NAME = NUMBER`.
    pub(super) fn note(&mut self, line: &str) {
        let figure = line
            .strip_prefix("figure: ")
            .and_then(|figure| figure.split_once(" = "));
        if let Some((name, Ok(number))) = figure.map(|(name, number)| (name, number.parse::<u64>())) {
            *self.0.entry(name.to_owned()).or_default() += number;
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Adds the figures to those of the page.
    pub(super) fn write(mut self, workspace: &Workspace, made_of: &str) -> Result<()> {
        let before =
            fs::read_to_string(workspace.path(PAGE)).with_context(|| format!("cannot read {PAGE}"))?;
        let begin = format!("<!-- bench {NAME} -->");
        let (runs, sums) = parse(before.split_once(&begin).map_or("", |(_, after)| after));
        for (name, number) in sums.0 {
            *self.0.entry(name).or_default() += number;
        }
        page::write(workspace, PAGE, NAME, &self.render(&runs, made_of))
    }

    fn render(&self, runs: &[String], made_of: &str) -> String {
        let mut text = String::from("Summed over the runs at:\n\n");
        let mut runs = runs.to_vec();
        runs.push(made_of.to_owned());
        runs.dedup();
        for run in runs {
            text += &format!("- {run}\n");
        }
        text += "\n| figure | sum |\n|---|---|\n";
        for (name, number) in &self.0 {
            text += &format!("| {name} | {number} |\n");
        }
        text
    }
}

/// The runs and the sums of a page, up to the end of its table.
fn parse(text: &str) -> (Vec<String>, Record) {
    let (mut runs, mut sums) = (Vec::new(), Record::default());
    for line in text.lines().take_while(|line| !line.starts_with("<!--")) {
        if let Some(run) = line.strip_prefix("- ") {
            runs.push(run.to_owned());
        }
        let cells = line.strip_prefix("| ").and_then(|row| row.strip_suffix(" |"));
        if let Some((name, Ok(number))) = cells
            .and_then(|cells| cells.split_once(" | "))
            .map(|(n, v)| (n, v.parse()))
        {
            sums.0.insert(name.to_owned(), number);
        }
    }
    (runs, sums)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_of_runs_add_up() {
        let mut first = Record::default();
        first.note("figure: seeds = 300");
        first.note("figure: seeds of nothing");
        let page = first.render(&[], "Commit a");
        let (runs, sums) = parse(&page);
        assert_eq!((runs.as_slice(), &sums), (&["Commit a".to_owned()][..], &first));
    }
}
