//! Ingesters and other people: they write, overwrite and delete, and somebody looks at the result, now or later.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::super::fixtures::{NATIVE, OUTPUT};
use super::Verdict;
use super::world::{Atom, Sight, World, folder, is_plain};
use crate::event::{Event, Quarantined};
use crate::file::{File, FilePath, Place};
use crate::ids::{JobId, Sequence, TableName};
use crate::job::{JobStatus, Why};
use crate::names::{self, OutputName};
use crate::request::{Reply, Request};
use crate::time::Millis;

impl World {
    pub(super) fn outsider_acts(&mut self) -> Verdict {
        let table = self.any_table();
        let name = format!("{}/f{}", folder(&table), self.any(4));
        let path = match table.as_str() {
            OUTPUT => FilePath::in_source(name),
            _ => FilePath::in_root(name),
        };
        // Whoever hands a file over leaves it alone while the table shows it.
        let shown = self.state.tables[&table].files.contains_key(&path);
        if !is_plain(&table) && shown && self.any(4) > 0 {
            return Ok(());
        }
        self.destroy(&table, &path);
        if self.any(4) > 0 {
            let rows = 1 + self.any(3);
            let atoms: Vec<Atom> = (0..rows).map(|_| self.number()).collect();
            for atom in &atoms {
                let age = Millis(self.any(60_000) as u64);
                self.row_times.insert(*atom, self.state.time.rows_aged(age));
            }
            self.write(&path, atoms);
        }
        Ok(())
    }

    /// Rows are harmed if no committed output holds them.
    pub(super) fn destroy(&mut self, table: &TableName, path: &FilePath) {
        let Some(object) = self.disk.remove(path) else {
            return;
        };
        let live = self.state.tables[table].files.get(path);
        let mut compacted = self
            .state
            .jobs
            .values()
            .filter(|job| job.status == JobStatus::Compacted);
        let needed = live.is_some_and(|file| file.identity == object.identity)
            || compacted.any(|job| {
                let mut inputs = job.inputs.iter();
                inputs.any(|input| input.path == *path && input.identity == object.identity)
            });
        // What an undo has copied back is the file from then on, also before that is reported.
        let returning = live.is_some_and(|file| {
            let holder = self.state.tables[table].held.get(path);
            holder.is_some_and(|job| self.state.undoing.contains_key(job))
                && self.rows_of(file) == object.atoms
        });
        if needed || returning {
            self.harmed.extend(&object.atoms);
        }
        self.destroyed.insert((path.clone(), object.identity.tag));
    }

    /// Somebody lists a table, and asks for what it does not find.
    pub(super) fn somebody_looks(&mut self) -> Verdict {
        let table = self.any_table();
        let sight = self.sight(&table);
        self.sights.push(sight);
        Ok(())
    }

    pub(super) fn sight(&self, table: &TableName) -> Sight {
        let below = |path: &FilePath| path.folder() == folder(table) && names::is_data_path(&path.path);
        let place = if table.as_str() == OUTPUT {
            Place::Source
        } else {
            Place::Root
        };
        let own = |path: &FilePath| OutputName::parse(path.name()).is_some();
        let objects = || self.disk.iter().filter(|(path, _)| below(path));
        let foreign = objects().filter(|(path, _)| path.place == place && !own(path));
        let outputs = self.disk.keys().filter(|path| own(path));
        let native = format!("{}/{table}/", names::TABLES_FOLDER);
        let known = &self.state.tables[table];
        let remembered = known
            .files
            .keys()
            .chain(known.consumed.keys())
            .chain(known.quarantine.keys());
        Sight {
            table: table.clone(),
            evidence: self.known(),
            found: foreign.map(|(path, object)| self.file(path, object)).collect(),
            own: outputs
                .filter(|path| below(path) || path.path.starts_with(&native))
                .cloned()
                .collect(),
            missing: remembered
                .filter(|path| !self.disk.contains_key(path))
                .cloned()
                .collect(),
        }
    }

    /// A report may be old, and may come more than once.
    pub(super) fn somebody_reports(&mut self) -> Verdict {
        let sights = self.sights.clone();
        let table = self.any_table();
        let fresh = self.sight(&table);
        let sight = self.pick(&sights).filter(|_| self.chance(2)).unwrap_or(fresh);
        if self.sights.len() > 6 {
            self.sights.retain(|other| other.evidence != sight.evidence);
        }
        match self.any(3) {
            0 => self.report_found(&sight),
            1 => self.report_missing(&sight),
            _ => self.report_late(&sight),
        }
    }

    pub(super) fn report_found(&mut self, sight: &Sight) -> Verdict {
        let request = Request::AddFiles {
            table: sight.table.clone(),
            evidence: sight.evidence,
            files: sight.found.clone(),
        };
        self.ask(&request).map(drop)
    }

    pub(super) fn report_missing(&mut self, sight: &Sight) -> Verdict {
        let request = Request::LoseFiles {
            table: sight.table.clone(),
            evidence: sight.evidence,
            paths: sight.missing.clone(),
        };
        self.ask(&request).map(drop)
    }

    pub(super) fn report_late(&mut self, sight: &Sight) -> Verdict {
        let request = Request::ReportLateWrites {
            table: sight.table.clone(),
            evidence: sight.evidence,
            paths: sight.own.clone(),
        };
        if let Reply::Due(paths) = self.ask(&request)? {
            self.lists.extend(paths);
        }
        Ok(())
    }

    /// A planner without a policy: any free files of a table.
    pub(super) fn somebody_plans(&mut self) -> Verdict {
        let name = self.any_table();
        let table = &self.state.tables[&name];
        let partition = folder(&name).into();
        let free: Vec<FilePath> = table
            .view(&partition, self.state.time)
            .files
            .iter()
            .map(|file| file.path.clone())
            .collect();
        let inputs = self.some_of(&free);
        if inputs.is_empty() {
            return Ok(());
        }
        self.close_entry()?;
        self.append(Event::JobPlanned {
            job: self.state.next_job,
            table: name,
            partition,
            inputs,
            output_level: crate::file::Level(1),
            why: Why::SmallFiles,
            drops: None,
            alone: false,
            receipt: true,
        });
        Ok(())
    }

    pub(super) fn operator_acts(&mut self) -> Verdict {
        let jobs: Vec<JobId> = self.state.jobs.keys().copied().collect();
        let table = self.any_table();
        let live: Vec<Arc<File>> = self.state.tables[&table].files.values().cloned().collect();
        let request = match self.any(3) {
            0 => self.pick(&jobs).map(Request::Cancel),
            1 => Some(Request::Retry { table, paths: vec![] }),
            _ => self.pick(&live).map(|file| Request::QuarantineFiles {
                evidence: self.known(),
                table,
                files: vec![Quarantined {
                    path: file.path.clone(),
                    identity: file.identity.clone(),
                    reason: "torn".into(),
                }],
            }),
        };
        match request {
            Some(request) => self.ask(&request).map(drop),
            None => Ok(()),
        }
    }

    pub(super) fn reader_acts(&mut self) -> Verdict {
        let pins: Vec<_> = self.readers.keys().copied().collect();
        if let (Some(pin), true) = (self.pick(&pins), self.chance(3)) {
            self.readers.remove(&pin);
            return self.ask(&Request::Unpin(pin)).map(drop);
        }
        let back = self.any(30) as u64;
        let version = Sequence(self.known().0.saturating_sub(back));
        let version = Some(version).filter(|_| self.chance(2));
        let request = Request::Pin {
            table: NATIVE.into(),
            owner: "reader".into(),
            lifetime: Millis(self.any(40_000) as u64),
            version,
        };
        let reply = self.ask(&request)?;
        // The version that is pinned is the one that the whole entry leads to.
        self.close_entry()?;
        if let Reply::Pinned(pin) = reply {
            let files = self.versions[&version.unwrap_or(pin.entry)].clone();
            self.readers.insert(pin, files);
        }
        Ok(())
    }

    pub(super) fn retention_is_applied(&mut self) -> Verdict {
        self.ask(&Request::ApplyRetention(NATIVE.into())).map(drop)
    }

    pub(super) fn time_passes(&mut self) -> Verdict {
        let length = [0, 100, 3_000, 11_000][self.any(4)];
        self.pass(Millis(length))
    }
}

/// Names that nobody but Baler writes.
pub(super) fn staged_objects(world: &World) -> BTreeSet<FilePath> {
    let own = world.disk.keys().filter(|path| names::is_own_object(path));
    own.cloned().collect()
}
