//! Workers merge, finish and publish, some of them long after they lost their lease; watchers judge each other.

use std::collections::BTreeSet;

use super::super::fixtures::{CHIEF, DEPUTY, LONER, a_poll, output_of, published};
use super::Verdict;
use super::outsiders::staged_objects;
use super::world::{Atom, Try, World, digest, is_plain};
use crate::event::{Quarantined, ReleaseReason};
use crate::file::{Digest, Identity};
use crate::ids::{RangeId, Sequence, WatcherId};
use crate::job::{Finished, InputRead, Output};
use crate::limits::MEMORY_BASE_BYTES;
use crate::names::Attempt;
use crate::positions::Positions;
use crate::request::{Finish, Memory, Poll, Reply, Request};

const WATCHERS: [WatcherId; 3] = [LONER, CHIEF, DEPUTY];

/// Rows are sorted by their numbers.
fn key(atom: Atom) -> [u8; 8] {
    atom.to_be_bytes()
}

fn atoms_of(taken: &[(u64, Atom)]) -> Vec<Atom> {
    taken.iter().map(|(_, atom)| *atom).collect()
}

impl World {
    pub(super) fn somebody_polls(&mut self) -> Verdict {
        let watcher = WATCHERS[self.any(3)];
        let slots = 1 + self.any(2);
        let poll = Request::Poll(Poll {
            worker: format!("w{}", self.any(3)).as_str().into(),
            isolates: self.chance(2),
            memory: Some(Memory {
                all_bytes: MEMORY_BASE_BYTES * 2,
                places: 2,
                free_bytes: MEMORY_BASE_BYTES - 250 + self.any(500) as u64,
            })
            .filter(|_| self.chance(2)),
            ..a_poll(watcher, slots)
        });
        if let Reply::Granted(grants) = self.ask(&poll)? {
            let lost = self.chance(6);
            let tries = grants.into_iter().map(|grant| Try { grant, merged: None });
            self.tries.extend(tries.filter(|_| !lost));
        }
        Ok(())
    }

    pub(super) fn worker_acts(&mut self) -> Verdict {
        if self.tries.is_empty() {
            return Ok(());
        }
        if self.chance(12) {
            let staged: Vec<_> = staged_objects(self).into_iter().collect();
            if let Some(lost) = self.pick(&staged) {
                // An aside is the last copy of nothing, unless an undo needs it; a staged output can be made again.
                self.destroy_aside(&lost);
                self.disk.remove(&lost);
            }
        }
        let index = self.any(self.tries.len());
        let tried = self.tries[index].clone();
        match (tried.grant.range, &tried.merged) {
            (RangeId::Publish, _) => self.publish(&tried, index),
            (_, None) if tried.grant.span().is_whole() && self.chance(3) => self.cut(&tried, index),
            (_, None) => self.merge(&tried, index),
            (_, Some(merged)) => self.finish(&tried, merged, index),
        }
    }

    /// Others may help. Whoever does not hear the answer goes on with all of it, and must be found out.
    fn cut(&mut self, tried: &Try, index: usize) -> Verdict {
        let inputs = &tried.grant.job.inputs;
        let rows: Vec<Atom> = inputs
            .iter()
            .flat_map(|input| self.rows_of(input).to_vec())
            .collect();
        let mut edges: BTreeSet<Atom> = (0..1 + self.any(3)).filter_map(|_| self.pick(&rows)).collect();
        if self.chance(2) {
            // A range of one key.
            edges.extend(self.pick(&rows).into_iter().flat_map(|row| [row, row + 1]));
        }
        let request = Request::CutJob {
            attempt: tried.grant.attempt(),
            edges: edges.iter().map(|edge| key(*edge).to_vec()).collect(),
        };
        if let Reply::Cut(grant) = self.ask(&request)?
            && self.any(12) > 0
        {
            self.tries[index].grant = grant;
        }
        Ok(())
    }

    fn merge(&mut self, tried: &Try, index: usize) -> Verdict {
        let job = &tried.grant.job;
        let gone = job.inputs.iter().find(|input| !self.is_there(input));
        if let Some(gone) = gone {
            let culprit = Quarantined {
                path: gone.path.clone(),
                identity: gone.identity.clone(),
                reason: "404".into(),
            };
            self.tries.remove(index);
            return self.release(tried.grant.attempt(), ReleaseReason::InputsChanged, vec![culprit]);
        }
        // Those who go astray at an edge take the last key before it too, leave the first one out, or mistake one for the other.
        let astray = self.chance(12).then(|| self.any(3));
        let span = tried.grant.span();
        let is_mine = |atom: &Atom| match astray {
            None => span.holds(&key(*atom)),
            Some(0) => span.holds(&key(*atom)) || span.holds(&key(*atom + 1)),
            Some(1) => span.holds(&key(*atom)) && span.holds(&key(*atom - 1)),
            Some(_) => span.holds(&key(*atom + 1)),
        };
        let mine = |atoms: &[Atom]| {
            let taken = (0..).zip(atoms).filter(|(_, atom)| is_mine(atom));
            taken.map(|(place, atom)| (place, *atom)).collect()
        };
        let inputs = job.inputs.iter();
        let read: Vec<Vec<(u64, Atom)>> = inputs.map(|input| mine(&self.disk[&input.path].atoms)).collect();
        let mut rows: Vec<Atom> = read.iter().flat_map(|taken| atoms_of(taken)).collect();
        if self.chance(8) {
            rows.pop();
        }
        let attempt = tried.grant.attempt();
        let plain = is_plain(&job.table);
        let cut = rows.len() / (1 + self.any(2));
        let parts = [rows[..cut].to_vec(), rows[cut..].to_vec()];
        let parts = parts.into_iter().filter(|part| !part.is_empty());
        let mut outputs = Vec::new();
        for (part, atoms) in (0..).zip(parts) {
            let path = output_of(job, &attempt, part);
            let times = self.times_of(&atoms).filter(|_| self.chance(2));
            self.archive.insert((path.clone(), None), atoms.clone());
            outputs.push(Output {
                part,
                path: path.clone(),
                bytes: 10 * atoms.len() as u64 + 1,
                rows: atoms.len() as u64,
                copied: 0,
                digest: digest(&atoms),
                checksum: Digest(1),
                keys: None,
                times,
            });
            let written = if plain { attempt.staged(part) } else { path };
            self.write(&written, atoms);
        }
        self.tries[index].merged = Some(Finished {
            token: attempt.token,
            outputs,
            reads: read
                .iter()
                .map(|taken| InputRead {
                    rows: taken.len() as u64,
                    copied: 0,
                    digest: digest(&atoms_of(taken)),
                    positions: Some(
                        taken
                            .iter()
                            .map(|(place, _)| Positions::of(*place..*place + 1))
                            .sum(),
                    ),
                })
                .collect(),
            drops: vec![],
            copied: None,
            stretches: vec![],
            effort: None,
        });
        Ok(())
    }

    fn finish(&mut self, tried: &Try, merged: &Finished, index: usize) -> Verdict {
        let job = &tried.grant.job;
        let mut finished = merged.clone();
        let tokens: Vec<_> = self.tries.iter().map(|other| other.grant.token).collect();
        if self.chance(8) {
            finished.token = self.pick(&tokens).expect("this one at least");
        }
        let looks = is_plain(&job.table) && self.any(5) > 0;
        let now = |path| self.disk.get(path).map(|object| object.identity.clone());
        let inputs_now = looks.then(|| job.inputs.iter().map(|input| now(&input.path)).collect());
        let request = Request::Finish(Finish {
            job: job.id,
            range: tried.grant.range,
            finished,
            inputs_now,
        });
        let reply = self.ask(&request)?;
        // A message may be sent again: sometimes the try goes on as if it had not been heard.
        if self.any(3) > 0 && index < self.tries.len() {
            self.tries.remove(index);
        }
        if let Reply::Finished {
            publish: Some(grant), ..
        } = reply
        {
            self.tries.push(Try { grant, merged: None });
        }
        Ok(())
    }

    /// Objects are moved first; the report may come later, or never.
    fn publish(&mut self, tried: &Try, index: usize) -> Verdict {
        let job = &tried.grant.job;
        let mut identities: Vec<Option<Identity>> = Vec::new();
        for (range, finished) in job.finished() {
            let attempt = Attempt {
                job: job.id,
                range,
                token: finished.token,
            };
            for output in &finished.outputs {
                if !self.disk.contains_key(&output.path)
                    && let Some(object) = self.disk.remove(&attempt.staged(output.part))
                {
                    self.disk.insert(output.path.clone(), object);
                }
                identities.push(self.disk.get(&output.path).map(|object| object.identity.clone()));
            }
        }
        if self.chance(3) {
            return Ok(());
        }
        if self.chance(15) {
            identities.push(Some(published()));
        }
        if self.any(3) > 0 {
            self.tries.remove(index);
        }
        let request = Request::Publish {
            job: job.id,
            token: tried.grant.token,
            identities,
        };
        self.ask(&request).map(drop)
    }

    pub(super) fn attempt_is_released(&mut self) -> Verdict {
        let leases = self.leases();
        let Some(attempt) = self.pick(&leases) else {
            return Ok(());
        };
        let why = match self.any(6) {
            0 => ReleaseReason::Drained,
            1 => ReleaseReason::Stalled,
            2 => ReleaseReason::NodeFault("no space".into()),
            3 => ReleaseReason::StoreFault("503".into()),
            4 => ReleaseReason::ChildDied("signal 9".into()),
            _ => ReleaseReason::InputFault("torn".into()),
        };
        let inputs = self.state.jobs[&attempt.job].inputs.clone();
        let blamed = self.pick(&inputs).filter(|_| self.chance(3));
        let culprits = blamed.map(|file| Quarantined {
            path: file.path.clone(),
            identity: file.identity.clone(),
            reason: "torn".into(),
        });
        self.release(attempt, why, culprits.into_iter().collect())
    }

    pub(super) fn release(
        &mut self,
        attempt: Attempt,
        why: ReleaseReason,
        culprits: Vec<Quarantined>,
    ) -> Verdict {
        let request = Request::Release {
            attempt,
            why,
            culprits,
        };
        self.ask(&request).map(drop)
    }

    pub(super) fn leases(&self) -> Vec<Attempt> {
        let jobs = self.state.jobs.values();
        let leases = jobs.flat_map(|job| job.leases().map(|(range, lease)| (job.id, range, lease.token)));
        leases
            .map(|(job, range, token)| Attempt { job, range, token })
            .collect()
    }

    pub(super) fn watchers_act(&mut self) -> Verdict {
        let (watcher, by) = (WATCHERS[self.any(3)], WATCHERS[self.any(3)]);
        let counter = self.state.watchers.get(&watcher).map(|known| known.counter);
        let tokens: Vec<Attempt> = self.tries.iter().map(|tried| tried.grant.attempt()).collect();
        let leases = self.leases();
        let request = match self.any(4) {
            0 => Request::Renew(watcher),
            3 => Request::Expire {
                watcher,
                attempts: self.some_of(&[leases, tokens].concat()),
            },
            1 => Request::TakeOver {
                watcher,
                counter: counter.unwrap_or(Sequence(1)),
                by,
            },
            _ => Request::Rewatch {
                watcher,
                attempts: self.pick(&tokens).into_iter().collect(),
            },
        };
        self.ask(&request).map(drop)
    }
}
