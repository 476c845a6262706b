//! A poll: plan what the worker's capacity is evidence for, then grant what it has slots for.

use super::turns::Turns;
use super::{Answer, Draft, drops};
use crate::admission::{self, Admission};
use crate::agenda::Tenant;
use crate::event::Event;
use crate::file::FilePath;
use crate::ids::{JobId, RangeId};
use crate::job::Job;
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
        let mut admission = Admission::of(&self.state, poll);
        let mut grants: Vec<Grant> = Vec::new();
        let mut waiting = 0;
        for (id, range) in scheduler::free_ranges(&self.state, &poll.scope) {
            let job = self.state.jobs[&id].clone();
            // Publishing ends a job, and a second range begins none, whoever has the first.
            let begins = range != RangeId::Publish && !job.is_begun();
            let is_left = grants.len() < poll.slots && (!begins || jobs_left > 0);
            if !is_left || !admission.admits(&job, range) {
                waiting = waiting.max(admission.wants(&job, range));
                continue;
            }
            jobs_left -= usize::from(begins);
            admission.take(&job, range);
            grants.push(self.lease(poll, id, range));
        }
        if let Some(memory) = &poll.memory {
            admission::share_out(memory, poll.slots, waiting, &mut grants);
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
            isolates: poll.isolates,
        });
        let job = self.state.jobs[&job].clone();
        Grant {
            memory_bytes: admission::memory_for(&job, range),
            job,
            range,
            token,
        }
    }

    /// As many jobs as the capacity is evidence for, if fewer are free than there are slots. Whoever's turn it is with
    /// this poll gets one in any case: others' full queues are no reason to wait.
    fn plan(&mut self, poll: &Poll) {
        let scope = &poll.scope;
        let admission = Admission::of(&self.state, poll);
        let queued = scheduler::free_by_tenant(&self.state, scope, |job, range| admission.admits(job, range));
        let unfit = scheduler::free_by_tenant(&self.state, scope, |job, range| {
            admission.is_for(job, range) && !admission.admits(job, range)
        });
        let free: usize = queued.values().sum();
        let to_begin = scheduler::jobs_to_begin(&self.state, scope);
        let jobs_left = scope.jobs_left.unwrap_or(usize::MAX).saturating_sub(to_begin);
        let mut budget = Budget {
            jobs: poll.slots.saturating_mul(JOBS_PLANNED_PER_SLOT).min(jobs_left),
            unfit: poll.slots.saturating_sub(unfit.values().sum()),
            bytes: scope.bytes_left.unwrap_or(u64::MAX),
            admission,
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
        let scope = turns.scope();
        while budget.jobs > 0 && budget.bytes > 0 {
            let Some((place, proposal)) = turns.next_job(tenant) else {
                return false;
            };
            let bytes = turns.bytes(&place, &proposal);
            let takes = scope.takes(turns.level(&place, &proposal), bytes);
            let (level, inputs) = (proposal.output_level, proposal.inputs.len());
            let admission = &budget.admission;
            let admitted = admission.would_admit(self.state.next_job, level, bytes, inputs);
            // What is too large now, or for others, must not stop the smaller ones behind it.
            if bytes > budget.bytes || !takes || (!admitted && budget.unfit == 0) {
                continue;
            }
            if !self.make_room(tenant) {
                return false;
            }
            budget.bytes -= bytes;
            budget.jobs -= 1;
            budget.unfit -= usize::from(!admitted);
            let partition = turns.output_partition(&place, &proposal);
            let drops = drops::frozen(&self.state, &place.0, &partition, &proposal.inputs);
            let mut inputs = proposal.inputs;
            if crate::planted!(WrongTieBreak) {
                inputs.reverse();
            }
            self.emit(Event::JobPlanned {
                job: self.state.next_job,
                table: place.0,
                partition,
                inputs,
                output_level: proposal.output_level,
                why: proposal.why,
                drops,
                alone: false,
                receipt: true,
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
    pub(super) fn plan_halves(&mut self, of: JobId, like: &Job) {
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
                alone: like.ranges.iter().any(|range| range.alone),
                receipt: true,
            });
        }
    }
}

/// What a poll may still plan.
struct Budget {
    jobs: usize,
    /// Jobs among them that wait until the worker has memory for them. Without a bound each poll would plan more.
    unfit: usize,
    bytes: u64,
    admission: Admission,
}
