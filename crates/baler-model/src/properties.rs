//! What must be so in every world, and what must be possible in some.

use std::collections::BTreeMap;

use baler_core::file::{File, Origin};
use baler_core::job::JobStatus;
use baler_core::names::Attempt;
use stateright::Property;

use crate::disk::Rows;
use crate::reader::Reader;
use crate::scenario::Scenario;
use crate::world::World;

pub(crate) fn all() -> Vec<Property<Scenario>> {
    vec![
        Property::always("the numbered invariants hold", |_, world: &World| {
            world.head.broken.is_none()
        }),
        Property::always("no step does what none may do", |_, world: &World| {
            world.wrong.is_none()
        }),
        Property::always("no row is lost", |_, world: &World| {
            let missing = world.heard.rows & !world.heard.harmed & !world.rows().0;
            missing == 0
        }),
        Property::always("no row is doubled", |_, world: &World| !world.rows().1),
        Property::always("what others wrote is never taken away", |_, world: &World| {
            let there: Rows = world.disk.values().fold(0, |rows, object| rows | object.rows);
            world.heard.outside & !there == 0
        }),
        Property::always("what the table shows is there", |_, world: &World| {
            world.live_is_there()
        }),
        Property::always("a reader that pinned misses nothing", |_, world: &World| {
            world.reader_misses_nothing()
        }),
        Property::always(
            "a commit that was acknowledged is never lost",
            |_, world: &World| {
                let committed = |job| {
                    let mut recent = world.state().recent.iter();
                    recent.any(|summary| summary.id == job && summary.status == JobStatus::Committed)
                };
                world.heard.committed.iter().all(|job| committed(*job))
            },
        ),
        Property::eventually("everything comes to rest", |_, world: &World| world.is_at_rest()),
        Property::sometimes(
            "all commits are made and all is collected",
            |scenario, world: &World| world.is_at_rest() && world.commits() >= scenario.commits,
        ),
    ]
}

impl World {
    /// The rows that the table shows, and whether one of them is there twice.
    fn rows(&self) -> (Rows, bool) {
        let (mut seen, mut doubled) = (0, false);
        for file in self.table().files.values() {
            let rows = self.rows_of(file).unwrap_or(0);
            doubled |= seen & rows != 0;
            seen |= rows;
        }
        (seen, doubled)
    }

    /// An output that is being published lies where its attempt wrote it.
    fn rows_of(&self, file: &File) -> Option<Rows> {
        let here = self.disk.get(&file.path);
        match file.origin {
            Origin::Foreign => here
                .filter(|object| object.identity == file.identity)
                .map(|object| object.rows),
            Origin::Job(job) => {
                let published = here.map(|object| object.rows);
                published.or_else(|| {
                    let job = self.state().jobs.get(&job)?;
                    let mut staged = job.finished().map(|(range, finished)| Attempt {
                        job: job.id,
                        range,
                        token: finished.token,
                    });
                    staged.find_map(|attempt| Some(self.disk.get(&attempt.staged(0))?.rows))
                })
            }
        }
    }

    /// What somebody outside has overwritten is his.
    fn live_is_there(&self) -> bool {
        self.table().files.values().all(|file| {
            let overwritten = file.origin == Origin::Foreign && self.disk.contains_key(&file.path);
            overwritten || self.rows_of(file).is_some()
        })
    }

    fn reader_misses_nothing(&self) -> bool {
        match &self.reader {
            Reader::Reading(_, files) => files.iter().all(|path| self.disk.contains_key(path)),
            Reader::Coming | Reader::Leaving(_) | Reader::Gone => true,
        }
    }

    fn commits(&self) -> usize {
        let recent = self.state().recent.iter();
        recent
            .filter(|summary| summary.status == JobStatus::Committed)
            .count()
    }

    /// Nothing is owed any more: one file a partition, nothing held, nothing to delete.
    fn is_at_rest(&self) -> bool {
        let state = self.state();
        let owed = !state.jobs.is_empty()
            || !state.garbage.is_empty()
            || !state.leftovers.is_empty()
            || !state.pins.is_empty()
            || !state.watchers.is_empty();
        let busy = self.collector.is_busy()
            || self.reader != Reader::Gone
            || !self.writer.late.is_empty()
            || self.workers.iter().any(|worker| !worker.is_idle())
            || self
                .coordinators
                .iter()
                .any(|coordinator| coordinator.offer.is_some());
        let mut packed: BTreeMap<&str, usize> = BTreeMap::new();
        for path in self.table().partitions.values().flatten() {
            *packed.entry(partition(&self.table().files[path])).or_default() += 1;
        }
        !owed && !busy && packed.values().all(|files| *files == 1) && self.strays().next().is_none()
    }
}

fn partition(file: &File) -> &str {
    file.partition.as_str()
}
