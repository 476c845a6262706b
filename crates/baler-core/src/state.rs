//! The only replicated struct. Its maps are persistent, so a clone costs nothing: a replica decides a whole group of
//! requests on a copy and throws it away if somebody else was first.

use std::sync::Arc;

use imbl::{OrdMap, OrdSet, Vector};
use serde::{Deserialize, Serialize};

use crate::agenda::{Agenda, Tenant};
use crate::event::Quarantined;
use crate::file::{File, FilePath, Identity, Place};
use crate::garbage::{Garbage, Leftover};
use crate::ids::{JobId, JournalId, Partition, PinId, Sequence, TableName, Token, WatcherId};
use crate::job::{Job, JobSummary};
use crate::lease::Watcher;
use crate::names::{self, Attempt, OutputName};
use crate::planner::PartitionView;
use crate::table::TableSpec;
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

/// A table's share of the state.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Table {
    /// What it is.
    pub spec: Arc<TableSpec>,
    /// Its live files.
    pub files: OrdMap<FilePath, Arc<File>>,
    /// The same, by partition.
    pub partitions: OrdMap<Partition, OrdSet<FilePath>>,
    /// Live files that an open job holds.
    pub held: OrdMap<FilePath, JobId>,
    /// Files whose rows are in outputs, or were dropped by retention, and that may still be where they were.
    pub consumed: OrdMap<FilePath, Identity>,
    /// Paths that left the table lately, so that a listing begun before does not bring them back.
    pub removed: OrdMap<FilePath, Removed>,
    /// The same, oldest first.
    pub removed_order: OrdMap<Sequence, Vector<FilePath>>,
    /// Evidence begun before this entry is refused.
    pub remembered_from: Sequence,
    /// Files that are not merged any more.
    pub quarantine: OrdMap<FilePath, Arc<Quarantined>>,
    /// Files that left a native table, by the entry in which they left: what older versions show; see `versions`.
    pub history: OrdMap<Sequence, OrdMap<FilePath, Arc<File>>>,
    /// Older versions than this can be read only if they are pinned. Plain tables have none, and say 0.
    pub readable_from: Sequence,
    /// The entry that dropped the table. It stays until nothing of it is left on the store.
    pub dropped: Option<Sequence>,
    /// Files that are not planned again yet.
    pub put_off: OrdMap<FilePath, PutOff>,
    /// Which partitions the planner has to look at.
    pub agenda: Agenda,
    /// Whether nothing new is planned or granted here.
    pub paused: bool,
}

/// A live file that the planner leaves alone, because a job that held it was ended on purpose.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct PutOff {
    /// The job.
    pub job: JobId,
    /// The entry that ended it.
    pub since: Sequence,
    /// For how long; `None` until somebody asks for it to be tried again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lasts: Option<Millis>,
    /// Why, in words.
    pub reason: Arc<str>,
}

/// A path that left the table.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Removed {
    /// The entry in which it left.
    pub at: Sequence,
    /// The version whose rows are in outputs, if it left because it was gone after it was consumed. Should it come
    /// back as it was, it is no new file.
    pub consumed: Option<Identity>,
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
        Token {
            sequence: self.sequence,
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
        self.marks.range(entry..).next().map(|(_, time)| *time)
    }

    /// Whether this long has passed since the entry was written.
    pub fn has_passed(&self, length: Millis, since: Sequence) -> bool {
        self.began(since).is_some_and(|began| began + length <= self.time)
    }

    /// Whether nothing new may be planned or granted in a table.
    pub fn is_paused(&self, table: &TableName) -> bool {
        self.paused || self.tables.get(table).is_some_and(|table| table.paused)
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
        (lease.token == attempt.token).then_some(job)
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

impl Table {
    /// An empty table that began in this entry.
    pub fn new(spec: Arc<TableSpec>, began: Sequence) -> Self {
        let readable_from = match spec.catalog.publishes() {
            true => Sequence(0),
            false => began,
        };
        Self {
            spec,
            files: OrdMap::new(),
            partitions: OrdMap::new(),
            held: OrdMap::new(),
            consumed: OrdMap::new(),
            removed: OrdMap::new(),
            removed_order: OrdMap::new(),
            remembered_from: Sequence(0),
            quarantine: OrdMap::new(),
            history: OrdMap::new(),
            readable_from,
            dropped: None,
            put_off: OrdMap::new(),
            agenda: Agenda::default(),
            paused: false,
        }
    }

    /// Whether it was dropped and is on its way out.
    pub fn is_dropped(&self) -> bool {
        self.dropped.is_some()
    }

    /// Whether it holds nothing and remembers nothing.
    fn is_empty(&self) -> bool {
        self.is_untouched() && self.history.is_empty()
    }

    /// The live files of a partition.
    pub fn partition_files(&self, partition: &Partition) -> impl Iterator<Item = &Arc<File>> {
        self.partitions
            .get(partition)
            .into_iter()
            .flatten()
            .filter_map(|path| self.files.get(path))
    }

    /// A partition as a policy sees it, with everything that is put off left out.
    pub fn view(&self, partition: &Partition, now: StoreTime) -> PartitionView<'_> {
        self.view_with(partition, now, |_| true)
    }

    pub(crate) fn view_with(
        &self,
        partition: &Partition,
        now: StoreTime,
        is_put_off: impl Fn(&PutOff) -> bool,
    ) -> PartitionView<'_> {
        let (busy, files) = self
            .files_seen_in(partition, now)
            .into_iter()
            .filter(|file| !self.is_quarantined(&file.path, &file.identity))
            .filter(|file| !self.put_off.get(&file.path).is_some_and(&is_put_off))
            .partition(|file| self.held.contains_key(&file.path));
        PartitionView {
            files,
            busy,
            merge: &self.spec.merge,
            now,
        }
    }

    /// Each file is seen in one partition: in its own, or once it may leave its shard, in what its shards have in common.
    fn files_seen_in(&self, partition: &Partition, now: StoreTime) -> Vec<&File> {
        let is_shard = self.spec.family_of(partition).is_some();
        let own = self.partition_files(partition);
        let own = own.filter(|file| !is_shard || !self.spec.leaves_shard(file, now));
        let shards = self.agenda.shards_of(partition);
        let of_shards = shards.flat_map(|shard| self.partition_files(shard));
        own.chain(of_shards.filter(|file| self.spec.leaves_shard(file, now)))
            .map(AsRef::as_ref)
            .collect()
    }

    /// The partitions whose files may come to share a job with those of this one: itself, or its whole family.
    pub(crate) fn kin_of(&self, partition: &Partition) -> Vec<&Partition> {
        let family = self
            .spec
            .family_of(partition)
            .unwrap_or_else(|| partition.clone());
        let common = self.partitions.get_key_value(&family).map(|(common, _)| common);
        common.into_iter().chain(self.agenda.shards_of(&family)).collect()
    }

    /// When, by time alone, a file will be seen in another partition than now, if it is this one or of its family.
    pub(crate) fn next_leaving(&self, partition: &Partition, now: StoreTime) -> Option<StoreTime> {
        self.spec.cross_shard_from?;
        let is_shard = self.spec.family_of(partition).is_some();
        let own = is_shard.then_some(partition).into_iter();
        let shards = own.chain(self.agenda.shards_of(partition));
        shards
            .flat_map(|shard| self.partition_files(shard))
            .map(|file| file.identity.modified + self.spec.policy.age())
            .filter(|leaves| *leaves > now)
            .min()
    }

    /// Something changed about a live file, other than that it came or went.
    pub(crate) fn touch(&mut self, path: &FilePath) {
        if let Some(file) = self.files.get(path) {
            self.agenda.unsettle(&self.spec, &file.partition);
        }
    }

    /// The planner has to look at everything again.
    pub fn unsettle_all(&mut self) {
        self.agenda = Agenda::of(&self.spec, self.partitions.keys());
    }

    /// Whether it has never held a file, so that nothing depends on its sort key yet.
    pub fn is_untouched(&self) -> bool {
        self.files.is_empty()
            && self.consumed.is_empty()
            && self.removed.is_empty()
            && self.quarantine.is_empty()
    }

    /// Whether this version of a file is marked as bad.
    pub fn is_quarantined(&self, path: &FilePath, identity: &Identity) -> bool {
        self.quarantine
            .get(path)
            .is_some_and(|mark| mark.identity == *identity)
    }

    pub(crate) fn insert_file(&mut self, file: Arc<File>) {
        let partition = self.partitions.entry(file.partition.clone()).or_default();
        partition.insert(file.path.clone());
        self.agenda.enter(&self.spec, &file.partition);
        self.files.insert(file.path.clone(), file);
    }

    pub(crate) fn remove_file(&mut self, path: &FilePath) -> Option<Arc<File>> {
        let file = self.files.remove(path)?;
        self.put_off.remove(path);
        self.agenda.unsettle(&self.spec, &file.partition);
        if let Some(paths) = self.partitions.get_mut(&file.partition) {
            paths.remove(path);
            if paths.is_empty() {
                self.partitions.remove(&file.partition);
                let has_files = |partition: &Partition| self.partitions.contains_key(partition);
                self.agenda.leave(&self.spec, &file.partition, has_files);
            }
        }
        Some(file)
    }

    /// Whether the rows of this version are in outputs already, as far as is remembered.
    pub fn is_consumed(&self, path: &FilePath, identity: &Identity) -> bool {
        let gone = self
            .removed
            .get(path)
            .and_then(|removed| removed.consumed.as_ref());
        self.consumed.get(path) == Some(identity) || gone == Some(identity)
    }

    /// Whether the path came or went after this entry, so that what was seen before says nothing about it.
    pub fn is_touched_since(&self, evidence: Sequence, path: &FilePath) -> bool {
        self.removed
            .get(path)
            .is_some_and(|removed| removed.at > evidence)
            || self.files.get(path).is_some_and(|file| file.added > evidence)
    }

    pub(crate) fn remember_removed(&mut self, path: FilePath, at: Sequence, consumed: Option<Identity>) {
        self.forget_path(&path);
        self.removed_order.entry(at).or_default().push_back(path.clone());
        self.removed.insert(path, Removed { at, consumed });
    }

    pub(crate) fn forget_path(&mut self, path: &FilePath) {
        let Some(Removed { at, .. }) = self.removed.remove(path) else {
            return;
        };
        if let Some(paths) = self.removed_order.get_mut(&at) {
            paths.retain(|other| other != path);
            if paths.is_empty() {
                self.removed_order.remove(&at);
            }
        }
    }

    fn forget_entry(&mut self, entry: Sequence) {
        for path in self.removed_order.remove(&entry).into_iter().flatten() {
            self.removed.remove(&path);
        }
        self.remembered_from = entry.next();
    }
}
