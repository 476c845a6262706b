//! Real processes that die at every named step and at random, on a directory and on real stores.

use anyhow::{Result, ensure};

use crate::args::Options;
use crate::workspace::Workspace;
use crate::{process, provenance, stores, venv};

pub(crate) const HELP: &str = "\
Usage: cargo xtask torture [--kills N] [--write]

Ends processes of Baler at every named step (crates/baler-journal/src/steps.rs) and N times at
random (1000), shared by a directory and SeaweedFS (Azurite has its deaths in a soak), then checks:
the same rows, nothing left behind after gc, a journal that is whole. A build for tests, because only
there a process can be told where to die. --write puts the figures into docs/proof.md, with the commit.";

const PAGE: &str = "docs/proof.md";
const HEADING: &str = "## Torture";

/// What a figure begins with, wherever in a line it stands.
const FIGURE: &str = "figure: ";

/// A directory and SeaweedFS share the deaths.
const PLACES: u32 = 2;

pub(crate) fn run(args: &[String]) -> Result<()> {
    let options = Options::parse_with_flags(args, &["kills"], &["write"])?;
    let kills: u32 = options.one("kills", 1_000)?;
    let workspace = Workspace::find()?;
    let provenance = provenance::line(&workspace)?;
    let mut figures = Vec::new();
    let mut failed = false;
    let cargo = [
        "test",
        "--workspace",
        "--locked",
        "--test",
        "it",
        "--",
        "--nocapture",
        "stores::torture",
    ];
    process::lines(
        workspace
            .cargo(&cargo)
            .env("BALER_KILLS", kills.div_ceil(PLACES).to_string())
            .env("BALER_PYTHON", venv::TEST.python(&workspace)?)
            .envs(stores::env(&workspace)?),
        |line| {
            figures.extend(line.split_once(FIGURE).map(|(_, text)| text.trim().to_owned()));
            failed |= line.starts_with("test result: FAILED");
        },
    )?;
    ensure!(!failed && !figures.is_empty(), "no story of torture passed");
    if options.flag("write") {
        let path = workspace.path(PAGE);
        let page = std::fs::read_to_string(&path).unwrap_or_else(|_| "# Proof\n".to_owned());
        std::fs::write(path, with_section(&page, &section(&provenance, &figures)))?;
        println!("\nwrote {PAGE}");
    }
    Ok(())
}

fn section(provenance: &str, figures: &[String]) -> String {
    let mut text = format!(
        "{HEADING}\n\n`cargo xtask torture` ends real processes at every named step (`crates/baler-journal/src/steps.rs`) and at \
         random, on a directory and\non real stores. After each: the same rows, nothing left behind after `gc`, a journal that is whole. \
         Last run: {provenance}.\n\n"
    );
    for figure in figures {
        text += &format!("- {figure}\n");
    }
    text
}

/// The page with this section in place of the one of that name, or at its end.
fn with_section(page: &str, section: &str) -> String {
    let Some(begin) = page.find(HEADING) else {
        return format!("{}\n\n{section}", page.trim_end());
    };
    let rest = &page[begin + HEADING.len()..];
    let after = rest.find("\n## ").map_or("", |end| &rest[end..]);
    format!("{}{section}{after}", &page[..begin])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_section_is_replaced_and_its_neighbours_stay() {
        let new = section("today", &["3 deaths".to_owned()]);
        let first = with_section("# Proof\n\n## Seeds\n\n5\n", &new);
        assert!(
            first.starts_with("# Proof\n\n## Seeds\n\n5\n\n## Torture\n"),
            "{first}"
        );
        let page = first.replace("3 deaths", "1 death") + "\n## Fuzzing\n\n7\n";
        let second = with_section(&page, &new);
        assert!(
            second.contains("- 3 deaths\n\n## Fuzzing\n\n7\n") && !second.contains("1 death\n"),
            "{second}"
        );
        assert_eq!(with_section(&second, &new), second);
    }
}
