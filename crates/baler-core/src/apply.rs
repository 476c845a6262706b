//! Events become state. Total and deterministic: what the journal holds was decided, so nothing here may refuse. An
//! event that does not fit its state is a broken invariant, and panics rather than corrupts.

use std::sync::Arc;

use crate::event::{Batch, Event, ReleaseReason};
use crate::file::{File, FilePath, Identity, Level, Origin, Place};
use crate::garbage::{Garbage, Leftover, Original, Stage};
use crate::ids::{JobId, Partition, RangeId, Sequence, TableName, Token, WatcherId};
use crate::job::{CancelReason, Finished, Job, JobStatus, JobSummary, Output, Range, RangeStatus, Why};
use crate::lease::{HostLock, Lease, Watcher};
use crate::limits;
use crate::names::{self, Attempt};
use crate::state::{Pin, State, Table};

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
        Event::TableCreated { table, spec } => {
            state.tables.insert(table.clone(), Table::new(spec.clone()));
        }
        Event::TableAltered { table, spec } => state.table_mut(table).spec = spec.clone(),
        Event::FilesAdded { table, files } => state.add_files(table, files),
        Event::FilesLost { table, paths } => state.lose_files(table, paths),
        Event::ConsumedGone { table, paths } => {
            for path in paths {
                state.forget_consumed(table, path, None);
            }
        }
        Event::FilesQuarantined { table, files } => {
            let table = state.table_mut(table);
            for mark in files {
                table.quarantine.insert(mark.path.clone(), Arc::new(mark.clone()));
            }
        }
        Event::QuarantineLifted { table, paths } => {
            let table = state.table_mut(table);
            for path in paths {
                table.quarantine.remove(path);
                if let Some(file) = table.files.get_mut(path) {
                    Arc::make_mut(file).apart = None;
                }
            }
        }
        Event::JobPlanned {
            job,
            table,
            partition,
            inputs,
            output_level,
            why,
        } => {
            state.plan_job(*job, table, partition, inputs, *output_level, why);
        }
        Event::RangeLeased {
            job,
            range,
            worker,
            watcher,
            embedded,
            host,
        } => {
            let token = state.next_token();
            let lease = Lease {
                token,
                worker: worker.clone(),
                watcher: *watcher,
                embedded: *embedded,
            };
            state.lease_range(*job, *range, lease, host.as_ref());
        }
        Event::RangeReleased { attempt, why } => state.release_range(attempt, why),
        Event::RangeFinished { job, range, finished } => state.finish_range(*job, *range, finished),
        Event::JobCompacted { job } => state.compact_job(*job),
        Event::JobPublished { job, identities, .. } => state.publish_job(*job, identities),
        Event::JobCommitted { job } => state.commit_job(*job),
        Event::JobCancelled { job, why } => state.cancel_job(*job, why),
        Event::WatcherRenewed { watcher } => state.raise_counter(*watcher),
        Event::WatcherTakenOver { watcher, by } => state.pass_leases(|lease| lease.watcher == *watcher, *by),
        Event::LeasesRewatched { attempts, watcher } => {
            state.pass_leases(|lease| attempts.iter().any(|a| a.token == lease.token), *watcher);
        }
        Event::SetAside { asides } => state.advance_garbage(asides, Stage::Waiting),
        Event::NothingToSetAside { asides } => state.drop_garbage(asides),
        Event::DeletionDue { table, paths } => state.declare_due(table, paths),
        Event::Deleted { paths } => state.drop_garbage(paths),
        Event::LeftoverSwept { attempt, empty } => state.sweep_leftover(attempt, *empty),
        Event::LeftoverForgotten { attempt } => {
            state.leftovers.remove(&leftover_key(attempt.token));
        }
        Event::Pinned {
            table,
            owner,
            lifetime,
        } => {
            let pin = Pin {
                table: table.clone(),
                owner: owner.clone(),
                lifetime: *lifetime,
            };
            state.pins.insert(state.next_pin(), pin);
        }
        Event::Unpinned { pin } => {
            state.pins.remove(pin);
        }
    }
    state.next_index += 1;
}

fn leftover_key(token: Token) -> (Sequence, u32) {
    (token.sequence, token.index)
}

// Files.
impl State {
    fn table_mut(&mut self, name: &TableName) -> &mut Table {
        self.tables.get_mut(name).expect("events name tables that exist")
    }

    fn add_files(&mut self, table: &TableName, files: &[Arc<File>]) {
        let added = self.sequence;
        for file in files {
            // A replaced version that was overwritten is not there to be deleted any more.
            self.garbage.remove(&file.path);
        }
        let table = self.table_mut(table);
        for file in files {
            table.forget_path(&file.path);
            table.quarantine.remove(&file.path);
            table.insert_file(Arc::new(File {
                added,
                ..File::clone(file)
            }));
        }
    }

    fn lose_files(&mut self, table: &TableName, paths: &[FilePath]) {
        let at = self.sequence;
        let table = self.table_mut(table);
        for path in paths {
            assert!(
                !table.held.contains_key(path),
                "a held file is let go only after its job ended"
            );
            table.remove_file(path).expect("only live files are lost");
            table.quarantine.remove(path);
            table.remember_removed(path.clone(), at, None);
        }
    }

    /// With an identity, only that version is forgotten: the path may have been consumed again since.
    fn forget_consumed(&mut self, table: &TableName, path: &FilePath, identity: Option<&Identity>) {
        let at = self.sequence;
        let table = self.table_mut(table);
        let Some(consumed) = table.consumed.get(path) else {
            return;
        };
        if identity.is_some_and(|identity| identity != consumed) {
            return;
        }
        let consumed = table.consumed.remove(path);
        if !table.files.contains_key(path) {
            table.remember_removed(path.clone(), at, consumed);
        }
    }
}

// Jobs.
impl State {
    fn job_mut(&mut self, job: JobId) -> &mut Job {
        Arc::make_mut(self.jobs.get_mut(&job).expect("events name open jobs"))
    }

    fn plan_job(
        &mut self,
        id: JobId,
        table_name: &TableName,
        partition: &Partition,
        inputs: &[FilePath],
        output_level: Level,
        why: &Why,
    ) {
        let planned = self.sequence;
        let table = self.table_mut(table_name);
        let inputs = inputs.iter().map(|path| {
            let file = table
                .files
                .get(path)
                .expect("inputs are live when a job is planned")
                .clone();
            let holder = table.held.insert(path.clone(), id);
            assert_eq!(holder, None, "a file is in one job at most");
            file
        });
        let job = Job {
            id,
            table: table_name.clone(),
            partition: partition.clone(),
            inputs: inputs.collect(),
            output_level,
            why: why.clone(),
            merge: table.spec.merge.clone(),
            status: JobStatus::Open,
            ranges: vec![Range::default()],
            publish: Range::default(),
            planned,
            input_faults: 0,
            last_error: None,
        };
        self.jobs.insert(id, Arc::new(job));
        self.next_job = JobId(id.0 + 1);
    }

    fn finish_range(&mut self, job: JobId, id: RangeId, finished: &Finished) {
        let range = self
            .job_mut(job)
            .range_mut(id)
            .expect("events name ranges that exist");
        let lease = range.lease().expect("only a leased range is finished").clone();
        assert_eq!(
            lease.token, finished.token,
            "a range is finished by its lease's owner"
        );
        range.status = RangeStatus::Finished(finished.clone());
        self.count_lease(lease.watcher, -1);
    }

    /// The outputs take the inputs' place. The job holds them until they are published.
    fn compact_job(&mut self, id: JobId) {
        let job = self.job_mut(id);
        job.status = JobStatus::Compacted;
        let job = job.clone();
        self.swap_files(&job);
        let table = self.table_mut(&job.table);
        for output in job.outputs() {
            table.held.insert(output.path.clone(), id);
        }
    }

    /// Only now are the outputs where they can be found: a 404 from before says nothing.
    fn publish_job(&mut self, id: JobId, identities: &[Identity]) {
        let added = self.sequence;
        let publish = &mut self.job_mut(id).publish;
        let lease = publish
            .lease()
            .expect("only a leased publishing is reported")
            .clone();
        publish.status = RangeStatus::Free;
        self.count_lease(lease.watcher, -1);
        let job = self.jobs[&id].clone();
        let table = self.table_mut(&job.table);
        for (output, identity) in job.outputs().zip(identities) {
            let file = table
                .files
                .get(&output.path)
                .expect("outputs are live while they are published");
            let file = File {
                identity: identity.clone(),
                added,
                ..File::clone(file)
            };
            table.insert_file(Arc::new(file));
            table.held.remove(&output.path);
        }
    }

    fn commit_job(&mut self, id: JobId) {
        let job = self.jobs.remove(&id).expect("only an open job is committed");
        if job.status == JobStatus::Open {
            self.swap_files(&job);
        }
        let plain = self.tables[&job.table].spec.catalog.publishes();
        for (index, input) in job.inputs.iter().enumerate() {
            self.discard_input(&job, index, input, plain);
        }
        self.end_job(&job, JobStatus::Committed, None);
    }

    fn swap_files(&mut self, job: &Job) {
        let at = self.sequence;
        let time = self.time;
        let table = self.table_mut(&job.table);
        for input in &job.inputs {
            table
                .remove_file(&input.path)
                .expect("inputs stay live until they are replaced");
            table.held.remove(&input.path);
            table.consumed.insert(input.path.clone(), input.identity.clone());
            table.remember_removed(input.path.clone(), at, None);
        }
        for output in job.outputs() {
            table.insert_file(Arc::new(output_file(job, output, at, time)));
        }
    }

    /// A replaced input in the root goes on its way out. Sources of `--output` are never touched.
    fn discard_input(&mut self, job: &Job, index: usize, input: &File, plain: bool) {
        if input.path.place == Place::Source {
            return;
        }
        let original = Original {
            path: input.path.clone(),
            identity: input.identity.clone(),
        };
        let (name, stage) = match plain {
            true => (names::aside(job.id, index), Stage::ToSetAside),
            false => (input.path.clone(), Stage::Waiting),
        };
        let garbage = Garbage {
            table: job.table.clone(),
            stage,
            since: self.sequence,
            added: input.added,
            replaced: self.sequence,
            original: Some(original),
        };
        self.garbage.insert(name, Arc::new(garbage));
    }

    fn cancel_job(&mut self, id: JobId, why: &CancelReason) {
        let job = self.jobs.remove(&id).expect("only an open job is cancelled");
        match job.status {
            JobStatus::Compacted => self.swap_back(&job),
            _ => {
                let table = self.table_mut(&job.table);
                for input in &job.inputs {
                    table.held.remove(&input.path);
                }
            }
        }
        for (range, lease) in job.leases() {
            self.leave_behind(Attempt {
                job: id,
                range,
                token: lease.token,
            });
            self.count_lease(lease.watcher, -1);
        }
        self.end_job(&job, JobStatus::Cancelled, Some(why.clone()));
    }

    /// The outputs were lost before anybody could see them: the inputs that are still where they were are live again.
    /// One that was seen to be gone or to hold something else since stays away.
    fn swap_back(&mut self, job: &Job) {
        let at = self.sequence;
        let table = self.table_mut(&job.table);
        for output in job.outputs() {
            table.remove_file(&output.path);
            table.held.remove(&output.path);
            table.remember_removed(output.path.clone(), at, None);
        }
        for input in &job.inputs {
            if table.consumed.get(&input.path) != Some(&input.identity) {
                continue;
            }
            table.consumed.remove(&input.path);
            if !table.files.contains_key(&input.path) {
                table.forget_path(&input.path);
                table.insert_file(input.clone());
            }
        }
    }

    fn end_job(&mut self, job: &Job, status: JobStatus, cancelled: Option<CancelReason>) {
        for (range, finished) in job.finished() {
            self.leave_behind(Attempt {
                job: job.id,
                range,
                token: finished.token,
            });
        }
        self.recent
            .push_back(Arc::new(summary(job, status, cancelled, self.sequence)));
        if self.recent.len() > limits::RECENT_JOBS_MAX {
            self.recent.pop_front();
        }
    }
}

/// What stays of a job that ended in this entry.
pub(crate) fn summary(
    job: &Job,
    status: JobStatus,
    cancelled: Option<CancelReason>,
    ended: Sequence,
) -> JobSummary {
    JobSummary {
        id: job.id,
        table: job.table.clone(),
        partition: job.partition.clone(),
        status,
        cancelled,
        files_in: job.inputs.len() as u64,
        files_out: job.outputs().count() as u64,
        rows_in: job.rows(),
        rows_out: job.outputs().map(|output| output.rows).sum(),
        rows_dropped: job
            .finished()
            .flat_map(|(_, f)| &f.drops)
            .map(|drop| drop.rows)
            .sum(),
        bytes_in: job.bytes(),
        bytes_out: job.outputs().map(|output| output.bytes).sum(),
        ended,
        finished_by: job.finished().map(|(_, finished)| finished.token).collect(),
    }
}

fn output_file(job: &Job, output: &Output, added: Sequence, time: crate::time::StoreTime) -> File {
    let apart = match &job.why {
        Why::Bisected { of } if job.inputs.len() == 1 => Some(*of),
        _ => None,
    };
    File {
        path: output.path.clone(),
        identity: Identity {
            tag: output.checksum.to_string().into(),
            bytes: output.bytes,
            modified: time,
        },
        partition: job.partition.clone(),
        level: job.output_level,
        rows: output.rows,
        keys: output.keys.clone(),
        digest: Some(output.digest),
        checksum: Some(output.checksum),
        origin: Origin::Job(job.id),
        added,
        apart,
    }
}

// Leases.
impl State {
    fn lease_range(&mut self, job: JobId, id: RangeId, lease: Lease, host: Option<&HostLock>) {
        let watcher = lease.watcher;
        let range = self
            .job_mut(job)
            .range_mut(id)
            .expect("events name ranges that exist");
        assert_eq!(range.status, RangeStatus::Free, "a range has one lease at most");
        range.status = RangeStatus::Leased(lease);
        range.attempts += 1;
        self.count_lease(watcher, 1);
        self.raise_counter(watcher);
        if let (Some(watcher), Some(host)) = (self.watchers.get_mut(&watcher), host) {
            watcher.host = Some(host.clone());
        }
    }

    fn release_range(&mut self, attempt: &Attempt, why: &ReleaseReason) {
        let job = self.job_mut(attempt.job);
        match why {
            ReleaseReason::InputFault(error) => {
                job.input_faults += 1;
                job.last_error = Some(error.clone());
            }
            ReleaseReason::NodeFault(error) | ReleaseReason::StoreFault(error) => {
                job.last_error = Some(error.clone());
            }
            _ => {}
        }
        let range = job
            .range_mut(attempt.range)
            .expect("events name ranges that exist");
        let lease = range.lease().expect("only a leased range is released").clone();
        assert_eq!(
            lease.token, attempt.token,
            "a lease is released under its own token"
        );
        range.status = RangeStatus::Free;
        self.count_lease(lease.watcher, -1);
        self.leave_behind(*attempt);
    }

    fn pass_leases(&mut self, which: impl Fn(&Lease) -> bool, to: WatcherId) {
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

    /// A watcher without leases is not in the state: with nothing leased it owes nobody a sign of life.
    fn count_lease(&mut self, id: WatcherId, change: i32) {
        let mut watcher = self.watchers.remove(&id).unwrap_or(Watcher {
            counter: self.sequence,
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

    fn raise_counter(&mut self, id: WatcherId) {
        let counter = self.sequence;
        if let Some(watcher) = self.watchers.get_mut(&id) {
            watcher.counter = counter;
        }
    }
}

// Garbage.
impl State {
    fn leave_behind(&mut self, attempt: Attempt) {
        let leftover = Leftover {
            attempt,
            since: self.sequence,
            swept: false,
        };
        self.leftovers.insert(leftover_key(attempt.token), leftover);
    }

    fn advance_garbage(&mut self, paths: &[FilePath], stage: Stage) {
        let since = self.sequence;
        for path in paths {
            let garbage = self.garbage.get_mut(path).expect("events name known garbage");
            let garbage = Arc::make_mut(garbage);
            garbage.stage = stage;
            garbage.since = since;
            let (table, original) = (garbage.table.clone(), garbage.original.clone());
            if let (Stage::Waiting, Some(original)) = (stage, original) {
                self.forget_consumed(&table, &original.path, Some(&original.identity));
            }
        }
    }

    fn declare_due(&mut self, table: &TableName, paths: &[FilePath]) {
        let since = self.sequence;
        for path in paths {
            let known = self.garbage.get(path).map(|garbage| Garbage::clone(garbage));
            let fresh = || Garbage {
                table: table.clone(),
                stage: Stage::Due,
                since,
                added: since,
                replaced: since,
                original: None,
            };
            let garbage = Garbage {
                stage: Stage::Due,
                since,
                ..known.unwrap_or_else(fresh)
            };
            self.garbage.insert(path.clone(), Arc::new(garbage));
        }
    }

    fn drop_garbage(&mut self, paths: &[FilePath]) {
        let at = self.sequence;
        for path in paths {
            let garbage = self.garbage.remove(path).expect("events name known garbage");
            match &garbage.original {
                Some(original) => {
                    self.forget_consumed(&garbage.table, &original.path, Some(&original.identity));
                }
                None if names::is_own_object(path) => {}
                None => self
                    .table_mut(&garbage.table)
                    .remember_removed(path.clone(), at, None),
            }
        }
    }

    fn sweep_leftover(&mut self, attempt: &Attempt, empty: bool) {
        let since = self.sequence;
        let leftover = self
            .leftovers
            .get_mut(&leftover_key(attempt.token))
            .expect("events name known leftovers");
        leftover.since = since;
        leftover.swept = empty;
    }
}
