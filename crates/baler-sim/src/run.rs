//! One run: a root is made, the fleet works while things go wrong, everything heals, and the table must come to rest.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use anyhow::Result;
use baler::collector;
use baler::desk::{Offer, OwnDesk, Room};
use baler::receipts;
use baler::root::Root;
use baler::watch::Watch;
use baler_core::ids::{JournalId, TableName};
use baler_core::request::{Formats, Grace, Memory, Request, Scope};
use baler_journal::host::{self, Owned};
use tokio::time::sleep;

use crate::checkers::{self, bounds::Spent};
use crate::coverage::Coverage;
use crate::dice::Dice;
use crate::faults::{Fault, Mix};
use crate::life::Life;
use crate::nodes::fates::{self, supervise};
use crate::nodes::network::Network;
use crate::nodes::{Birth, Kind, opening};
use crate::oracle::Violation;
use crate::plan::{Plan, TABLE};
use crate::store::PREFIX;
use crate::world::World;

/// How a run is made.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// Kinds of faults that are left out.
    pub without: BTreeSet<Fault>,
    /// Whether the trace is kept to be read.
    pub readable: bool,
}

/// What a run came to.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// The seed.
    pub seed: u64,
    /// Guarantees that do not hold.
    pub violations: Vec<Violation>,
    /// What was reached.
    pub coverage: Coverage,
    /// The same for every run of a seed with the same options.
    pub trace_hash: u64,
    /// The trace, if it was asked for.
    pub trace: Vec<String>,
}

/// How long a healed table may take to come to rest.
const REST_MAX: Duration = Duration::from_secs(6 * 3_600);

/// How often a root is tried to be made while things go wrong.
const FOUNDING_TRIES: u32 = 3;

/// Runs a seed.
pub fn run(seed: u64, options: &Options) -> Outcome {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .start_paused(true)
        .build()
        .expect("a runtime of one thread needs nothing");
    let mix = Mix::draw(seed, &options.without);
    let (world, elapsed) = runtime.block_on(async {
        let world = World::new(seed, mix, options.readable);
        live(&world).await;
        let elapsed = world.elapsed();
        (world, elapsed)
    });
    // Tasks that are left end here, each as its own process.
    drop(runtime);
    let (trace_hash, trace, coverage, violations) = world.end(elapsed);
    Outcome {
        seed,
        violations,
        coverage,
        trace_hash,
        trace,
    }
}

async fn live(world: &Arc<World>) {
    let plan = Arc::new(Plan::draw(world.seed, &world.mix));
    world.note(format_args!("{plan:?} {:?}", world.mix));
    world.look(|oracle, _| {
        oracle.model.lease_ms = plan.lease.as_millis() as u64;
        oracle.model.in_place = plan.in_place;
        oracle.model.slow_worker = plan.slow_worker;
        oracle.model.lives.only_deaths = checkers::watchers::only_deaths(&world.mix);
    });
    let dark = plan
        .night
        .map_or(Duration::ZERO, |night| night.until - night.from);
    world.count(|coverage| coverage.dark += dark);
    let birth = Birth {
        network: Arc::new(Network::new(plan.coordinators)),
        life: Life::begin(world.seed, "founder".to_owned()),
        name: "founder".into(),
        drain: fates::unset(),
        closing: fates::unset(),
        progress: Arc::default(),
        world: world.clone(),
        plan,
    };
    world.set_faulty(birth.plan.rough_start);
    let founding = tokio::spawn(Owned::by(birth.life.clone(), found(birth.clone())));
    let founder = match founding.await {
        Ok(Ok(founder)) => founder,
        failed => {
            return world.look(|oracle, _| oracle.found(7, format!("no root could be made: {failed:?}")));
        }
    };
    world.set_faulty(true);
    begin_fleet(&birth);
    tokio::spawn(weather(world.clone()));
    sleep(birth.plan.active).await;
    world.set_faulty(false);
    birth.closing.store(true, Ordering::Relaxed);
    world.note(format_args!("everything heals"));
    let resting = rest(birth.clone(), founder);
    let rests = tokio::spawn(Owned::by(birth.life.clone(), resting)).await;
    judge(world, rests.unwrap_or(false));
}

/// Makes the root and its table. Whatever fails is tried again, at last while nothing goes wrong.
async fn found(birth: Birth) -> Result<Arc<Root>> {
    for _ in 0..FOUNDING_TRIES {
        match try_to_found(&birth).await {
            Ok(root) => return Ok(root),
            Err(error) => birth.world.note(format_args!("founder: {error:#}")),
        }
        sleep(Duration::from_secs(10)).await;
    }
    birth.world.set_faulty(false);
    try_to_found(&birth).await
}

async fn try_to_found(birth: &Birth) -> Result<Arc<Root>> {
    let root = opening::root(birth).await?;
    let created = Request::CreateJournal(JournalId(host::wide_chance()));
    root.replica.submit(created).await?;
    root.replica.submit(birth.plan.create_table()).await?;
    Ok(root)
}

fn begin_fleet(birth: &Birth) {
    let plan = &birth.plan;
    let mut fleet = Vec::new();
    let mut join = |kind: fn(usize) -> Kind, name: &str, count: u64| {
        fleet.extend((0..count).map(|number| (kind(number as usize), format!("{name}-{number}"))));
    };
    join(|_| Kind::Worker, "worker", plan.workers);
    join(Kind::Coordinator, "coordinator", plan.coordinators);
    join(|_| Kind::Remote, "remote", plan.remote_workers);
    join(|_| Kind::Collector, "collector", plan.collectors);
    join(|_| Kind::Writer, "writer", plan.writers);
    join(|_| Kind::Reader, "reader", plan.readers);
    join(|_| Kind::Operator, "operator", u64::from(plan.operator));
    join(|_| Kind::Lister, "lister", u64::from(plan.in_place));
    join(|_| Kind::Latecomer, "latecomer", u64::from(plan.latecomer));
    join(|_| Kind::Impostor, "impostor", u64::from(plan.impostor));
    let mix = &birth.world.mix;
    let meddled = mix.has(Fault::Overwrite) || mix.has(Fault::Remove);
    join(|_| Kind::Outsider, "outsider", u64::from(meddled));
    let spoiled = plan.in_place && mix.has(Fault::SpoiledCheckpoint);
    join(|_| Kind::Spoiler, "spoiler", u64::from(spoiled));
    for (kind, name) in fleet {
        let birth = Birth {
            name: name.into(),
            ..birth.clone()
        };
        tokio::spawn(supervise(kind, birth));
    }
}

/// Storms of the store.
async fn weather(world: Arc<World>) {
    let mut dice = Dice::new(world.seed, "weather");
    while world.mix.has(Fault::Storm) {
        sleep(dice.about(Duration::from_secs(200))).await;
        let length = dice.about(Duration::from_secs(40));
        world.note(format_args!("a storm of {length:?}"));
        world.begin_storm(length);
        sleep(length).await;
    }
}

/// Waits for the fixed point, as an operator would who looks in now and then.
async fn rest(birth: Birth, root: Arc<Root>) -> bool {
    let until = tokio::time::Instant::now() + REST_MAX;
    let watch = Arc::new(Watch::new(root.clone(), Duration::from_secs(15)));
    while tokio::time::Instant::now() < until {
        sleep(Duration::from_secs(60)).await;
        match look_in(&birth, &root, &watch).await {
            Ok(true) => return true,
            Ok(false) => {}
            Err(error) => birth.world.note(format_args!("founder: {error:#}")),
        }
    }
    false
}

async fn look_in(birth: &Birth, root: &Arc<Root>, watch: &Arc<Watch>) -> Result<bool> {
    let table = TableName::from(TABLE);
    let state = root.replica.catch_up().await?;
    if state.is_paused(&table) {
        root.replica
            .submit(Request::Resume {
                table: Some(table.clone()),
            })
            .await?;
    }
    root.replica
        .submit(Request::Retry { table, paths: vec![] })
        .await?;
    // As `baler gc --full` does.
    receipts::write_due(root).await?;
    collector::find_late_writes(root).await?;
    collector::collect(root, Grace::Kept).await?;
    collector::sweep_probes(root, Grace::Kept).await?;
    collector::end_late_uploads(root).await?;
    let state = root.replica.catch_up().await?;
    let scope = Scope {
        formats: Formats::Only([birth.plan.format().into()].into()),
        ..Scope::default()
    };
    let desk = OwnDesk::new(root.clone(), watch.clone(), Offer::default())?;
    let (slots, all_bytes) = (4, 4 << 30);
    let memory = Memory {
        all_bytes,
        places: slots,
        free_bytes: all_bytes,
    };
    let room = Room { slots, memory };
    let poll = Request::Poll(desk.ask(room, scope));
    let wanted = root.would_decide(&poll);
    let idle = state.jobs.is_empty() && wanted.is_empty();
    // Probes that land late are swept once they are old, staged files and uploads once they are seen.
    let late = birth.world.look(|_, objects| {
        let below = |folder: &str| objects.below(&format!("{PREFIX}/_baler/{folder}/")).count();
        below("probe") + below("staging") + objects.open_uploads().count()
    });
    let clean = state.garbage.is_empty() && state.leftovers.is_empty() && late == 0;
    // Whoever appends while this one looks may have begun something: what the oracle knows by now is not what was judged here.
    let next = format!("{PREFIX}/_baler/journal/{:020}", state.sequence.0 + 1);
    let newest = birth
        .world
        .look(|_, objects| objects.below(&next).next().is_none());
    birth.world.note(format_args!(
        "founder sees {} jobs, {} garbage, {} leftovers, all handed over: {}, wanted: {wanted:?}",
        state.jobs.len(),
        state.garbage.len(),
        state.leftovers.len(),
        birth.progress.is_done(),
    ));
    Ok(idle && clean && newest && birth.progress.is_done())
}

fn judge(world: &World, rests: bool) {
    let mut wrong = Vec::new();
    if !rests {
        wrong.push((7, "the table did not come to rest".to_owned()));
    }
    let (mut spent, mut lost) = (Spent::default(), 0);
    world.count(|coverage| {
        spent = Spent {
            requests: coverage.requests,
            entries: coverage.entries,
            ranges: coverage.seen("RangeFinished"),
        };
        lost = coverage.leases_lost;
    });
    checkers::bounds::at_end(&spent, world.elapsed(), &mut wrong);
    if checkers::clocks::only_clocks(&world.mix) {
        wrong.extend(checkers::clocks::at_end(lost).map(|what| (9, what)));
    }
    world.look(|oracle, objects| {
        checkers::rows::at_end(&oracle.model, objects, &mut wrong);
        checkers::endings::at_end(&oracle.model, &mut wrong);
        if rests {
            checkers::deletion::at_end(&oracle.model, objects, &mut wrong);
            checkers::receipts::at_end(&oracle.model, objects, &mut wrong);
        }
        wrong
            .into_iter()
            .for_each(|(guarantee, what)| oracle.found(guarantee, what));
    });
}
