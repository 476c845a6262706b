//! `baler chaos`: whether Baler keeps its word on a user's own store. A scratch table is compacted by worker processes that are
//! killed and whose requests fail, while files keep arriving; then everything heals, and every row is counted.

mod crew;
mod outcome;
mod scratch;

pub use outcome::{Chaos, Verdict};

use std::time::Duration;

use anyhow::{Result, bail};
use baler_journal::host;
use tokio::time::{Instant, sleep_until};

use crate::root::Root;
use crate::store::{Location, tallied};
use crew::Crew;
use scratch::Scratch;

/// Worker processes at a time.
const WORKERS: usize = 3;

/// Files that are there before the first worker.
const FIRST_FILES: u32 = 8;

/// A file arrives this often.
const FILE_ARRIVES: Duration = Duration::from_millis(250);

/// Runs that everything may take to heal: a lease of a dead worker has to run out first.
const HEALING_RUNS_MAX: u32 = 10;

/// How to run it.
#[derive(Clone, Copy, Debug)]
pub struct Plan {
    /// For how long processes die.
    pub length: Duration,
    /// How many of them.
    pub kills: u32,
}

/// Runs it below this place, and cleans up.
pub async fn run(below: &Location, plan: &Plan) -> Result<Chaos> {
    if Root::is_there(below).await? {
        bail!(
            "{below} is a Baler root, and roots never overlap: name a place beside it, where a scratch folder can be made"
        );
    }
    let mut scratch = Scratch::make(below).await?;
    let tally = std::env::temp_dir().join(format!("baler-chaos-{:016x}", host::chance()));
    let mut crew = Crew::new(&scratch.location, tally.clone())?;
    let mut chaos = Chaos::new(&scratch.location);
    let survived = survive(&mut scratch, &mut crew, plan, &mut chaos).await;
    crew.stop();
    // There is none where no request met a fault.
    chaos.faults = tallied(&std::fs::read_to_string(&tally).unwrap_or_default());
    let _ = std::fs::remove_file(&tally);
    if let Err(error) = survived {
        chaos.problems.push(format!("{error:#}"));
        chaos.verdict = Verdict::Broken;
    }
    match scratch.clear().await {
        Ok(0) => {}
        Ok(left) => chaos.left = Some(format!("{left} objects below {}", scratch.location)),
        Err(error) => chaos.left = Some(format!("{} could not be removed: {error:#}", scratch.location)),
    }
    Ok(chaos)
}

async fn survive(scratch: &mut Scratch, crew: &mut Crew, plan: &Plan, chaos: &mut Chaos) -> Result<()> {
    let began = Instant::now();
    for _ in 0..FIRST_FILES {
        scratch.write().await?;
    }
    let first = crew
        .run(&["compact"], &["--settle", "0s", "--sort-by", "id", "--json"])
        .await?;
    if !first.well {
        bail!("Baler cannot work here: {}", first.stderr.trim());
    }
    crew.start(WORKERS)?;
    let interrupted = tokio::select! {
        torn = torment(scratch, crew, plan, chaos) => {
            torn?;
            false
        }
        _ = tokio::signal::ctrl_c() => true,
    };
    crew.stop();
    chaos.files = scratch.files();
    chaos.rows = scratch.rows();
    chaos.seconds = began.elapsed().as_secs_f64();
    if interrupted {
        chaos.verdict = Verdict::Interrupted;
        return Ok(());
    }
    heal(crew, chaos).await?;
    outcome::judge(scratch, chaos).await
}

/// Files arrive and processes die, by turns, until the time is over.
async fn torment(scratch: &mut Scratch, crew: &mut Crew, plan: &Plan, chaos: &mut Chaos) -> Result<()> {
    let end = Instant::now() + plan.length;
    let between = plan.length / (plan.kills + 1);
    let mut death = Instant::now() + between;
    let mut deaths = 0;
    let mut arrival = Instant::now();
    while Instant::now() < end {
        let next = if deaths < plan.kills {
            death.min(arrival)
        } else {
            arrival
        };
        sleep_until(next.min(end)).await;
        if Instant::now() >= death && deaths < plan.kills {
            chaos.kills += u32::from(crew.kill_one()?);
            deaths += 1;
            death += between;
        }
        if Instant::now() >= arrival {
            scratch.write().await?;
            arrival = Instant::now() + FILE_ARRIVES;
        }
    }
    Ok(())
}

/// Without faults, until nothing is left to do and nothing is left behind.
async fn heal(crew: &Crew, chaos: &mut Chaos) -> Result<()> {
    let mut at_rest = false;
    for _ in 0..HEALING_RUNS_MAX {
        let run = crew
            .run(&["compact"], &["--settle", "0s", "--lease", "3s", "--json"])
            .await?;
        let report: serde_json::Value =
            serde_json::from_str(run.stdout.lines().last().unwrap_or_default()).unwrap_or_default();
        if !run.well {
            chaos.problems.push(format!("compact: {}", run.stderr.trim()));
            return Ok(());
        }
        at_rest = report["jobs"] == 0;
        if at_rest {
            break;
        }
    }
    if !at_rest {
        chaos.problems.push("compaction does not come to rest".to_owned());
    }
    for (before, after) in [
        (&["verify"][..], &[][..]),
        (&["gc"], &["--now", "--full"]),
        (&["journal", "check"], &[]),
    ] {
        let run = crew.run(before, after).await?;
        if !run.well {
            let said = format!("{} {}", run.stdout.trim(), run.stderr.trim());
            chaos.problems.push(format!("{}: {said}", before.join(" ")));
        }
    }
    Ok(())
}
