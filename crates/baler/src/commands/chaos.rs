//! `baler chaos`: whether Baler keeps its word on this store, under kills and faults.

use std::process::ExitCode;
use std::time::Duration;

use anyhow::Result;

use super::{exit_code, print_json};
use crate::chaos::{self, Chaos, Plan, Verdict};
use crate::cli::ChaosArgs;
use crate::report::{bytes, count};
use crate::settings::Usage;

/// The longest run, in minutes.
const MINUTES_MAX: f64 = 24.0 * 60.0;

/// Runs it.
pub async fn run(args: &ChaosArgs) -> Result<ExitCode> {
    if !(args.minutes > 0.0 && args.minutes <= MINUTES_MAX) {
        return Err(Usage("--minutes must be above 0, and at most a day".to_owned()).into());
    }
    let plan = Plan {
        length: Duration::from_secs_f64(args.minutes * 60.0),
        kills: args.kills,
    };
    if !args.json {
        println!(
            "Compacting a scratch table below {} for {} minutes, with {} kills and faults on purpose …",
            args.root, args.minutes, args.kills
        );
    }
    let chaos = chaos::run(&args.root, &plan).await?;
    match args.json {
        true => print_json(&chaos)?,
        false => print(&chaos),
    }
    Ok(exit_code(chaos.verdict == Verdict::Held && chaos.left.is_none()))
}

fn print(chaos: &Chaos) {
    println!(
        "{} files with {} rows arrived; {} processes were killed",
        count(chaos.files.into()),
        count(chaos.rows),
        chaos.kills
    );
    for (fault, times) in &chaos.faults {
        println!("  {:>9} requests {fault}", count(*times));
    }
    println!(
        "{} jobs were committed in {} attempts; {} came to nothing, after reading at most {}",
        count(chaos.jobs),
        count(chaos.attempts),
        count(chaos.in_vain),
        bytes(chaos.wasted_bytes)
    );
    for problem in &chaos.problems {
        println!("WRONG  {problem}");
    }
    for orphan in &chaos.orphans {
        println!("WRONG  {orphan} was left behind");
    }
    match chaos.verdict {
        Verdict::Held => println!("HELD   every row is there once, and nothing was left behind"),
        Verdict::Broken => println!(
            "BROKEN {} rows lost, {} doubled",
            count(chaos.lost),
            count(chaos.doubled)
        ),
        Verdict::Interrupted => println!("Stopped before anything could be said"),
    }
    match &chaos.left {
        None => println!("{} was cleaned up", chaos.scratch),
        Some(left) => println!("NOT CLEANED UP: {left}"),
    }
}
