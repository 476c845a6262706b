//! Looks at every world of the scenarios and prints how many there are. Fails where a property does not hold, or where a
//! planted bug is not found. `small` takes seconds, `whole` minutes; words after it are parts of scenarios' names.

use std::io::Write;
use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Result, bail, ensure};
use baler_model::{Mutant, Report, Scenario, check, scenarios};

/// How long a world is looked at, at most.
const PATIENCE: Duration = Duration::from_secs(600);

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run() -> Result<()> {
    let mut words = std::env::args().skip(1);
    let chosen = match words.next().as_deref() {
        Some("small") => scenarios::small(),
        Some("whole") => scenarios::whole(),
        _ => bail!("say `small` or `whole`"),
    };
    let words: Vec<String> = words.collect();
    let asked =
        |scenario: &Scenario| words.is_empty() || words.iter().any(|word| scenario.name.contains(word));
    let threads = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    let mut worlds = 0;
    for scenario in chosen.iter().filter(|scenario| asked(scenario)) {
        let report = check(scenario, threads, PATIENCE);
        worlds += report.worlds;
        say(&report)?;
    }
    println!("figure: {worlds} distinct worlds altogether");
    for mutant in Mutant::ALL {
        let report = check(&scenarios::of(mutant), threads, PATIENCE);
        let Some((property, steps)) = report.broken.first() else {
            bail!(
                "the planted bug {mutant:?} was not found in {} worlds",
                report.worlds
            );
        };
        let (worlds, steps) = (report.worlds, steps.len());
        println!(
            "figure: planted {mutant:?}: found after {steps} steps, in {worlds} worlds: not so that {property}"
        );
    }
    Ok(())
}

fn say(report: &Report) -> Result<()> {
    let Report {
        scenario,
        worlds,
        steps,
        depth,
        took,
        whole,
        broken,
    } = report;
    let seconds = took.as_secs_f64();
    let bound = match whole {
        true => format!("all of them, at most {depth} steps in a row"),
        false => format!("not all: breadth first, as far as {depth} steps in a row"),
    };
    println!("figure: {scenario}: {worlds} distinct worlds ({bound}), {steps} steps, {seconds:.0} s");
    std::io::stdout().flush()?;
    for (property, steps) in broken {
        println!("not so that {property}; after:");
        steps.iter().for_each(|step| println!("  {step}"));
    }
    ensure!(
        broken.is_empty(),
        "{scenario}: {} properties do not hold",
        broken.len()
    );
    Ok(())
}
