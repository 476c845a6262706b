//! The model checker: every order of steps of a small world, over the real `decide` and `apply`.

use std::fmt::Write as _;

use anyhow::{Context, Result};

use crate::args::Options;
use crate::workspace::Workspace;
use crate::{process, provenance};

pub(crate) const HELP: &str = "\
Usage: cargo xtask model [--write]

Looks at every world that two coordinators, two workers, a collector, a reader and a writer can reach, with crashes and lost
answers at each step (crates/baler-model, release build), and prints how many there are. Then plants a few bugs, and fails
unless each is found. Takes minutes. With --write the figures go to docs/proof.md. `cargo xtask test` looks at the small worlds
only.";

const PAGE: &str = "docs/proof.md";

/// What the section on the page begins with; it ends where the next one begins.
const HEAD: &str = "## Every order of steps";

const WORDS: &str = "\
`cargo xtask model` walks through every world that a small fleet can reach, breadth first, with the real `decide` and `apply` of
`baler-core`: two coordinators that race for each entry of the journal, two workers, a collector, a reader that pins, and a writer.
Faults come from a purse: a process may die at any step (what it sent to the journal is gone, has landed, or lands later), an
answer may be lost at any step while the request is still under way, a lease or a watcher that lives may be taken for dead, an
input may be overwritten. In each world the numbered invariants hold, no row is lost or doubled, what the table shows is in the
bucket, a pinned reader misses nothing, no acknowledged commit is lost, no final state changes; every way ends in a table at rest
with nothing left over.

Not in it: time (grace periods are waived, and what runs on a clock may happen at any moment), cut jobs, retention, external
catalogs, and fleets larger than this.
";

pub(crate) fn run(args: &[String]) -> Result<()> {
    let options = Options::parse_with_flags(args, &[], &["write"])?;
    let workspace = Workspace::find()?;
    let mut figures = Vec::new();
    let mut command = workspace.cargo(&[
        "run",
        "--release",
        "--locked",
        "--package",
        "baler-model",
        "--",
        "whole",
    ]);
    process::lines(&mut command, |line| {
        figures.extend(line.strip_prefix("figure: ").map(str::to_owned));
    })?;
    match options.flag("write") {
        true => write(&workspace, &figures),
        false => Ok(()),
    }
}

fn write(workspace: &Workspace, figures: &[String]) -> Result<()> {
    let path = workspace.path(PAGE);
    let page = std::fs::read_to_string(&path).unwrap_or_else(|_| "# Proof\n".to_owned());
    let mut section = format!("{HEAD}\n\n{WORDS}\n{}\n\n", provenance::line(workspace)?);
    for figure in figures {
        writeln!(section, "- {figure}")?;
    }
    std::fs::write(&path, with_section(&page, HEAD, &section))
        .with_context(|| format!("cannot write {PAGE}"))?;
    println!("wrote {PAGE}");
    Ok(())
}

/// The page with this section in place of the one that has its head, or at its end.
pub(crate) fn with_section(page: &str, head: &str, section: &str) -> String {
    let begins = page.find(head).unwrap_or(page.len());
    let (before, old) = page.split_at(begins);
    let after = old
        .get(head.len()..)
        .and_then(|rest| rest.find("\n## "))
        .map_or("", |at| &old[head.len() + at + 1..]);
    let gap = if before.ends_with("\n\n") { "" } else { "\n" };
    let end = if after.is_empty() { "" } else { "\n" };
    format!("{before}{gap}{section}{end}{after}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_section_is_replaced_and_the_others_stay() {
        let page = "# Proof\n\n## One\n\nold\n\n## Two\n\ntwo\n";
        let once = with_section(page, "## One", "## One\n\nnew\n");
        assert_eq!(once, "# Proof\n\n## One\n\nnew\n\n## Two\n\ntwo\n");
        assert_eq!(with_section(&once, "## One", "## One\n\nnew\n"), once);
        let more = with_section(&once, "## Three", "## Three\n\nthree\n");
        assert_eq!(more, format!("{once}\n## Three\n\nthree\n"));
        assert_eq!(
            with_section(&more, "## Three", "## Three\n\n3\n"),
            format!("{once}\n## Three\n\n3\n")
        );
    }
}
