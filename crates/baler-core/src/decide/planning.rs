//! A poll: plan what the worker's capacity is evidence for, then grant what it has slots for.

use super::turns::Turns;
use super::{Answer, Draft, drops};
use crate::agenda::Tenant;
use crate::event::Event;
use crate::file::FilePath;
use crate::ids::{JobId, RangeId};
use crate::limits::{JOBS_PLANNED_PER_SLOT, PARTITIONS_PER_EVENT_MAX, REST_WORTH_FILES};
use crate::planner;
use crate::request::{Grant, Poll, Reply};
use crate::scheduler;

impl Draft {
    pub(super) fn poll(&mut self, poll: &Poll) -> Answer {
        if poll.slots > 0 && !self.state.paused {
            self.plan(poll);
        }
        Ok(Reply::Granted(self.grant(poll)))
    }

    fn grant(&mut self, poll: &Poll) -> Vec<Grant> {
        let mut jobs_left = poll.scope.jobs_left.unwrap_or(usize::MAX);
        let mut grants: Vec<Grant> = Vec::new();
        for (job, range) in scheduler::free_ranges(&self.state, &poll.scope) {
            // Publishing ends a job, and a second range begins none.
            let begins = range != RangeId::Publish && !grants.iter().any(|grant| grant.job.id == job);
            if grants.len() == poll.slots || (begins && jobs_left == 0) {
                continue;
            }
            jobs_left -= usize::from(begins);
            grants.push(self.lease(poll, job, range));
        }
        grants
    }

    fn lease(&mut self, poll: &Poll, job: JobId, range: RangeId) -> Grant {
        let token = self.state.next_token();
        self.emit(Event::RangeLeased {
            job,
            range,
            worker: poll.worker.clone(),
            watcher: poll.watcher,
            embedded: poll.embedded,
            host: poll.host.clone(),
            tenant: self.state.tenant_of(&self.state.jobs[&job]),
        });
        Grant {
            job: self.state.jobs[&job].clone(),
            range,
            token,
        }
    }

    /// As many jobs as the capacity is evidence for, if fewer are free than there are slots. Whoever's turn it is with
    /// this poll gets one in any case: others' full queues are no reason to wait.
    fn plan(&mut self, poll: &Poll) {
        let scope = &poll.scope;
        let queued = scheduler::free_by_tenant(&self.state, scope);
        let free: usize = queued.values().sum();
        let jobs_left = scope.jobs_left.unwrap_or(usize::MAX).saturating_sub(free);
        let mut budget = Budget {
            jobs: poll.slots.saturating_mul(JOBS_PLANNED_PER_SLOT).min(jobs_left),
            bytes: scope.bytes_left.unwrap_or(u64::MAX),
        };
        let mut turns = Turns::of(&self.state, scope);
        let mut tenants = turns.tenants();
        let in_turn = scheduler::rotated(
            tenants.iter().chain(queued.keys()).cloned().collect(),
            &self.state.turn,
        );
        let mut served = 0;
        for tenant in in_turn {
            if served == poll.slots {
                break;
            }
            let has_work = queued.contains_key(&tenant) || self.plan_one(&mut turns, &tenant, &mut budget);
            served += usize::from(has_work);
        }
        while free < poll.slots && !tenants.is_empty() {
            tenants.retain(|tenant| self.plan_one(&mut turns, tenant, &mut budget));
        }
        self.record_rest(turns);
    }

    /// Plans the next job of a tenant, if it asks for one that the budget admits.
    fn plan_one(&mut self, turns: &mut Turns<'_>, tenant: &Tenant, budget: &mut Budget) -> bool {
        while budget.jobs > 0 && budget.bytes > 0 {
            let Some((place, proposal)) = turns.next_job(tenant) else {
                return false;
            };
            let bytes = turns.bytes(&place, &proposal);
            // What is too large now must not stop the smaller ones behind it.
            if bytes > budget.bytes {
                continue;
            }
            if !self.make_room(tenant) {
                return false;
            }
            budget.bytes -= bytes;
            budget.jobs -= 1;
            let partition = turns.output_partition(&place, &proposal);
            let drops = drops::frozen(&self.state, &place.0, &partition, &proposal.inputs);
            self.emit(Event::JobPlanned {
                job: self.state.next_job,
                table: place.0,
                partition,
                inputs: proposal.inputs,
                output_level: proposal.output_level,
                why: proposal.why,
                drops,
            });
            return true;
        }
        false
    }

    /// What costs less to look at again than to write down is not written down.
    fn record_rest(&mut self, turns: Turns<'_>) {
        let (files_in_vain, rested) = turns.in_vain();
        if files_in_vain < REST_WORTH_FILES {
            return;
        }
        for (table, partitions) in rested {
            for partitions in partitions.chunks(PARTITIONS_PER_EVENT_MAX) {
                self.emit(Event::PartitionsRested {
                    table: table.clone(),
                    planner: planner::VERSION,
                    partitions: partitions.to_vec(),
                });
            }
        }
    }

    /// Halves of a job that failed without saying which input is to blame.
    pub(super) fn plan_halves(&mut self, of: JobId, like: &crate::job::Job) {
        let (older, newer) = like.inputs.split_at(like.inputs.len() / 2);
        for half in [older, newer] {
            let inputs: Vec<FilePath> = half.iter().map(|file| file.path.clone()).collect();
            let drops = drops::frozen(&self.state, &like.table, &like.partition, &inputs);
            self.emit(Event::JobPlanned {
                job: self.state.next_job,
                table: like.table.clone(),
                partition: like.partition.clone(),
                inputs,
                output_level: like.output_level,
                why: crate::job::Why::Bisected { of },
                drops,
            });
        }
    }
}

/// What a poll may still plan.
struct Budget {
    jobs: usize,
    bytes: u64,
}
