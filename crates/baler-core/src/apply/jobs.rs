//! Jobs are planned, finished, published, committed, cancelled. A job that ends leaves the table of jobs for good.

use crate::file::{File, FilePath, Identity, Level, Origin, Place};
use crate::garbage::Stage;
use crate::ids::{JobId, Partition, RangeId, Sequence, TableName};
use crate::job::{CancelReason, Finished, Job, JobStatus, JobSummary, Output, Range, RangeStatus, Why};
use crate::limits;
use crate::names::{self, Attempt};
use crate::range::{Edge, Span};
use crate::receipt::Tried;
use crate::state::State;
use crate::table::Replaced;
use crate::time::TimeRange;
use std::sync::Arc;

impl State {
    pub(super) fn job_mut(&mut self, job: JobId) -> &mut Job {
        Arc::make_mut(self.jobs.get_mut(&job).expect("events name open jobs"))
    }

    pub(super) fn plan_job(
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
            table.put_off.remove(path);
            table.touch(path);
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
            drops: None,
            status: JobStatus::Open,
            ranges: vec![Range::default()],
            publish: Range::default(),
            tries: None,
            planned,
            receipt: false,
            input_faults: 0,
            last_error: None,
        };
        self.jobs.insert(id, Arc::new(job));
        self.next_job = JobId(id.0 + 1);
    }

    /// The lease stays with the first range; what is known of the whole holds for every part.
    pub(super) fn cut_job(&mut self, id: JobId, edges: &[Edge]) {
        let ranges = &mut self.job_mut(id).ranges;
        assert_eq!(ranges.len(), 1, "a job is cut once");
        let alone = ranges[0].alone;
        let spans = Span::cut(edges);
        ranges[0].span = spans[0].clone();
        ranges.extend(spans.into_iter().skip(1).map(|span| Range {
            span,
            alone,
            ..Range::default()
        }));
    }

    pub(super) fn finish_range(&mut self, id: JobId, range: RangeId, finished: &Finished) {
        let job = self.job_mut(id);
        let receipt = job.receipt;
        let at = job.range_mut(range).expect("events name ranges that exist");
        let lease = at.lease().expect("only a leased range is finished").clone();
        assert_eq!(
            lease.token, finished.token,
            "a range is finished by its lease's owner"
        );
        at.status = RangeStatus::Finished(finished.clone());
        if receipt {
            at.remember(Tried::of(&lease, None));
        }
        self.count_lease(lease.watcher, -1);
        if crate::planted!(FinishedIsLeftover) {
            let (table, token) = (self.jobs[&id].table.clone(), finished.token);
            self.leave_behind(
                &table,
                Attempt {
                    job: id,
                    range,
                    token,
                },
            );
        }
    }

    /// In a plain table the outputs take the inputs' place, and the job holds them until they are published.
    pub(super) fn compact_job(&mut self, id: JobId) {
        let job = self.job_mut(id);
        job.status = JobStatus::Compacted;
        let job = job.clone();
        if self.has_external_catalog(&job.table) {
            return;
        }
        self.swap_files(&job);
        let table = self.table_mut(&job.table);
        for output in job.outputs() {
            table.held.insert(output.path.clone(), id);
        }
        if crate::planted!(InputsGoBeforePublished) {
            let replaced = self.tables[&job.table].spec.replaced.clone();
            for (index, input) in job.inputs.iter().enumerate() {
                self.discard_plain(&job, index, input, &replaced);
            }
        }
    }

    /// Only now are the outputs where they can be found: a 404 from before says nothing.
    pub(super) fn publish_job(&mut self, id: JobId, identities: &[Identity]) {
        let added = self.sequence;
        let job = self.job_mut(id);
        let receipt = job.receipt;
        let publish = &mut job.publish;
        let lease = publish
            .lease()
            .expect("only a leased publishing is reported")
            .clone();
        publish.status = RangeStatus::Free;
        if receipt {
            publish.remember(Tried::of(&lease, None));
        }
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

    pub(super) fn commit_job(&mut self, id: JobId) {
        let job = self.jobs.remove(&id).expect("only an open job is committed");
        if self.holds_inputs(&job) {
            self.swap_files(&job);
        }
        for (_, lease) in job.leases() {
            self.count_lease(lease.watcher, -1);
        }
        let spec = self.tables[&job.table].spec.clone();
        for (index, input) in job.inputs.iter().enumerate() {
            match spec.catalog.publishes() {
                true => self.discard_plain(&job, index, input, &spec.replaced),
                false => self.discard(&job.table, input, input.path.clone(), Stage::Waiting),
            }
        }
        self.end_job(&job, JobStatus::Committed, None, None);
        if job.receipt {
            self.remember_committed(&job);
        }
    }

    pub(super) fn swap_files(&mut self, job: &Job) {
        let at = self.sequence;
        let time = self.time;
        let table = self.table_mut(&job.table);
        // Times that an attempt read from the column of then are not those of the column of now.
        let timed = table.spec.merge.row_time == job.merge.row_time;
        for input in &job.inputs {
            let file = table
                .remove_file(&input.path)
                .expect("inputs stay live until they are replaced");
            table.retire(file, at);
            table.held.remove(&input.path);
            table.consumed.insert(input.path.clone(), input.identity.clone());
            table.remember_removed(input.path.clone(), at, None);
        }
        for output in job.outputs() {
            let mut file = output_file(job, output, at, time);
            file.times = file.times.filter(|_| timed);
            table.insert_file(Arc::new(file));
        }
    }

    /// A replaced input in the root goes on its way out. Sources of `--output` are never touched.
    fn discard_plain(&mut self, job: &Job, index: usize, input: &File, replaced: &Replaced) {
        let own = matches!(input.origin, Origin::Job(_));
        if input.path.place == Place::Source || (*replaced == Replaced::Remember && !own) {
            return;
        }
        let (name, stage) = match replaced {
            Replaced::SetAside => (names::aside(job.id, index), Stage::ToSetAside),
            Replaced::Delete | Replaced::Keep { .. } | Replaced::Remember => {
                (input.path.clone(), Stage::Ripe)
            }
        };
        self.discard(&job.table, input, name, stage);
    }

    pub(super) fn cancel_job(&mut self, id: JobId, why: &CancelReason) {
        let job = self.give_up(id);
        self.end_job(&job, JobStatus::Cancelled, Some(why.clone()), None);
    }

    pub(super) fn fail_job(&mut self, id: JobId, reason: &Arc<str>) {
        let job = self.give_up(id);
        self.end_job(&job, JobStatus::Failed, None, Some(reason.clone()));
    }

    /// The job's inputs stand as before it, and whoever works on it has lost it.
    fn give_up(&mut self, id: JobId) -> Arc<Job> {
        let job = self.jobs.remove(&id).expect("only an open job is given up");
        match self.holds_inputs(&job) {
            false => self.swap_back(&job),
            true => {
                let table = self.table_mut(&job.table);
                for input in &job.inputs {
                    table.held.remove(&input.path);
                    table.touch(&input.path);
                }
            }
        }
        for (range, lease) in job.leases() {
            let attempt = Attempt {
                job: id,
                range,
                token: lease.token,
            };
            self.leave_behind(&job.table, attempt);
            self.count_lease(lease.watcher, -1);
        }
        job
    }

    /// The outputs were lost before anybody could see them: the inputs that are still where they were are live again.
    /// One that was seen to be gone or to hold something else since stays away.
    pub(super) fn swap_back(&mut self, job: &Job) {
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

    fn end_job(
        &mut self,
        job: &Job,
        status: JobStatus,
        cancelled: Option<CancelReason>,
        failed: Option<Arc<str>>,
    ) {
        for (range, finished) in job.finished() {
            let attempt = Attempt {
                job: job.id,
                range,
                token: finished.token,
            };
            self.leave_behind(&job.table, attempt);
        }
        let summary = JobSummary {
            failed,
            ..summary(job, status, cancelled, self.sequence)
        };
        self.recent.push_back(Arc::new(summary));
        if crate::planted!(FinalStateOverwritten) {
            self.jobs.insert(job.id, Arc::new(job.clone()));
        }
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
        failed: None,
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
        undone: None,
        attempts: if job.receipt { job.attempts() } else { 0 },
        effort: job.effort(),
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
        times: output.times.or_else(|| times_of(&job.inputs)),
        digest: (output.copied == 0).then_some(output.digest),
        checksum: Some(output.checksum),
        origin: Origin::Job(job.id),
        added,
        apart,
    }
}

/// Bounds of the times in all these files, where all of them are known: loose bounds of what is made of them.
fn times_of(files: &[Arc<File>]) -> Option<TimeRange> {
    let mut times = files.iter().map(|file| file.times);
    let first = times.next()??;
    times.try_fold(first, |bounds, times| Some(bounds.with(times?)))
}
