//! Events become state. Total and deterministic: what the journal holds was decided, so nothing here may refuse. An
//! event that does not fit its state is a broken invariant, and panics rather than corrupts.

mod files;
mod garbage;
mod jobs;
mod leases;
mod planning;
mod receipts;
mod recognition;
mod renewal;
mod tables;
mod undo;

pub(crate) use jobs::summary;
pub use recognition::recognise;
pub use renewal::{History, renew};

use std::sync::Arc;

use crate::event::{Batch, Event};
use crate::external::Tries;
use crate::garbage::Stage;
use crate::ids::{RangeId, Sequence, Token};
use crate::lease::Lease;
use crate::state::{Pin, State};

/// Applies an entry of the journal.
pub fn apply(state: &mut State, batch: &Batch) {
    state.open_batch(batch.parent_time);
    assert_eq!(
        state.sequence, batch.sequence,
        "entries are applied in order, each once"
    );
    for event in &batch.events {
        apply_event(state, event);
    }
}

/// Applies one event of the open entry.
pub fn apply_event(state: &mut State, event: &Event) {
    match event {
        Event::JournalCreated { journal } => state.journal = Some(*journal),
        Event::Ticked => {}
        Event::TableCreated { table, spec } => state.begin_table(table, spec),
        Event::TableAltered { table, spec } => state.alter_table(table, spec),
        Event::TableDropped { table } => state.drop_table(table),
        Event::FilesAdded { table, files } => state.add_files(table, files),
        Event::FilesLost { table, paths } => state.lose_files(table, paths),
        Event::FilesExpired { table, paths, .. } => state.expire_files(table, paths),
        Event::ConsumedGone { table, paths } => {
            for path in paths {
                state.forget_consumed(table, path, None);
            }
        }
        Event::FilesQuarantined { table, files } => {
            let table = state.table_mut(table);
            for mark in files {
                table.quarantine.insert(mark.path.clone(), Arc::new(mark.clone()));
                table.touch(&mark.path);
            }
        }
        Event::QuarantineLifted { table, paths } => {
            let table = state.table_mut(table);
            for path in paths {
                table.quarantine.remove(path);
                table.put_off.remove(path);
                table.touch(path);
                if let Some(file) = table.files.get_mut(path) {
                    Arc::make_mut(file).apart = None;
                }
            }
        }
        Event::FilesPutOff {
            table,
            paths,
            job,
            lasts,
            reason,
        } => state.put_off(table, paths, *job, *lasts, reason),
        Event::PartitionsRested {
            table,
            planner,
            partitions,
        } => state.rest(table, *planner, partitions),
        Event::Paused { table } => state.set_paused(table.as_ref(), true),
        Event::Resumed { table } => state.set_paused(table.as_ref(), false),
        Event::JobPlanned {
            job,
            table,
            partition,
            inputs,
            output_level,
            why,
            drops,
            alone,
            receipt,
        } => {
            state.plan_job(*job, table, partition, inputs, *output_level, why);
            let job = state.job_mut(*job);
            job.drops = drops.clone();
            job.ranges[0].alone = *alone;
            job.receipt = *receipt;
        }
        Event::RangeLeased {
            job,
            range,
            worker,
            watcher,
            embedded,
            host,
            tenant,
            isolates,
        } => {
            let token = state.next_token();
            let lease = Lease {
                token,
                worker: worker.clone(),
                watcher: *watcher,
                embedded: *embedded,
                isolates: *isolates,
            };
            state.lease_range(*job, *range, lease, host.as_ref());
            // Publishing follows from a merge and is nobody's turn.
            if *range != RangeId::Publish {
                state.turn = tenant.clone();
            }
        }
        Event::JobCut { job, edges } => state.cut_job(*job, edges),
        Event::RangeReleased { attempt, why } => state.release_range(attempt, why),
        Event::RangeFinished { job, range, finished } => state.finish_range(*job, *range, finished),
        Event::JobCompacted { job } => state.compact_job(*job),
        Event::JobPublished { job, identities, .. } => state.publish_job(*job, identities),
        Event::JobCommitted { job } => state.commit_job(*job),
        Event::CommitTry { job, base } => {
            let job = state.job_mut(*job);
            job.tries = Some(Tries::with(job.tries.as_ref(), *base));
        }
        Event::CommitStuck { job, reason } => {
            let tries = state.job_mut(*job).tries.as_mut();
            tries.expect("what was never tried is not stuck").stuck = Some(reason.clone());
        }
        Event::JobFailed { job, reason } => state.fail_job(*job, reason),
        Event::JobUndone { job } => state.undo_job(*job),
        Event::InputsReturned { files } => state.return_inputs(files),
        Event::JobCancelled { job, why } => state.cancel_job(*job, why),
        Event::ReceiptsWritten { jobs } => state.receipts_written(jobs),
        Event::ReceiptsRetired { before } => state.old_receipts.retired = *before,
        Event::ReceiptsDeleted { before } => state.old_receipts.deleted = *before,
        Event::TableReceiptsDeleted { table } => state.table_receipts_deleted(table),
        Event::WatcherRenewed { watcher } => state.raise_counter(*watcher),
        Event::WatcherTakenOver { watcher, by } => state.pass_leases(|lease| lease.watcher == *watcher, *by),
        Event::LeasesRewatched { attempts, watcher } => {
            if crate::planted!(RenewalWithoutCondition) {
                attempts.iter().for_each(|attempt| state.revive(attempt));
            }
            state.pass_leases(|lease| attempts.iter().any(|a| a.token == lease.token), *watcher);
        }
        Event::SetAside { asides } => state.advance_garbage(asides, Stage::Waiting),
        Event::NothingToSetAside { asides } => state.drop_garbage(asides),
        Event::DeletionDue { table, paths } => state.declare_due(table, paths),
        Event::LeftInPlace { paths } => {
            for path in paths {
                state.leave_in_place(path);
            }
        }
        Event::Deleted { paths } => state.drop_garbage(paths),
        Event::LeftoverSwept { attempt, empty } => state.sweep_leftover(attempt, *empty),
        Event::LeftoverForgotten { attempt } => {
            state.leftovers.remove(&leftover_key(attempt.token));
        }
        Event::Pinned {
            table,
            owner,
            lifetime,
            version,
        } => {
            let pin = Pin {
                table: table.clone(),
                version: version.unwrap_or(state.sequence),
                owner: owner.clone(),
                lifetime: *lifetime,
            };
            state.pins.insert(state.next_pin(), pin);
        }
        Event::Unpinned { pin } => state.end_pin(*pin),
    }
    state.next_index += 1;
}

fn leftover_key(token: Token) -> (Sequence, u32) {
    (token.sequence, token.index)
}
