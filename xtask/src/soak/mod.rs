//! The tests at their whole length, and a page that says when they last passed, on what, with which figures.

mod page;

use anyhow::{Result, ensure};

use crate::args::{Options, Usage};
use crate::interop::{self, Profile, Size};
use crate::shape::Shape;
use crate::steps::Steps;
use crate::workspace::Workspace;
use crate::{process, provenance, stores, venv};

pub(crate) const HELP: &str = "\
Usage: cargo xtask soak [--only NAME,NAME…] [--profile release|dev]

Runs the long tests at their whole length (BALER_SOAK=1, release build) and the interoperability
tests at full size. After each step its line in docs/soak.md is written: commit, date, result and
figures; steps that are not run keep their lines. All take tens of minutes, and several gigabytes
under target/tools; --only runs single ones, and with a name that is none lists them. With
--profile dev the tests are those that `cargo xtask test` has built, and the page says so. A test gives
a figure by printing a line `figure: …`.";

const PAGE: &str = "docs/soak.md";

/// What a figure begins with, wherever in a line it stands.
const FIGURE: &str = "figure: ";

/// One line of the soak: a word for `--only`, a name for the page, and what to run.
struct Soak {
    word: &'static str,
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
        word: "kills",
        name: "SIGKILL at random moments, of Baler and of the stores",
        run: Run::Tests("kill"),
    },
    Soak {
        word: "together",
        name: "two and eight processes on one root",
        run: Run::Tests("stores::together"),
    },
    Soak {
        word: "attrition",
        name: "a fleet whose processes die all the time",
        run: Run::Tests("stores::attrition"),
    },
    Soak {
        word: "fleet",
        name: "zombies and clocks of a fleet",
        run: Run::Tests("fleet::"),
    },
    Soak {
        word: "resume",
        name: "jobs cut off anywhere and gone on with elsewhere",
        run: Run::Tests("resume"),
    },
    Soak {
        word: "storm",
        name: "every second request refused",
        run: Run::Tests("stores::storm"),
    },
    Soak {
        word: "faults",
        name: "faults between Baler and its store",
        run: Run::Tests("stores::faults"),
    },
    Soak {
        word: "requests",
        name: "requests of a compaction",
        run: Run::Tests("stores::requests"),
    },
    Soak {
        word: "adoption",
        name: "400,000 objects at 30 ms latency",
        run: Run::Tests("stores::adoption"),
    },
    Soak {
        word: "memory",
        name: "memory stays within its budget",
        run: Run::Tests("memory_of_many_inputs"),
    },
    Soak {
        word: "overlap",
        name: "DuckDB and pyarrow: overlap",
        run: Run::Interop(Shape::Overlap),
    },
    Soak {
        word: "disjoint",
        name: "DuckDB and pyarrow: disjoint",
        run: Run::Interop(Shape::Disjoint),
    },
    Soak {
        word: "mixed",
        name: "DuckDB and pyarrow: mixed",
        run: Run::Interop(Shape::Mixed),
    },
    Soak {
        word: "upsert",
        name: "DuckDB and pyarrow: upsert",
        run: Run::Interop(Shape::Upsert),
    },
];

pub(crate) fn run(args: &[String]) -> Result<()> {
    let options = Options::parse(args, &["only", "profile"])?;
    let soaks = chosen(&options.list::<String>("only", &[])?)?;
    let workspace = Workspace::find()?;
    let profile = options.one("profile", Profile::Release)?;
    let provenance = match profile {
        Profile::Release => provenance::line(&workspace)?,
        Profile::Dev => format!("{}, not a release build", provenance::line(&workspace)?),
    };
    let mut steps = Steps::default();
    for soak in soaks {
        let mut figures = Vec::new();
        steps.run(soak.name, || soak.run(&workspace, profile, &mut figures));
        if let Some(outcome) = steps.outcomes().last() {
            // At once: whoever stops the rest keeps what was shown.
            page::write_line(&workspace.path(PAGE), outcome, &provenance, &figures)?;
        }
    }
    steps.finish()
}

/// The steps that were asked for; all where nothing was said.
fn chosen(words: &[String]) -> Result<Vec<&'static Soak>> {
    for word in words {
        if !SOAKS.iter().any(|soak| soak.word == word) {
            let known: Vec<String> = SOAKS
                .iter()
                .map(|soak| format!("{:<10} {}", soak.word, soak.name))
                .collect();
            let known = known.join("\n  ");
            return Err(Usage::new(format!("no step is called `{word}`; there are:\n  {known}")).into());
        }
    }
    let is_meant = |soak: &&Soak| words.is_empty() || words.iter().any(|word| soak.word == word);
    Ok(SOAKS.iter().filter(is_meant).collect())
}

impl Soak {
    fn run(&self, workspace: &Workspace, profile: Profile, figures: &mut Vec<String>) -> Result<()> {
        match self.run {
            Run::Tests(word) => tests(workspace, profile, word, figures),
            Run::Interop(shape) => {
                figures.push(interop::story(workspace, profile, shape, Size::FULL)?);
                Ok(())
            }
        }
    }
}

fn tests(workspace: &Workspace, profile: Profile, word: &str, figures: &mut Vec<String>) -> Result<()> {
    let mut passed = 0;
    let cargo = [
        "test",
        "--profile",
        profile.name(),
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
    fn single_steps_are_chosen_by_their_words() {
        let words = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>();
        let names = |chosen: Vec<&Soak>| chosen.iter().map(|soak| soak.word).collect::<Vec<_>>();
        assert_eq!(
            names(chosen(&words(&["storm", "kills"])).unwrap()),
            ["kills", "storm"]
        );
        assert_eq!(chosen(&[]).unwrap().len(), SOAKS.len());
        let error = chosen(&words(&["kill"])).err().unwrap().to_string();
        assert!(error.contains("kills ") && error.contains("storm "), "{error}");
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
