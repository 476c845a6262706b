//! Figures for the caller's metrics.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use baler_core::ids::TableName;
use baler_core::pressure::{Pressure, pressure};

use crate::station::Station;
use crate::worker::Tally;

/// How often they are told.
const EVERY: Duration = Duration::from_secs(1);

/// How soon it is noticed that the process is to stop.
const STOP_CHECK: Duration = Duration::from_millis(50);

/// Hears of figures once a second, and a last time at the end.
pub trait Metrics: fmt::Debug + Send + Sync {
    /// The figures as they stand.
    fn record(&self, figures: &Figures);
}

/// How things stand.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Figures {
    /// Attempts of this process that are under way.
    pub running: u64,
    /// Jobs that this process brought to their end since it began.
    pub committed: u64,
    /// Bytes of the files that these jobs replaced.
    pub bytes_in: u64,
    /// Bytes of the files that replaced them.
    pub bytes_out: u64,
    /// Attempts that this machine or the store failed.
    pub faults: u64,
    /// Jobs of the whole root that are planned, running or to be committed.
    pub jobs: u64,
    /// How far compaction is behind, table by table.
    pub pressures: Vec<(TableName, Pressure)>,
}

impl Figures {
    fn of(station: &Station, tally: &Tally) -> Self {
        let state = station.root.replica.state();
        let tables = state.tables.keys();
        let load = |number: &std::sync::atomic::AtomicU64| number.load(Ordering::Relaxed);
        Self {
            running: load(&tally.running),
            committed: load(&tally.committed),
            bytes_in: load(&tally.bytes_in),
            bytes_out: load(&tally.bytes_out),
            faults: load(&tally.faults),
            jobs: state.jobs.len() as u64,
            pressures: tables
                .map(|name| (name.clone(), pressure(&state, name)))
                .collect(),
        }
    }
}

/// Tells the figures until the process is to stop.
pub(super) async fn tell(
    station: Arc<Station>,
    tally: Arc<Tally>,
    metrics: Arc<dyn Metrics>,
    drain: Arc<AtomicBool>,
) {
    while !drain.load(Ordering::Relaxed) {
        metrics.record(&Figures::of(&station, &tally));
        let until = tokio::time::Instant::now() + EVERY;
        while !drain.load(Ordering::Relaxed) && tokio::time::Instant::now() < until {
            tokio::time::sleep(STOP_CHECK).await;
        }
    }
    metrics.record(&Figures::of(&station, &tally));
}
