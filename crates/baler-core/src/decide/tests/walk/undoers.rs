//! Operators who take committed jobs back, and those who bring the files home. Any of them may die in between.

use super::Verdict;
use super::world::World;
use crate::event::Returned;
use crate::file::{FilePath, Identity, Origin};
use crate::garbage::Stage;
use crate::ids::JobId;
use crate::receipt::Committed;
use crate::request::{Request, Undo};

impl World {
    pub(super) fn undoer_acts(&mut self) -> Verdict {
        match self.any(3) {
            0 => self.undo_something(),
            1 => self.bring_back(),
            _ => self.write_receipts(),
        }
    }

    fn write_receipts(&mut self) -> Verdict {
        let due: Vec<JobId> = self.state.receipts_due().map(|kept| kept.job.id).collect();
        let written = self.some_of(&due);
        self.ask(&Request::ReportReceipts(written)).map(drop)
    }

    fn undo_something(&mut self) -> Verdict {
        let jobs: Vec<JobId> = self.state.committed.keys().copied().collect();
        let Some(job) = self.pick(&jobs) else {
            return Ok(());
        };
        let committed = self.state.committed[&job].clone();
        let inputs_now = self.kept_now(&committed);
        self.ask(&Request::Undo(Undo { job, inputs_now })).map(drop)
    }

    /// What lies where each input is kept; what is to be set aside may lie at either place.
    fn kept_now(&self, committed: &Committed) -> Vec<Option<Identity>> {
        let inputs = committed.job.inputs.iter().enumerate();
        let looks = inputs.map(|(index, input)| {
            let kept = self.state.kept(committed.job.id, index, input);
            let kept = kept.map(|(name, _)| name).into_iter();
            let mut places = kept.chain([input.path.clone()]);
            let object = places.find_map(|place| self.disk.get(&place))?;
            Some(match input.origin {
                Origin::Job(_) => input.identity.clone(),
                Origin::Foreign => object.identity.clone(),
            })
        });
        looks.collect()
    }

    /// Copies what lies aside to where it lay, unless somebody took the name.
    pub(super) fn bring_back(&mut self) -> Verdict {
        let returning: Vec<_> = self
            .state
            .garbage
            .iter()
            .filter(|(_, garbage)| garbage.stage == Stage::Returning)
            .map(|(aside, garbage)| (aside.clone(), garbage.original.clone().expect("it lay somewhere")))
            .collect();
        let mut files = Vec::new();
        for (aside, original) in self.some_of(&returning) {
            if !self.disk.contains_key(&aside) && self.is_on_disk(&original.path, &original.identity) {
                let object = self.disk.remove(&original.path).expect("it is there");
                self.disk.insert(aside.clone(), object);
            }
            files.extend(self.copied_back(aside, &original.path));
        }
        match self.chance(4) {
            true => Ok(()),
            false => self.ask(&Request::ReportReturned(files)).map(drop),
        }
    }

    fn copied_back(&mut self, aside: FilePath, home: &FilePath) -> Option<Returned> {
        let identity = match (self.disk.get(&aside), self.disk.get(home)) {
            (None, _) => None,
            (Some(kept), None) => {
                let atoms = kept.atoms.clone();
                Some(self.write(home, atoms))
            }
            (Some(kept), Some(there)) if there.atoms == kept.atoms => Some(there.identity.clone()),
            (Some(_), Some(_)) => return None,
        };
        Some(Returned { aside, identity })
    }

    /// Somebody is about to remove what an undo has not copied back yet.
    pub(super) fn destroy_aside(&mut self, aside: &FilePath) {
        let garbage = self.state.garbage.get(aside);
        let returning = garbage.filter(|garbage| garbage.stage == Stage::Returning);
        let original = returning.and_then(|garbage| garbage.original.clone());
        if let (Some(original), Some(object)) = (original, self.disk.get(aside)) {
            self.harmed.extend(&object.atoms);
            self.destroyed.insert((original.path, original.identity.tag));
        }
    }

    /// Faults stop: whoever put a file under the name of another moves it away.
    pub(super) fn bring_everything_back(&mut self) -> Verdict {
        let returning = self.state.garbage.values();
        let returning = returning.filter(|garbage| garbage.stage == Stage::Returning);
        let homes: Vec<_> = returning
            .filter_map(|garbage| Some((garbage.table.clone(), garbage.original.clone()?)))
            .collect();
        for (table, original) in homes {
            if !self.is_on_disk(&original.path, &original.identity) {
                self.destroy(&table, &original.path);
            }
        }
        for _ in 0..20 {
            self.bring_back()?;
        }
        Ok(())
    }
}
