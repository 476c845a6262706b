//! The only replicated struct. Its maps are persistent, so a clone costs nothing: a replica decides a whole group of
//! requests on a copy and throws it away if somebody else was first.

mod table;

pub use table::{PutOff, Removed, Table};

use std::sync::Arc;

use imbl::{OrdMap, Vector};

use crate::agenda::Tenant;
use crate::file::{FilePath, Place};
use crate::garbage::{Garbage, Leftover};
use crate::ids::{JobId, JournalId, Partition, PinId, Sequence, TableName, Token, WatcherId};
use crate::job::{Job, JobStatus, JobSummary};
use crate::lease::Watcher;
use crate::names::{self, Attempt, OutputName};
use crate::planner::PartitionView;
use crate::receipt::{Committed, OldReceipts, Undoing};
use crate::table::Catalog;
use crate::time::{Millis, StoreTime};

/// Everything that is agreed on.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct State {
    /// The journal's id, once it began.
    pub journal: Option<JournalId>,
    /// The last entry applied, or the one being decided.
    pub sequence: Sequence,
    /// Where in that entry the next event will stand.
    pub next_index: u32,
    /// The greatest time of the store that a batch carried.
    pub time: StoreTime,
    /// For an entry: the time that the entry after it carried. Durations begin there.
    pub marks: OrdMap<Sequence, StoreTime>,
    /// The tables.
    pub tables: OrdMap<TableName, Table>,
    /// Jobs that are not in a final state.
    pub jobs: OrdMap<JobId, Arc<Job>>,
    /// The next job's number.
    pub next_job: JobId,
    /// The last jobs that ended, oldest first.
    pub recent: Vector<Arc<JobSummary>>,
    /// The last of them that were committed, whole.
    pub committed: OrdMap<JobId, Arc<Committed>>,
    /// Those that are being undone.
    pub undoing: OrdMap<JobId, Undoing>,
    /// How far old receipts are gone.
    pub old_receipts: OldReceipts,
    /// Those who answer for leases.
    pub watchers: OrdMap<WatcherId, Watcher>,
    /// Objects on their way out, by the name that will be deleted.
    pub garbage: OrdMap<FilePath, Arc<Garbage>>,
    /// Ended attempts whose folders may still hold objects, by their tokens.
    pub leftovers: OrdMap<(Sequence, u32), Leftover>,
    /// Readers' promises.
    pub pins: OrdMap<PinId, Pin>,
    /// Whose range was granted last: the next tenant is the one behind.
    pub turn: Tenant,
    /// Whether nothing new is planned or granted in any table.
    pub paused: bool,
}

/// A reader's promise to be reading a version.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Pin {
    /// The table it reads.
    pub table: TableName,
    /// The version it reads.
    pub version: Sequence,
    /// Who reads.
    pub owner: Arc<str>,
    /// For how long at most.
    pub lifetime: Millis,
}

impl State {
    /// Begins the entry after the last one, carrying the time of the last one.
    pub fn open_batch(&mut self, parent_time: Option<StoreTime>) {
        let parent = self.sequence;
        self.sequence = parent.next();
        self.next_index = 0;
        if let Some(time) = parent_time {
            self.time = self.time.max(time);
            self.mark(parent);
        }
        self.forget_removed();
        self.forget_pins();
        self.close_old_versions();
        self.forget_dropped();
    }

    /// The token of the event that stands next.
    pub fn next_token(&self) -> Token {
        let sequence = match crate::planted!(TokenReused) {
            true => Sequence(self.sequence.0 / 16),
            false => self.sequence,
        };
        Token {
            sequence,
            index: self.next_index,
        }
    }

    /// The name of a pin, if the event that stands next makes one.
    pub fn next_pin(&self) -> PinId {
        PinId {
            entry: self.sequence,
            index: self.next_index,
        }
    }

    /// When a duration that began in this entry began: never before the entry was written. `None` while no later
    /// entry has carried a time.
    pub fn began(&self, entry: Sequence) -> Option<StoreTime> {
        let from = if crate::planted!(GraceBeginsEarly) {
            Sequence(entry.0 / 2)
        } else {
            entry
        };
        self.marks.range(from..).next().map(|(_, time)| *time)
    }

    /// Whether this long has passed since the entry was written.
    pub fn has_passed(&self, length: Millis, since: Sequence) -> bool {
        self.began(since).is_some_and(|began| began + length <= self.time)
    }

    /// The lowest format level whose versions know all that it says.
    pub fn level(&self) -> u32 {
        let tables = self.tables.values();
        tables
            .map(|table| table.spec.merge.hash.level())
            .max()
            .unwrap_or(1)
    }

    /// Whether nothing new may be planned or granted in a table.
    pub fn is_paused(&self, table: &TableName) -> bool {
        self.paused || self.tables.get(table).is_some_and(|table| table.paused)
    }

    /// Jobs whose commit in an external catalog may be begun now, oldest first.
    pub fn commits_due(&self) -> Vec<JobId> {
        let external = |job: &Job| self.has_external_catalog(&job.table);
        let waiting = |job: &Job| job.status == JobStatus::Compacted && external(job);
        let jobs = || self.jobs.values().filter(|job| waiting(job));
        let busy: Vec<&TableName> = jobs()
            .filter(|job| job.publish.lease().is_some())
            .map(|job| &job.table)
            .collect();
        let due = jobs().filter(|job| {
            let stuck = job.tries.as_ref().is_some_and(|tries| tries.stuck.is_some());
            let rests = crate::scheduler::is_backed_off(self, &job.publish);
            !stuck && !rests && !busy.contains(&&job.table) && !self.is_paused(&job.table)
        });
        due.map(|job| job.id).collect()
    }

    pub(crate) fn has_external_catalog(&self, table: &TableName) -> bool {
        let table = self.tables.get(table);
        table.is_some_and(|table| table.spec.catalog == Catalog::External)
    }

    /// Whether a job's inputs are live until it ends: they are replaced when it is compacted, or when it is committed.
    pub(crate) fn holds_inputs(&self, job: &Job) -> bool {
        job.status == JobStatus::Open || self.has_external_catalog(&job.table)
    }

    /// Committed jobs whose receipts are not known to be written, oldest first.
    pub fn receipts_due(&self) -> impl Iterator<Item = &Arc<Committed>> {
        self.committed.values().filter(|committed| !committed.receipted)
    }

    /// Whose job this is.
    pub fn tenant_of(&self, job: &Job) -> Tenant {
        let table = self.tables.get(&job.table);
        table.and_then(|table| table.spec.tenant_of(&job.partition))
    }

    /// Whether a file is still put off.
    pub fn is_put_off(&self, put_off: &PutOff) -> bool {
        put_off
            .lasts
            .is_none_or(|lasts| !self.has_passed(lasts, put_off.since))
    }

    /// A partition as a policy sees it.
    pub fn view<'a>(&'a self, table: &'a Table, partition: &Partition) -> PartitionView<'a> {
        table.view_with(partition, self.time, |put_off| self.is_put_off(put_off))
    }

    /// A job's lease on a range, if it is held under exactly this token.
    pub fn lease_held(&self, attempt: &Attempt) -> Option<&Arc<Job>> {
        let job = self.jobs.get(&attempt.job)?;
        let lease = job.range(attempt.range)?.lease()?;
        let greater = || attempt.token.sequence >= lease.token.sequence;
        let held = lease.token == attempt.token || (crate::planted!(TokenAtLeast) && greater());
        held.then_some(job)
    }

    /// Whether Baler named it: an output of an attempt of this journal, or an object of Baler's own folder. What an
    /// output holds is in the table already, or an ended attempt's late write: in no case new rows. It may be deleted by
    /// name alone; anything else only in the version that was consumed.
    pub fn is_own(&self, path: &FilePath) -> bool {
        let journal = OutputName::parse(path.name()).map(|name| name.journal);
        let output = path.place == Place::Root && journal.is_some() && journal == self.journal;
        output || names::is_own_object(path)
    }

    /// The folders below the root in which an ended attempt may have left something.
    pub fn leftover_folders(&self, leftover: &Leftover) -> Vec<String> {
        let table = self.tables.get(&leftover.table);
        let native = table.is_none_or(|table| !table.spec.catalog.publishes());
        let outputs = native.then(|| leftover.attempt.native_folder(&leftover.table));
        [leftover.attempt.staging_folder()]
            .into_iter()
            .chain(outputs)
            .collect()
    }

    /// Dropping a mark only makes durations begin later, so their number can be bounded.
    fn mark(&mut self, entry: Sequence) {
        self.marks.insert(entry, self.time);
        if self.marks.len() > crate::limits::TIME_MARKS_MAX {
            self.marks = self
                .marks
                .iter()
                .skip(1)
                .step_by(2)
                .map(|(k, v)| (*k, *v))
                .collect();
            self.marks.insert(entry, self.time);
        }
    }

    fn forget_pins(&mut self) {
        let over = |(pin, promise): &(&PinId, &Pin)| self.has_passed(promise.lifetime, pin.entry);
        let over: Vec<PinId> = self.pins.iter().filter(over).map(|(pin, _)| *pin).collect();
        for pin in over {
            self.end_pin(pin);
        }
    }

    pub(crate) fn end_pin(&mut self, pin: PinId) {
        if let Some(pin) = self.pins.remove(&pin) {
            self.forget_unpinned(&pin.table);
        }
    }

    /// A dropped table is forgotten, and its name free again, when nothing of it is left.
    fn forget_dropped(&mut self) {
        let dropped = self.tables.iter().filter(|(_, table)| table.is_dropped());
        let gone = |(name, table): &(&TableName, &Table)| table.is_empty() && !self.is_left_of(name);
        let gone: Vec<TableName> = dropped.filter(gone).map(|(name, _)| name.clone()).collect();
        for name in gone {
            self.tables.remove(&name);
        }
    }

    fn is_left_of(&self, name: &TableName) -> bool {
        self.garbage.values().any(|garbage| garbage.table == *name)
            || self.leftovers.values().any(|leftover| leftover.table == *name)
            || self.pins.values().any(|pin| pin.table == *name)
            || self.jobs.values().any(|job| job.table == *name)
            || self.tables[name].has_receipts
    }

    fn forget_removed(&mut self) {
        let names: Vec<TableName> = self.tables.keys().cloned().collect();
        for name in names {
            loop {
                let table = &self.tables[&name];
                let Some((entry, _)) = table.removed_order.get_min() else {
                    break;
                };
                let entry = *entry;
                if !self.has_passed(table.spec.grace, entry) {
                    break;
                }
                let table = self.tables.get_mut(&name).expect("the name is one of its keys");
                table.forget_entry(entry);
            }
        }
    }
}
