//! The figures that a process shows: those of every root it works for, as long as it does.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::{Figures, Page, write_station, write_store, write_worker};
use crate::desk::Desk;
use crate::site::Site;
use crate::station::Station;
use crate::worker::Tally;

/// What a process shows.
#[derive(Debug, Default)]
pub struct Board {
    by_root: Mutex<BTreeMap<String, Vec<Arc<dyn Figures>>>>,
}

impl Board {
    /// Shows these too.
    pub fn put_up(&self, root: &str, figures: Arc<dyn Figures>) {
        self.map().entry(root.to_owned()).or_default().push(figures);
    }

    /// Shows nothing of this root any more.
    pub fn take_down(&self, root: &str) {
        self.map().remove(root);
    }

    /// All of them, as text.
    pub fn text(&self) -> String {
        let figures: Vec<_> = self.map().values().flatten().cloned().collect();
        Page::of(&figures)
    }

    /// Why nobody gives work to this process; `None` where somebody does, or none was asked yet.
    pub fn unreachable(&self) -> Option<String> {
        let figures: Vec<_> = self.map().values().flatten().cloned().collect();
        let asked = figures.iter().filter_map(|figures| figures.unreachable());
        let errors: Result<Vec<String>, ()> = asked.map(|answer| answer.err().ok_or(())).collect();
        errors
            .ok()
            .filter(|errors| !errors.is_empty())
            .map(|errors| errors.join("\n"))
    }

    fn map(&self) -> MutexGuard<'_, BTreeMap<String, Vec<Arc<dyn Figures>>>> {
        self.by_root.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Figures for Station {
    fn write(&self, page: &mut Page) {
        write_station(self, page);
    }
}

impl Figures for Site {
    fn write(&self, page: &mut Page) {
        write_store(self, page);
    }
}

/// A worker of this process, and the root that it works for.
#[derive(Debug)]
pub struct WorkerFigures {
    /// The root's name.
    pub root: String,
    /// Where it asks for work.
    pub desk: Arc<dyn Desk>,
    /// What it has done.
    pub tally: Arc<Tally>,
}

impl Figures for WorkerFigures {
    fn write(&self, page: &mut Page) {
        let worker = self.desk.worker().to_string();
        write_worker(&self.root, &worker, &self.tally, self.desk.leases(), page);
    }

    fn unreachable(&self) -> Option<Result<(), String>> {
        let error = self.tally.unreachable_for();
        Some(error.map_or(Ok(()), |error| Err(format!("{}: {error}", self.root))))
    }
}
