//! Signs of life, and what happens without them. Watchers are judged by a counter that stood still on the judge's own
//! clock; here it is only compared.

use super::{Answer, Draft};
use crate::event::{Event, ReleaseReason};
use crate::ids::{Sequence, WatcherId};
use crate::names::Attempt;
use crate::request::{Refusal, Reply};

impl Draft {
    /// With nothing leased there is nothing to renew, and nothing is written.
    pub(super) fn renew(&mut self, watcher: WatcherId) -> Answer {
        match self.state.watchers.contains_key(&watcher) {
            true => self.done(Event::WatcherRenewed { watcher }),
            false => Ok(Reply::Done),
        }
    }

    pub(super) fn take_over(&mut self, watcher: WatcherId, counter: Sequence, by: WatcherId) -> Answer {
        let stands_still = self
            .state
            .watchers
            .get(&watcher)
            .is_some_and(|known| known.counter == counter);
        if !stands_still || watcher == by {
            return Err(Refusal::WatcherAlive(watcher));
        }
        let dead: Vec<Attempt> = self.attempts_of(watcher, true);
        for attempt in dead {
            self.emit(Event::RangeReleased {
                attempt,
                why: ReleaseReason::TakenOver,
            });
        }
        if self.state.watchers.contains_key(&watcher) {
            self.emit(Event::WatcherTakenOver { watcher, by });
        }
        Ok(Reply::Done)
    }

    /// A worker in the watcher's own process is not silent: it ends with it, or says why.
    pub(super) fn expire(&mut self, watcher: WatcherId, attempts: &[Attempt]) -> Answer {
        for attempt in attempts {
            let job = self.state.lease_held(attempt);
            let lease = job.and_then(|job| job.range(attempt.range)?.lease());
            if lease.is_some_and(|lease| lease.watcher == watcher && !lease.embedded) {
                self.emit(Event::RangeReleased {
                    attempt: *attempt,
                    why: ReleaseReason::Lost,
                });
            }
        }
        Ok(Reply::Done)
    }

    pub(super) fn rewatch(&mut self, watcher: WatcherId, attempts: &[Attempt]) -> Answer {
        for attempt in attempts {
            let revived =
                crate::planted!(RenewalWithoutCondition) && self.state.jobs.contains_key(&attempt.job);
            if self.state.lease_held(attempt).is_none() && !revived {
                return Err(Refusal::NoSuchLease {
                    job: attempt.job,
                    range: attempt.range,
                });
            }
        }
        if attempts.is_empty() {
            return Ok(Reply::Done);
        }
        self.done(Event::LeasesRewatched {
            attempts: attempts.to_vec(),
            watcher,
        })
    }

    fn attempts_of(&self, watcher: WatcherId, embedded: bool) -> Vec<Attempt> {
        let leases = self
            .state
            .jobs
            .values()
            .flat_map(|job| job.leases().map(|lease| (job.id, lease)));
        leases
            .filter(|(_, (_, lease))| lease.watcher == watcher && lease.embedded == embedded)
            .map(|(job, (range, lease))| Attempt {
                job,
                range,
                token: lease.token,
            })
            .collect()
    }
}
