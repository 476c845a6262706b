//! Hunts planted bugs through simulated fleets, and says what found each of them.

use anyhow::Result;

use crate::args::Options;
use crate::bench::page;
use crate::workspace::Workspace;
use crate::{mutants, process};

const PAGE: &str = "docs/proof.md";
const NAME: &str = "sim-mutants";

/// What a line of the simulator says of a bug.
#[derive(Debug, PartialEq, Eq)]
enum Said<'a> {
    Found {
        name: &'a str,
        seeds: &'a str,
        guarantee: &'a str,
    },
    NotHere {
        name: &'a str,
        why: &'a str,
    },
}

fn said(line: &str) -> Option<Said<'_>> {
    let (name, rest) = line.split_once(": ")?;
    if let Some(why) = rest.strip_prefix("not here: ") {
        return Some(Said::NotHere { name, why });
    }
    let (seeds, rest) = rest.strip_prefix("found after ")?.split_once(" seeds: ")?;
    let guarantee = rest.strip_prefix("guarantee ")?.split(' ').next()?;
    Some(Said::Found {
        name,
        seeds,
        guarantee,
    })
}

/// The feature is asked for here and nowhere else.
pub(super) fn run(workspace: &Workspace, options: &Options) -> Result<()> {
    let only: String = options.one("only", "all".to_owned())?;
    let (seeds, from): (u64, u64) = (options.one("seeds", 2_000)?, options.one("from", 0)?);
    let build = [
        "run",
        "--locked",
        "--quiet",
        "-p",
        "baler-sim",
        "--features",
        "mutants",
    ];
    let mut command = workspace.cargo(&build);
    command
        .args(["--profile", &options.one("profile", "release".to_owned())?])
        .args(["--", "--mutants", &only])
        .args(["--seeds", &seeds.to_string(), "--from", &from.to_string()])
        .env("RUST_LIB_BACKTRACE", "0");
    let (mut rows, mut elsewhere) = (Vec::new(), Vec::new());
    process::lines(&mut command, |line| match said(line) {
        None => {}
        Some(Said::Found {
            name,
            seeds,
            guarantee,
        }) => rows.push(format!("| {name} | {guarantee} | {seeds} |")),
        Some(Said::NotHere { name, why }) => {
            rows.push(format!("| {name} | not met: {why} | |"));
            elsewhere.push(name.to_owned());
        }
    })?;
    mutants::each(workspace, &elsewhere)?;
    match options.flag("write") {
        true => page::write(workspace, PAGE, NAME, &table(&rows)),
        false => Ok(()),
    }
}

fn table(rows: &[String]) -> String {
    format!(
        "| bug | guarantee that was seen not to hold | seeds |\n|---|---|---|\n{}\n",
        rows.join("\n")
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_simulator_says_is_understood() {
        let found = said("TokenReused: found after 12 seeds: guarantee 3 does not hold: a: b");
        let expected = Said::Found {
            name: "TokenReused",
            seeds: "12",
            guarantee: "3",
        };
        assert_eq!(found, Some(expected));
        let not_here = said("WrongTieBreak: not here: no two rows");
        let expected = Said::NotHere {
            name: "WrongTieBreak",
            why: "no two rows",
        };
        assert_eq!(not_here, Some(expected));
        assert_eq!(said("TokenReused: not found in 2000 seeds"), None);
    }
}
