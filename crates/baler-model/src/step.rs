//! What can happen next.

use baler_core::file::FilePath;

use crate::coordinators::{Asker, Offer};
use crate::disk::Object;
use crate::scenario::Scenario;
use crate::world::World;

/// Something that happens.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    /// A coordinator catches up and decides a client's request.
    Decide(usize, Asker),
    /// What it decided lands in the journal, and the client hears of it. That others act between the two is the same as that
    /// the client is slow to act.
    Land(usize),
    /// It lands, and the client hears nothing.
    LandUnheard(usize),
    /// The client gives up waiting and will ask again, while what was decided is still on its way.
    GiveUp(usize),
    /// A coordinator dies; what it sent is gone, or may still land.
    CrashCoordinator(usize, Fate),
    /// An entry that a dead coordinator sent lands.
    LandLate(usize),
    /// A worker merges, or moves outputs to their final names.
    Work(usize),
    /// A worker looks whether its inputs are still what they were.
    Look(usize),
    /// A worker dies.
    CrashWorker(usize),
    /// The collector deletes the next object on its list.
    Delete,
    /// The collector dies.
    CrashCollector,
    /// The reader dies.
    CrashReader,
    /// Somebody outside overwrites this input.
    Overwrite(FilePath),
}

/// What becomes of a request that is under way when its sender dies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// It never arrives.
    Gone,
    /// It had arrived already.
    Landed,
    /// It may arrive later.
    Adrift,
}

impl World {
    pub(crate) fn steps(&self, steps: &mut Vec<Step>) {
        for (c, coordinator) in self.coordinators.iter().enumerate() {
            match &coordinator.offer {
                None if self.is_like_the_first(c) => {}
                None => self.askers(c, |asker| steps.push(Step::Decide(c, asker))),
                Some(_) => steps.push(Step::Land(c)),
            }
            self.faults_of(c, coordinator.offer.as_ref(), steps);
        }
        steps.extend((0..self.adrift.len()).map(Step::LandLate));
        for (w, worker) in self.workers.iter().enumerate() {
            steps.extend(worker.can_work().then_some(Step::Work(w)));
            steps.extend(worker.can_look().then_some(Step::Look(w)));
            let dies = self.purse.crashes > 0 && !worker.is_idle();
            steps.extend(dies.then_some(Step::CrashWorker(w)));
        }
        steps.extend(self.collector.can_delete().then_some(Step::Delete));
        if self.purse.crashes > 0 {
            steps.extend(self.collector.is_busy().then_some(Step::CrashCollector));
            steps.extend(self.reader.is_reading().then_some(Step::CrashReader));
        }
        if self.purse.overwrites > 0 {
            steps.extend(self.overwritable().map(Step::Overwrite));
        }
    }

    fn faults_of(&self, c: usize, offer: Option<&Offer>, steps: &mut Vec<Step>) {
        let Some(offer) = offer else {
            // An idle coordinator that answers for nobody has nothing to lose.
            let watches = self
                .state()
                .watchers
                .contains_key(&self.coordinators[c].watcher());
            if self.purse.crashes > 0 && watches {
                steps.push(Step::CrashCoordinator(c, Fate::Gone));
            }
            return;
        };
        if self.purse.lost > 0 && offer.by.is_some() {
            steps.extend([Step::LandUnheard(c), Step::GiveUp(c)]);
        }
        if self.purse.crashes > 0 {
            let fates = [Fate::Gone, Fate::Landed, Fate::Adrift];
            steps.extend(fates.map(|fate| Step::CrashCoordinator(c, fate)));
        }
    }

    /// Takes a step. Says whether anything changed.
    pub(crate) fn take(&mut self, scenario: &Scenario, step: Step) -> bool {
        let changed = self.do_step(scenario, step);
        self.order_workers();
        changed
    }

    fn do_step(&mut self, scenario: &Scenario, step: Step) -> bool {
        match step {
            Step::Decide(c, asker) => return self.decide(scenario, c, asker),
            Step::Land(c) => self.land(scenario, c),
            Step::LandUnheard(c) => {
                self.purse.lost -= 1;
                self.give_up(scenario, c);
                self.land(scenario, c);
            }
            Step::GiveUp(c) => {
                self.purse.lost -= 1;
                self.give_up(scenario, c);
            }
            Step::CrashCoordinator(c, fate) => {
                self.purse.crashes -= 1;
                self.crash_coordinator(scenario, c, fate);
            }
            Step::LandLate(adrift) => self.land_late(scenario, adrift),
            Step::Work(w) => self.work(scenario, w),
            Step::Look(w) => self.look(w),
            Step::CrashWorker(w) => {
                self.purse.crashes -= 1;
                self.crash_worker(w);
            }
            Step::Delete => self.delete_next(scenario),
            Step::CrashCollector => {
                self.purse.crashes -= 1;
                self.collector = Default::default();
            }
            Step::CrashReader => {
                self.purse.crashes -= 1;
                self.crash_reader();
            }
            Step::Overwrite(path) => {
                self.purse.overwrites -= 1;
                self.overwrite(&path);
            }
        }
        true
    }

    /// Files of others that a plain table has, or had.
    fn overwritable(&self) -> impl Iterator<Item = FilePath> {
        let foreign = |path: &FilePath| !self.state().is_own(path);
        let mut paths: Vec<FilePath> = self.disk.keys().filter(|path| foreign(path)).cloned().collect();
        // One of them is like the others.
        paths.truncate(1);
        paths.into_iter()
    }

    /// Rows that only this version held are gone, and nobody promised to keep them.
    fn overwrite(&mut self, path: &FilePath) {
        let fresh = Object::of(1 << 16);
        self.heard.outside |= fresh.rows;
        let Some(old) = self.disk.insert(path.clone(), fresh) else {
            return;
        };
        let live = self.table().files.get(path);
        if live.is_some_and(|live| live.identity == old.identity) {
            self.heard.harmed |= old.rows;
        }
    }
}
