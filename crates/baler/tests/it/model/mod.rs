//! A fleet on the clock of a model: the real state machine, journal, watchers, stations, desks, API and worker loops, over a
//! store that is 30 ms away, with merges that sleep. `cargo xtask bench fleet` runs all of it and writes its figures to
//! docs/performance.md; a small part of it runs with every test.

mod figures;
mod fleet;
mod store;
mod work;

use std::time::Duration;

use tokio::time::Instant;

use crate::support::soaking;
use figures::{Times, Traffic, row};
use fleet::{Fleet, Shape};
use work::Backlog;

/// What a run of a fleet over a backlog came to.
struct Run {
    took: Duration,
    bytes: u64,
    claims: Times,
    commits: Times,
    writes: Times,
    traffic: Traffic,
}

impl Run {
    /// So many workers begin at once on a backlog that is all there.
    async fn of(shape: Shape, workers: usize, backlog: Backlog) -> Self {
        let mut fleet = Fleet::begin().await;
        let writer = fleet.writer().await;
        for job in 0..backlog.jobs() {
            let files = backlog.files(job, fleet.now());
            work::add(&writer, files).await;
        }
        let opened = fleet.open(shape, workers).await;
        let (first, before) = (writer.state().sequence, Traffic::so_far(&fleet));
        let begun = Instant::now();
        fleet.start(shape, opened);
        fleet.until_committed(backlog.jobs()).await;
        let took = begun.elapsed();
        let mut traffic = Traffic::so_far(&fleet).since(before);
        traffic.renewals = fleet.renewals(first).await;
        let writes = fleet.processes.iter().flat_map(|process| process.store.writes());
        Self {
            took,
            bytes: backlog.bytes(),
            claims: Times::of(fleet.work.claims.lock().unwrap().clone()),
            commits: Times::of(fleet.work.commits.lock().unwrap().clone()),
            writes: Times::of(writes.collect()),
            traffic,
        }
    }

    fn mb_a_second(&self) -> f64 {
        self.bytes as f64 / 1e6 / self.took.as_secs_f64()
    }
}

/// At least so much of what one worker does, times their number.
fn efficiency_asked(workers: usize) -> f64 {
    match workers {
        0..=8 => 0.9,
        9..=16 => 0.8,
        _ => 0.0,
    }
}

async fn assert_small_jobs_scale(shape: Shape) {
    let (fleets, jobs): (&[usize], u64) = match soaking() {
        true => (&[1, 2, 4, 8, 16, 64], 512),
        false => (&[1, 8], 96),
    };
    let mut alone = None;
    for workers in fleets {
        let run = Run::of(shape, *workers, Backlog::ManySmall(jobs)).await;
        let alone = *alone.get_or_insert(run.mb_a_second());
        let efficiency = run.mb_a_second() / alone / *workers as f64;
        row(
            "small jobs",
            &[
                shape.to_string(),
                workers.to_string(),
                format!("{:.0}", run.mb_a_second()),
                format!("{:.0} %", 100.0 * efficiency),
                run.claims.to_string(),
                format!("{:.1}", run.traffic.requests as f64 / jobs as f64),
            ],
        );
        assert!(
            efficiency >= efficiency_asked(*workers),
            "{shape}, {workers} workers: {efficiency}"
        );
    }
}

#[tokio::test(start_paused = true)]
async fn small_jobs_scale_through_a_coordinator() {
    assert_small_jobs_scale(Shape::Coordinator).await;
}

/// Trap: a worker that tells its result and then asks for more writes two entries a job, and meets everybody else twice.
#[tokio::test(start_paused = true)]
async fn small_jobs_scale_with_nothing_but_the_bucket() {
    assert_small_jobs_scale(Shape::BucketOnly).await;
}

async fn assert_a_large_job_scales(shape: Shape) {
    let fleets: &[usize] = match soaking() {
        true => &[1, 2, 4, 8, 16, 64],
        false => &[1, 8, 16],
    };
    let mut alone = None;
    for workers in fleets {
        let run = Run::of(shape, *workers, Backlog::OneLarge).await;
        let alone = *alone.get_or_insert(run.mb_a_second());
        let efficiency = run.mb_a_second() / alone / *workers as f64;
        row(
            "large job",
            &[
                shape.to_string(),
                workers.to_string(),
                format!("{:.0}", run.mb_a_second()),
                format!("{:.0} %", 100.0 * efficiency),
                format!("{:.1}", run.took.as_secs_f64()),
                run.claims.to_string(),
            ],
        );
        assert!(
            efficiency >= efficiency_asked(*workers),
            "{shape}, {workers} workers: {efficiency}"
        );
    }
}

/// Trap: whoever was granted a large job merges its ranges one after another, and those who wait hear of them late.
#[tokio::test(start_paused = true)]
async fn a_large_job_scales_through_a_coordinator() {
    assert_a_large_job_scales(Shape::Coordinator).await;
}

#[tokio::test(start_paused = true)]
async fn a_large_job_scales_with_nothing_but_the_bucket() {
    assert_a_large_job_scales(Shape::BucketOnly).await;
}

/// One that finishes a job and begins another, and a few for those who begin with nothing.
const ENTRIES_A_JOB_MAX: f64 = 1.5;

async fn assert_contention_is_bearable(shape: Shape) {
    let (workers, jobs) = if soaking() { (64, 512) } else { (16, 64) };
    let run = Run::of(shape, workers, Backlog::ManySmall(jobs)).await;
    let traffic = run.traffic;
    let a_job = |count: u64| count as f64 / jobs as f64;
    let entries = traffic.entries - traffic.renewals;
    let replicas = match shape {
        Shape::BucketOnly => workers as u64,
        Shape::Coordinator => 1,
    };
    row(
        "contention",
        &[
            shape.to_string(),
            workers.to_string(),
            run.claims.to_string(),
            run.commits.to_string(),
            format!("{:.3}", run.writes.percentile(99).as_secs_f64()),
            format!("{:.2}", a_job(entries)),
            format!("{:.2}", a_job(traffic.conflicts)),
            format!("{:.2}", a_job(traffic.renewals)),
            format!("{:.1}", a_job(traffic.reads)),
            format!("{:.1}", a_job(traffic.requests)),
        ],
    );
    let slowest = run.claims.percentile(99);
    assert!(
        slowest <= Duration::from_secs(10),
        "{shape}: {slowest:?} to a claim"
    );
    let most = (ENTRIES_A_JOB_MAX * jobs as f64) as u64;
    assert!(entries <= most, "{shape}: {entries} entries for {jobs} jobs");
    let allowed = traffic.entries * replicas + 2 * traffic.looks;
    assert!(
        traffic.reads <= allowed,
        "{shape}: {} reads, {allowed} allowed: {traffic:?}",
        traffic.reads
    );
}

/// Trap: many claim at once, and hardly anybody gets in.
#[tokio::test(start_paused = true)]
async fn contention_of_many_with_nothing_but_the_bucket_is_bearable() {
    assert_contention_is_bearable(Shape::BucketOnly).await;
}

#[tokio::test(start_paused = true)]
async fn contention_of_many_through_a_coordinator_is_bearable() {
    assert_contention_is_bearable(Shape::Coordinator).await;
}

/// Files arrive at a steady pace, and a fleet keeps up with them.
async fn assert_drained(shape: Shape) {
    let (workers, jobs) = if soaking() { (8, 200) } else { (4, 40) };
    // Three quarters of what they can merge.
    let pace = Duration::from_millis(3_400 * 4 / 3) / u32::try_from(workers).unwrap();
    let mut fleet = Fleet::begin().await;
    let writer = fleet.writer().await;
    let backlog = Backlog::ManySmall(jobs);
    let mut undisturbed = Vec::new();
    for job in jobs..jobs + 20 {
        let begun = Instant::now();
        // A file alone in its partition is nobody's work.
        let files = backlog.files(job, fleet.now()).into_iter().take(1).collect();
        work::add(&writer, files).await;
        undisturbed.push(begun.elapsed());
    }
    let opened = fleet.open(shape, workers).await;
    fleet.start(shape, opened);
    let mut adding = Vec::new();
    for job in 0..jobs {
        let begun = Instant::now();
        work::add(&writer, backlog.files(job, fleet.now())).await;
        adding.push(begun.elapsed());
        tokio::time::sleep(pace).await;
    }
    fleet.until_committed(jobs).await;
    let drains = Times::of(fleet.work.drains.lock().unwrap().clone());
    row(
        "drain",
        &[
            shape.to_string(),
            workers.to_string(),
            drains.to_string(),
            Times::of(undisturbed).to_string(),
            Times::of(adding).to_string(),
        ],
    );
    let longest = drains.percentile(99);
    assert!(
        longest < Duration::from_secs(30),
        "{shape}: {longest:?} to a commit"
    );
}

#[tokio::test(start_paused = true)]
async fn files_that_keep_arriving_are_drained_through_a_coordinator() {
    assert_drained(Shape::Coordinator).await;
}

#[tokio::test(start_paused = true)]
async fn files_that_keep_arriving_are_drained_with_nothing_but_the_bucket() {
    assert_drained(Shape::BucketOnly).await;
}
