//! The chores of the workspace: `cargo xtask COMMAND`. Each command is a module that begins with its help.

mod args;
mod process;
mod provenance;
mod steps;
mod workspace;

mod lean;
mod purity;
mod text;
mod traps;
mod verify;

mod interop;
mod shape;
mod stores;
mod test;
mod venv;

mod bench;
mod deny;
mod examples;
mod fix;
mod fuzz;
mod model;
mod mutants;
mod sim;
mod soak;
mod torture;

use std::process::ExitCode;

use anyhow::Result;

/// One line of the usage: what to type, what it does, its longer help, and the function behind it.
struct Chore {
    name: &'static str,
    about: &'static str,
    help: &'static str,
    run: fn(&[String]) -> Result<()>,
}

const CHORES: &[Chore] = &[
    Chore {
        name: "test",
        about: "all tests: what CI runs",
        help: test::HELP,
        run: test::run,
    },
    Chore {
        name: "verify",
        about: "the static part of test; never writes",
        help: verify::HELP,
        run: verify::run,
    },
    Chore {
        name: "fix",
        about: "format, and apply what clippy proposes",
        help: fix::HELP,
        run: fix::run,
    },
    Chore {
        name: "interop",
        about: "only the part of test that reads results with DuckDB and pyarrow",
        help: interop::HELP,
        run: interop::run,
    },
    Chore {
        name: "stores",
        about: "install the object stores that tests run on, and say where they are",
        help: stores::HELP,
        run: stores::run,
    },
    Chore {
        name: "model",
        about: "every order of steps of a small fleet, over the real state machine",
        help: model::HELP,
        run: model::run,
    },
    Chore {
        name: "sim",
        about: "Baler in a simulated world: many seeds, or one with its trace",
        help: sim::HELP,
        run: sim::run,
    },
    Chore {
        name: "mutants",
        about: "plants bugs, one after another, and fails unless each is found",
        help: mutants::HELP,
        run: mutants::run,
    },
    Chore {
        name: "soak",
        about: "the tests at their whole length; writes docs/soak.md",
        help: soak::HELP,
        run: soak::run,
    },
    Chore {
        name: "fuzz",
        about: "mutates what comes from strangers, in bounded time; writes to docs/proof.md with --write",
        help: fuzz::HELP,
        run: fuzz::run,
    },
    Chore {
        name: "torture",
        about: "death at every named step and at random; --write puts it into docs/proof.md",
        help: torture::HELP,
        run: torture::run,
    },
    Chore {
        name: "bench",
        about: "figures: bench core, merge, growth, small, threads, flame, workers, fleet",
        help: bench::HELP,
        run: bench::run,
    },
    Chore {
        name: "deny",
        about: "licences, banned crates and sources of dependencies",
        help: deny::HELP,
        run: deny::run,
    },
];

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    match dispatch(&args) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) if error.is::<steps::Reported>() => ExitCode::FAILURE,
        Err(error) if error.is::<args::Usage>() => {
            eprintln!("error: {error}\n\n{}", usage());
            ExitCode::from(2)
        }
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn dispatch(args: &[String]) -> Result<()> {
    let Some((name, rest)) = args.split_first() else {
        return Err(args::Usage::new("no command given").into());
    };
    if is_help(name) {
        println!(
            "{}",
            rest.first()
                .and_then(|name| find(name))
                .map_or_else(usage, |chore| chore.help.to_owned())
        );
        return Ok(());
    }
    let chore = find(name).ok_or_else(|| args::Usage::new(format!("unknown command `{name}`")))?;
    if rest.iter().any(|arg| is_help(arg)) {
        println!("{}", chore.help);
        return Ok(());
    }
    (chore.run)(rest)
}

fn find(name: &str) -> Option<&'static Chore> {
    CHORES.iter().find(|chore| chore.name == name)
}

fn is_help(arg: &str) -> bool {
    matches!(arg, "help" | "--help" | "-h")
}

fn usage() -> String {
    let mut text = String::from("Usage: cargo xtask COMMAND [OPTIONS]\n\nCommands:\n");
    for chore in CHORES {
        text += &format!("  {:<8} {}\n", chore.name, chore.about);
    }
    text + "  help     this text, or that of a command: cargo xtask help COMMAND"
}
