//! Faults stop, and everything that is owed gets done.

use super::super::fixtures::{CHIEF, GRACE, a_poll};
use super::world::{Try, World};
use super::{TABLES, Verdict};
use crate::event::ReleaseReason;
use crate::file::FilePath;
use crate::garbage::Stage;
use crate::ids::TableName;
use crate::names::Attempt;
use crate::request::{Grace, Poll, Reply, Request};
use crate::time::Millis;

const ROUNDS: usize = 60;

impl World {
    pub(super) fn come_to_rest(&mut self) -> Verdict {
        self.tries.clear();
        self.sights.clear();
        self.lists.clear();
        for _ in 0..ROUNDS {
            for attempt in self.leases() {
                self.release(attempt, ReleaseReason::Drained, vec![])?;
            }
            self.finish_everything()?;
            self.commit_everything()?;
            self.look_at_everything()?;
            self.bring_everything_back()?;
            self.collect_everything()?;
            self.pass(Millis(GRACE.0 + 50_000))?;
            self.close_entry()?;
            if self.nothing_is_left().is_ok() {
                break;
            }
        }
        self.nothing_is_left()?;
        self.replay()
    }

    /// Workers may still be clumsy, but their messages arrive.
    fn finish_everything(&mut self) -> Verdict {
        let poll = Request::Poll(Poll {
            isolates: true,
            ..a_poll(CHIEF, 4)
        });
        if let Reply::Granted(grants) = self.ask(&poll)? {
            self.tries
                .extend(grants.into_iter().map(|grant| Try { grant, merged: None }));
        }
        for _ in 0..200 {
            if self.tries.is_empty() {
                break;
            }
            self.worker_acts()?;
            let held = self.leases();
            self.tries.retain(|tried| held.contains(&tried.grant.attempt()));
        }
        Ok(())
    }

    fn look_at_everything(&mut self) -> Verdict {
        for table in TABLES {
            self.close_entry()?;
            let sight = self.sight(&TableName::from(table));
            self.report_missing(&sight)?;
            self.report_found(&sight)?;
            self.report_late(&sight)?;
        }
        Ok(())
    }

    fn collect_everything(&mut self) -> Verdict {
        let to_set_aside = |world: &Self| {
            let mut garbage = world.state.garbage.values();
            garbage.any(|garbage| garbage.stage == Stage::ToSetAside)
        };
        for _ in 0..50 {
            if to_set_aside(self) {
                self.set_aside()?;
            }
        }
        let leftovers: Vec<Attempt> = self.state.leftovers.values().map(|left| left.attempt).collect();
        for attempt in leftovers {
            self.sweep(attempt)?;
        }
        self.declare(Grace::Kept)?;
        let lists: Vec<FilePath> = std::mem::take(&mut self.lists);
        self.delete(&lists)?;
        let report = Request::ReportDeleted {
            listed: self.state.sequence,
            paths: lists,
        };
        self.ask(&report).map(drop)
    }
}
