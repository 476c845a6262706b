//! `baler-sim`: runs seeds, and says what they reached. `cargo xtask sim` builds and runs it.

use std::collections::BTreeSet;
use std::process::ExitCode;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use baler_sim::{Coverage, Fault, Options, Outcome, run, shrink};

/// A simulated request is little but memory that comes and goes.
#[global_allocator]
static MEMORY: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// What was asked for.
struct Args {
    seed: Option<u64>,
    from: u64,
    seeds: u64,
    threads: u64,
    /// One in so many seeds is run twice.
    twice: u64,
    without: BTreeSet<Fault>,
    /// Planted bugs to hunt, instead of all else.
    mutants: Option<String>,
    /// Which five of them, where it is five.
    turn: u64,
}

const USAGE: &str = "baler-sim [--seeds N] [--from S] [--threads N] [--twice-every N] [--without KIND,…]\n\
                     baler-sim --seed S [--without KIND,…]      one seed, with its trace";

fn parse(mut words: impl Iterator<Item = String>) -> Result<Args, String> {
    let mut args = Args {
        seed: None,
        from: 0,
        seeds: 300,
        threads: 2,
        twice: 20,
        without: BTreeSet::new(),
        mutants: None,
        turn: 0,
    };
    while let Some(flag) = words.next() {
        let value = words
            .next()
            .ok_or_else(|| format!("{flag} needs a value\n{USAGE}"))?;
        let number = || {
            value
                .parse::<u64>()
                .map_err(|_| format!("{flag} needs a number, not {value:?}"))
        };
        match flag.as_str() {
            "--seed" => args.seed = Some(number()?),
            "--seeds" => args.seeds = number()?,
            "--from" => args.from = number()?,
            "--threads" => args.threads = number()?.max(1),
            "--twice-every" => args.twice = number()?.max(1),
            "--mutants" => args.mutants = Some(value),
            "--turn" => args.turn = number()?,
            "--without" => {
                for name in value.split(',') {
                    let fault = Fault::named(name).ok_or_else(|| {
                        let known = Fault::ALL.map(Fault::name).join(", ");
                        format!("{name:?} is no kind of fault: there are {known}")
                    })?;
                    args.without.insert(fault);
                }
            }
            _ => return Err(format!("unknown flag {flag}\n{USAGE}")),
        }
    }
    Ok(args)
}

fn main() -> ExitCode {
    let args = match parse(std::env::args().skip(1)) {
        Ok(args) => args,
        Err(words) => {
            eprintln!("{words}");
            return ExitCode::from(2);
        }
    };
    let passed = match (&args.mutants, args.seed) {
        (Some(names), _) => hunt_all(names, &args),
        (None, Some(seed)) => replay(seed, &args),
        (None, None) => many(&args),
    };
    if passed {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}

/// Plants one bug after another, and says how many seeds each took.
#[cfg(any(feature = "mutants", debug_assertions))]
fn hunt_all(names: &str, args: &Args) -> bool {
    use baler_core::mutants::Mutant;
    let chosen: Option<Vec<Mutant>> = match names {
        "all" => Some(Mutant::ALL.to_vec()),
        "five" => Some(five(args.turn)),
        names => names.split(',').map(Mutant::named).collect(),
    };
    let Some(chosen) = chosen else {
        eprintln!("{names}: there is no such planted bug; they are in crates/baler-core/src/mutants/list.rs");
        return false;
    };
    // Panics are among what is looked for: thousands of them need not be told one by one.
    std::panic::set_hook(Box::new(|_panic| {}));
    let mut all_found = true;
    for mutant in chosen {
        if let Some(why) = mutant.not_simulated() {
            println!("{}: not here: {why}", mutant.name());
            continue;
        }
        match baler_sim::hunt(mutant, args.from, args.seeds, args.threads) {
            Some(found) => println!(
                "{}: found after {} seeds: guarantee {} does not hold: {}",
                mutant.name(),
                found.seeds,
                found.violation.guarantee,
                found.violation.what
            ),
            None => {
                println!("{}: not found in {} seeds", mutant.name(), args.seeds);
                all_found = false;
            }
        }
    }
    all_found
}

/// Five of those that are found soon, others in each turn.
#[cfg(any(feature = "mutants", debug_assertions))]
fn five(turn: u64) -> Vec<baler_core::mutants::Mutant> {
    let soon = baler_sim::FOUND_SOON;
    let first = (5 * turn) as usize % soon.len();
    soon.iter().cycle().skip(first).take(5).copied().collect()
}

#[cfg(not(any(feature = "mutants", debug_assertions)))]
fn hunt_all(_names: &str, _args: &Args) -> bool {
    eprintln!("this build holds no planted bugs: cargo xtask sim --mutants makes one that does");
    false
}

fn replay(seed: u64, args: &Args) -> bool {
    let options = Options {
        without: args.without.clone(),
        readable: true,
    };
    let outcome = run(seed, &options);
    for line in &outcome.trace {
        println!("{line}");
    }
    println!("{}", outcome.coverage);
    println!("seed {seed}: trace {:016x}", outcome.trace_hash);
    for violation in &outcome.violations {
        println!(
            "guarantee {} does not hold: {}",
            violation.guarantee, violation.what
        );
    }
    outcome.violations.is_empty()
}

/// What all threads found together.
#[derive(Default)]
struct Sum {
    coverage: Coverage,
    failed: Vec<Outcome>,
    uneven: Vec<u64>,
}

fn many(args: &Args) -> bool {
    let options = Options {
        without: args.without.clone(),
        readable: false,
    };
    let (next, sum, begun) = (AtomicU64::new(0), Mutex::new(Sum::default()), Instant::now());
    let work = || {
        loop {
            let number = next.fetch_add(1, Ordering::Relaxed);
            if number >= args.seeds {
                return;
            }
            let seed = args.from + number;
            let outcome = run(seed, &options);
            let again = number % args.twice == 0;
            let uneven = again && run(seed, &options).trace_hash != outcome.trace_hash;
            let mut sum = sum.lock().expect("no thread panics with it");
            sum.coverage.add(&outcome.coverage);
            if uneven {
                sum.uneven.push(seed);
            }
            if !outcome.violations.is_empty() {
                sum.failed.push(outcome);
            }
        }
    };
    std::thread::scope(|scope| {
        for _ in 0..args.threads {
            scope.spawn(work);
        }
    });
    let sum = sum.into_inner().expect("no thread panics with it");
    let seconds = begun.elapsed().as_secs_f64();
    println!("{}", sum.coverage);
    println!(
        "{} seeds from {} in {seconds:.1} s, {:.1} a second",
        args.seeds,
        args.from,
        args.seeds as f64 / seconds
    );
    figures(&sum, args, seconds);
    report(&sum, &options);
    sum.failed.is_empty() && sum.uneven.is_empty()
}

/// For `cargo xtask sim --write`.
fn figures(sum: &Sum, args: &Args, seconds: f64) {
    let coverage = &sum.coverage;
    let figure = |name: &str, number: u64| println!("figure: {name} = {number}");
    figure("seeds", args.seeds);
    figure("seconds that they took", seconds.ceil() as u64);
    figure("seeds with a violation", sum.failed.len() as u64);
    figure("seeds run twice", args.seeds.div_ceil(args.twice));
    figure("simulated seconds", coverage.simulated.as_secs());
    figure("simulated seconds switched off", coverage.dark.as_secs());
    figure("requests", coverage.requests);
    figure("journal entries", coverage.entries);
    figure(
        "jobs committed",
        coverage.events.get("JobCommitted").copied().unwrap_or(0),
    );
    figure("rows handed over", coverage.rows);
    figure("faults", coverage.faults.values().sum());
    for fault in Fault::ALL {
        figure(
            &format!("fault: {fault}"),
            coverage.faults.get(&fault).copied().unwrap_or(0),
        );
    }
    for (scenario, count) in &coverage.scenarios {
        figure(
            &format!("scenario {:02}: {}", scenario.0, scenario.words()),
            *count,
        );
    }
}

/// The first few failures in full, each made small.
fn report(sum: &Sum, options: &Options) {
    for seed in &sum.uneven {
        println!("seed {seed} is not the same each time");
    }
    let mut failed = sum.failed.clone();
    failed.sort_by_key(|outcome| outcome.seed);
    for outcome in failed.iter().skip(3) {
        println!(
            "seed {}: guarantee {}: {}",
            outcome.seed, outcome.violations[0].guarantee, outcome.violations[0].what
        );
    }
    for outcome in failed.iter().take(3) {
        let (smallest, left) = shrink(outcome, options);
        println!("seed {}", outcome.seed);
        for violation in &smallest.violations {
            println!(
                "  guarantee {} does not hold: {}",
                violation.guarantee, violation.what
            );
        }
        let names =
            |faults: &mut dyn Iterator<Item = Fault>| faults.map(Fault::name).collect::<Vec<_>>().join(",");
        println!("  it takes: {}", names(&mut left.iter().copied()));
        let without = names(&mut Fault::ALL.into_iter().filter(|fault| !left.contains(fault)));
        println!(
            "  replay: cargo xtask sim --seed {} --without {without}",
            outcome.seed
        );
    }
}
