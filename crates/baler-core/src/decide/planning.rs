//! A poll: plan what the worker's capacity is evidence for, then grant what it has slots for.

use super::{Answer, Draft, drops};
use crate::event::Event;
use crate::file::FilePath;
use crate::ids::{JobId, Partition, TableName};
use crate::limits::{JOBS_PLANNED_PER_SLOT, OPEN_JOBS_MAX};
use crate::planner;
use crate::request::{Grant, Poll, Reply, Scope};
use crate::scheduler;
use crate::state::{State, Table};

impl Draft {
    pub(super) fn poll(&mut self, poll: &Poll) -> Answer {
        if scheduler::free_ranges(&self.state, &poll.scope).len() < poll.slots {
            self.plan(&poll.scope, poll.slots.saturating_mul(JOBS_PLANNED_PER_SLOT));
        }
        let free = scheduler::free_ranges(&self.state, &poll.scope);
        let grants = free.into_iter().take(poll.slots).map(|(job, range)| {
            let token = self.state.next_token();
            self.emit(Event::RangeLeased {
                job,
                range,
                worker: poll.worker.clone(),
                watcher: poll.watcher,
                embedded: poll.embedded,
                host: poll.host.clone(),
            });
            Grant {
                job: self.state.jobs[&job].clone(),
                range,
                token,
            }
        });
        Ok(Reply::Granted(grants.collect()))
    }

    fn plan(&mut self, scope: &Scope, wanted: usize) {
        let mut planned = 0;
        let mut bytes_left = scope.bytes_left.unwrap_or(u64::MAX);
        let seen = self.state.clone();
        for (name, partition, table) in partitions(&seen, scope) {
            let choice = planner::choose(&table.spec, &table.view(partition, seen.time));
            for proposal in choice.jobs {
                let bytes: u64 = proposal.inputs.iter().map(|path| table.files[path].bytes()).sum();
                if planned >= wanted || self.state.jobs.len() >= OPEN_JOBS_MAX {
                    return;
                }
                // What is too large now must not stop the smaller ones behind it.
                if bytes > bytes_left {
                    continue;
                }
                bytes_left -= bytes;
                planned += 1;
                let drops = drops::frozen(&self.state, name, partition, &proposal.inputs);
                self.emit(Event::JobPlanned {
                    job: self.state.next_job,
                    table: name.clone(),
                    partition: partition.clone(),
                    inputs: proposal.inputs,
                    output_level: proposal.output_level,
                    why: proposal.why,
                    drops,
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

/// The partitions inside the scope, each in its turn: first those after the one that was planned last. In any fixed
/// order the first ones, while files keep arriving there, would starve the rest.
pub(super) fn partitions<'a>(
    state: &'a State,
    scope: &'a Scope,
) -> Vec<(&'a TableName, &'a Partition, &'a Table)> {
    let last = planned_last(state);
    let tables = state.tables.iter();
    let all = tables.flat_map(|(name, table)| table.partitions.keys().map(move |key| (name, key, table)));
    let (mut after, before): (Vec<_>, Vec<_>) = all
        .filter(|(name, partition, _)| scope.covers(name, partition))
        .partition(|(name, partition, _)| Some((*name, *partition)) > last);
    after.extend(before);
    after
}

/// Where the youngest job that is still known works.
fn planned_last(state: &State) -> Option<(&TableName, &Partition)> {
    let open = state
        .jobs
        .get_max()
        .map(|(id, job)| (*id, (&job.table, &job.partition)));
    let ended = state
        .recent
        .iter()
        .map(|job| (job.id, (&job.table, &job.partition)));
    ended.chain(open).max().map(|(_, place)| place)
}
