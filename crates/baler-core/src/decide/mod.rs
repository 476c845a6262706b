//! Requests become events. Nothing is changed here: the caller appends the events, and applies them if the journal
//! took them. A refusal is a reply without events, but for one: a result that is not proved ends its attempt.

mod collection;
mod committing;
mod completion;
mod cutting;
mod drops;
mod files;
mod foreseen;
mod pausing;
mod planning;
mod proof;
mod proposing;
mod queue;
mod receipts;
mod retention;
mod tables;
mod turns;
mod undo;
mod versions;
mod watching;

#[cfg(test)]
mod tests;

pub use foreseen::foreseen_job;

use crate::apply::apply_event;
use crate::event::Event;
use crate::request::{Refusal, Reply, Request};
use crate::state::State;

/// What to append, and what to say once it is appended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Decision {
    /// What was decided; nothing needs to be written if there is nothing here.
    pub events: Vec<Event>,
    /// The answer.
    pub reply: Reply,
}

/// Decides a request on a state whose entry is open (`State::open_batch`).
pub fn decide(state: &State, request: &Request) -> Decision {
    let mut draft = Draft {
        state: state.clone(),
        events: Vec::new(),
    };
    let reply = draft.answer(request).unwrap_or_else(Reply::Refused);
    Decision {
        events: draft.events,
        reply,
    }
}

/// The state as it will be, and the events that lead there. Each step sees what the steps before it decided.
struct Draft {
    state: State,
    events: Vec<Event>,
}

type Answer = Result<Reply, Refusal>;

impl Draft {
    fn answer(&mut self, request: &Request) -> Answer {
        match request {
            Request::CreateJournal(journal) => self.create_journal(*journal),
            Request::Tick => self.done(Event::Ticked),

            Request::CreateTable { table, spec } => self.create_table(table, spec),
            Request::AlterTable { table, spec } => self.alter_table(table, spec),
            Request::DropTable(table) => self.drop_table(table),
            Request::ApplyRetention(table) => self.apply_retention(table),
            Request::AddFiles {
                table,
                evidence,
                files,
            } => self.add_files(table, *evidence, files),
            Request::LoseFiles {
                table,
                evidence,
                paths,
            } => self.lose_files(table, *evidence, paths),
            Request::QuarantineFiles {
                table,
                evidence,
                files,
            } => self.quarantine_files(table, *evidence, files),
            Request::Retry { table, paths } => self.retry(table, paths),

            Request::Pause { table } => self.pause(table.as_ref()),
            Request::Resume { table } => self.resume(table.as_ref()),

            Request::Propose(proposal) => self.propose(proposal),
            Request::Poll(poll) => self.poll(poll),
            Request::CutJob { attempt, edges } => self.cut_job(attempt, edges),
            Request::Finish(finish) => self.finish(finish),
            Request::Publish {
                job,
                token,
                identities,
            } => self.publish(*job, *token, identities),
            Request::BeginCommit(begin) => self.begin_commit(begin),
            Request::ReportCommit { job, token, outcome } => self.report_commit(*job, *token, outcome),
            Request::SettleCommit { job, landed } => self.settle_commit(*job, *landed),
            Request::Release {
                attempt,
                why,
                culprits,
            } => self.release(attempt, why, culprits),
            Request::Cancel(job) => self.cancel(*job),

            Request::Undo(undo) => self.undo(undo),
            Request::ReportReturned(returned) => self.report_returned(returned),
            Request::ReportReceipts(written) => self.report_receipts(written),
            Request::ReportReceiptsDeleted { before } => self.report_receipts_deleted(*before),
            Request::ReportTableReceiptsDeleted(table) => self.report_table_receipts_deleted(table),

            Request::Renew(watcher) => self.renew(*watcher),
            Request::TakeOver { watcher, counter, by } => self.take_over(*watcher, *counter, *by),
            Request::Expire { watcher, attempts } => self.expire(*watcher, attempts),
            Request::Rewatch { watcher, attempts } => self.rewatch(*watcher, attempts),

            Request::ReportAside { moved, nothing } => self.report_aside(moved, nothing),
            Request::DeclareDue { grace } => self.declare_due(*grace),
            Request::ReportDeleted { listed, paths } => self.report_deleted(*listed, paths),
            Request::ReportSweep {
                attempt,
                found,
                grace,
            } => self.report_sweep(attempt, found, *grace),
            Request::ReportLateWrites {
                table,
                evidence,
                paths,
            } => self.report_late_writes(table, *evidence, paths),
            Request::Pin {
                table,
                owner,
                lifetime,
                version,
            } => self.pin(table, owner, *lifetime, *version),
            Request::Unpin(pin) => self.unpin(*pin),
        }
    }

    fn emit(&mut self, event: Event) {
        apply_event(&mut self.state, &event);
        self.events.push(event);
    }

    fn done(&mut self, event: Event) -> Answer {
        self.emit(event);
        Ok(Reply::Done)
    }
}
