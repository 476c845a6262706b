//! The tests at their whole length, and a page that says when they last passed, on what, with which figures.

mod page;

use anyhow::{Result, ensure};

use crate::args::Usage;
use crate::interop::{self, Profile, Size};
use crate::shape::Shape;
use crate::steps::Steps;
use crate::workspace::Workspace;
use crate::{process, provenance, stores, venv};

pub(crate) const HELP: &str = "\
Usage: cargo xtask soak [WORD …]

Runs the long tests at their whole length (BALER_SOAK=1, release build) and the interoperability
tests at full size, then writes docs/soak.md: commit, date, result and figures of each step. With
words, only the steps whose names hold one of them; the others keep their lines on the page. All take tens of minutes, and several gigabytes under target/tools. A test gives a figure by printing
a line `figure: …`.";

const PAGE: &str = "docs/soak.md";

/// What a figure begins with, wherever in a line it stands.
const FIGURE: &str = "figure: ";

/// One line of the soak: a name for the page, and what to run.
struct Soak {
    name: &'static str,
    run: Run,
}

enum Run {
    /// The tests in tests/it of all packages whose names hold this word, with BALER_SOAK=1.
    Tests(&'static str),
    /// The interoperability story of this shape at full size.
    Interop(Shape),
}

/// Everything that the soak does; a new long test is a line here.
const SOAKS: &[Soak] = &[
    Soak {
        name: "SIGKILL at random moments, of Baler and of the stores",
        run: Run::Tests("kill"),
    },
    Soak {
        name: "two and eight processes on one root",
        run: Run::Tests("stores::together"),
    },
    Soak {
        name: "a fleet whose processes die all the time",
        run: Run::Tests("stores::attrition"),
    },
    Soak {
        name: "zombies and clocks of a fleet",
        run: Run::Tests("fleet::"),
    },
    Soak {
        name: "every second request refused",
        run: Run::Tests("stores::storm"),
    },
    Soak {
        name: "faults between Baler and its store",
        run: Run::Tests("stores::faults"),
    },
    Soak {
        name: "requests of a compaction",
        run: Run::Tests("stores::requests"),
    },
    Soak {
        name: "400,000 objects at 30 ms latency",
        run: Run::Tests("stores::adoption"),
    },
    Soak {
        name: "memory stays within its budget",
        run: Run::Tests("memory_of_many_inputs"),
    },
    Soak {
        name: "DuckDB and pyarrow: overlap",
        run: Run::Interop(Shape::Overlap),
    },
    Soak {
        name: "DuckDB and pyarrow: disjoint",
        run: Run::Interop(Shape::Disjoint),
    },
    Soak {
        name: "DuckDB and pyarrow: mixed",
        run: Run::Interop(Shape::Mixed),
    },
    Soak {
        name: "DuckDB and pyarrow: upsert",
        run: Run::Interop(Shape::Upsert),
    },
];

pub(crate) fn run(words: &[String]) -> Result<()> {
    let is_meant =
        |soak: &&Soak| words.is_empty() || words.iter().any(|word| soak.name.contains(word.as_str()));
    let soaks: Vec<&Soak> = SOAKS.iter().filter(is_meant).collect();
    if soaks.is_empty() {
        let names: Vec<&str> = SOAKS.iter().map(|soak| soak.name).collect();
        return Err(Usage::new(format!(
            "no step is called so; there are:\n  {}",
            names.join("\n  ")
        ))
        .into());
    }
    let workspace = Workspace::find()?;
    let provenance = provenance::line(&workspace)?;
    let mut steps = Steps::default();
    let mut figures = Vec::new();
    for soak in soaks {
        let mut said = Vec::new();
        steps.run(soak.name, || soak.run(&workspace, &mut said));
        figures.push(said);
    }
    let path = workspace.path(PAGE);
    let before = std::fs::read_to_string(&path).unwrap_or_default();
    let run = page::Run {
        provenance,
        steps: steps.outcomes().iter().zip(figures).collect(),
    };
    std::fs::write(
        &path,
        page::render(SOAKS.iter().map(|soak| soak.name), &run, &before),
    )?;
    println!("\nwrote {PAGE}");
    steps.finish()
}

impl Soak {
    fn run(&self, workspace: &Workspace, figures: &mut Vec<String>) -> Result<()> {
        match self.run {
            Run::Tests(word) => tests(workspace, word, figures),
            Run::Interop(shape) => {
                figures.push(interop::story(workspace, Profile::Release, shape, Size::FULL)?);
                Ok(())
            }
        }
    }
}

fn tests(workspace: &Workspace, word: &str, figures: &mut Vec<String>) -> Result<()> {
    let mut passed = 0;
    let cargo = [
        "test",
        "--release",
        "--locked",
        // All of it, as everywhere: a part would be built with other features, and again.
        "--workspace",
        "--test",
        "it",
        "--",
        "--nocapture",
        word,
    ];
    process::lines(
        workspace
            .cargo(&cargo)
            .env("BALER_SOAK", "1")
            .env("BALER_PYTHON", venv::TEST.python(workspace)?)
            .envs(stores::env(workspace)?),
        |line| {
            figures.extend(figure(line));
            passed += passed_tests(line);
        },
    )?;
    ensure!(passed > 0, "no test has `{word}` in its name");
    Ok(())
}

fn figure(line: &str) -> Option<String> {
    line.split_once(FIGURE).map(|(_, text)| text.trim().to_owned())
}

/// How many tests passed, where a line is cargo's count of them.
fn passed_tests(line: &str) -> u64 {
    let count = line
        .strip_prefix("test result: ok. ")
        .and_then(|rest| rest.split_once(" passed"));
    count.and_then(|(number, _)| number.parse().ok()).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tests_are_counted_so_that_none_does_not_pass() {
        assert_eq!(
            passed_tests("test result: ok. 3 passed; 0 failed; 0 ignored; 9 filtered out"),
            3
        );
        assert_eq!(
            passed_tests("test result: ok. 0 passed; 0 failed; 0 ignored; 9 filtered out"),
            0
        );
        assert_eq!(passed_tests("test kill::in_place ... ok"), 0);
    }

    #[test]
    fn a_figure_may_follow_the_name_of_its_test() {
        assert_eq!(
            figure("test kill::in_place ... figure: 100 kills, 0 lost").as_deref(),
            Some("100 kills, 0 lost")
        );
        assert_eq!(figure("test kill::in_place ... ok"), None);
    }
}
