//! Leases are taken and given back, and those who answer for them are counted.

use crate::event::ReleaseReason;
use crate::ids::{JobId, RangeId, Sequence, WatcherId};
use crate::job::{Backoff, RangeStatus};
use crate::lease::{HostLock, Lease, Watcher};
use crate::names::Attempt;
use crate::receipt::Tried;
use crate::state::State;

impl State {
    pub(super) fn lease_range(&mut self, job: JobId, id: RangeId, lease: Lease, host: Option<&HostLock>) {
        let watcher = lease.watcher;
        let range = self
            .job_mut(job)
            .range_mut(id)
            .expect("events name ranges that exist");
        assert_eq!(range.status, RangeStatus::Free, "a range has one lease at most");
        range.status = RangeStatus::Leased(lease);
        range.attempts += 1;
        self.count_lease(watcher, 1);
        if !crate::planted!(IdleWatcherRobbed) {
            self.raise_counter(watcher);
        }
        if let (Some(watcher), Some(host)) = (self.watchers.get_mut(&watcher), host) {
            watcher.host = Some(host.clone());
        }
    }

    pub(super) fn release_range(&mut self, attempt: &Attempt, why: &ReleaseReason) {
        let since = self.sequence;
        let job = self.job_mut(attempt.job);
        job.last_error = match why {
            ReleaseReason::InputFault(error)
            | ReleaseReason::NodeFault(error)
            | ReleaseReason::StoreFault(error)
            | ReleaseReason::ChildDied(error) => Some(error.clone()),
            _ => job.last_error.take(),
        };
        let receipt = job.receipt;
        let range = job
            .range_mut(attempt.range)
            .expect("events name ranges that exist");
        let lease = range.lease().expect("only a leased range is released").clone();
        assert_eq!(
            lease.token, attempt.token,
            "a lease is released under its own token"
        );
        range.backoff = match why {
            ReleaseReason::StoreFault(_) => Some(Backoff {
                store_faults: range.backoff.map_or(0, |before| before.store_faults) + 1,
                since,
            }),
            _ => None,
        };
        let to_blame = match why {
            ReleaseReason::InputFault(_) => true,
            // The first such death is only a suspicion: something else may have run in that child.
            ReleaseReason::ChildDied(_) => std::mem::replace(&mut range.alone, true),
            _ => false,
        };
        let unexplained = matches!(
            why,
            ReleaseReason::TakenOver | ReleaseReason::Stalled | ReleaseReason::Lost
        );
        // Publishing reads no input.
        if unexplained && attempt.range != RangeId::Publish && !crate::planted!(DeathsForgotten) {
            range.count_loss(&lease);
        }
        range.status = RangeStatus::Free;
        if receipt {
            range.remember(Tried::of(&lease, Some(why.clone())));
        }
        job.input_faults += u32::from(to_blame);
        let table = job.table.clone();
        self.count_lease(lease.watcher, -1);
        self.leave_behind(&table, *attempt);
    }

    pub(super) fn pass_leases(&mut self, which: impl Fn(&Lease) -> bool, to: WatcherId) {
        let watched: Vec<(JobId, RangeId, WatcherId)> = self
            .jobs
            .values()
            .flat_map(|job| job.leases().map(|(range, lease)| (job.id, range, lease)))
            .filter(|(_, _, lease)| which(lease))
            .map(|(job, range, lease)| (job, range, lease.watcher))
            .collect();
        for (job, range, from) in watched {
            let range = self
                .job_mut(job)
                .range_mut(range)
                .expect("it was found a moment ago");
            if let RangeStatus::Leased(lease) = &mut range.status {
                lease.embedded &= lease.watcher == to;
                lease.watcher = to;
            }
            self.count_lease(to, 1);
            self.count_lease(from, -1);
        }
        self.raise_counter(to);
    }

    /// Gives a lease that was lost back to who shows its token: planted, and wrong.
    pub(super) fn revive(&mut self, attempt: &Attempt) {
        let range = self.job_mut(attempt.job).range_mut(attempt.range);
        if let Some(RangeStatus::Leased(lease)) = range.map(|range| &mut range.status) {
            lease.token = attempt.token;
        }
    }

    /// A watcher without leases is not in the state: with nothing leased it owes nobody a sign of life.
    pub(super) fn count_lease(&mut self, id: WatcherId, change: i32) {
        let counter = if crate::planted!(IdleWatcherRobbed) {
            Sequence(1)
        } else {
            self.sequence
        };
        let mut watcher = self.watchers.remove(&id).unwrap_or(Watcher {
            counter,
            leases: 0,
            host: None,
        });
        watcher.leases = watcher
            .leases
            .checked_add_signed(change)
            .expect("leases are given back once");
        if watcher.leases > 0 {
            self.watchers.insert(id, watcher);
        }
    }

    pub(super) fn raise_counter(&mut self, id: WatcherId) {
        let counter = self.sequence;
        if let Some(watcher) = self.watchers.get_mut(&id) {
            watcher.counter = counter;
        }
    }
}
