//! A table's share of the state: its files by name and by partition, what is held, consumed, remembered, marked as bad.

use std::sync::Arc;

use imbl::{OrdMap, OrdSet, Vector};
use serde::{Deserialize, Serialize};

use crate::agenda::Agenda;
use crate::event::Quarantined;
use crate::file::{File, FilePath, Identity};
use crate::ids::{JobId, Partition, Sequence};
use crate::planner::PartitionView;
use crate::table::TableSpec;
use crate::time::{Millis, StoreTime};

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
    /// Whether there may be receipts of its jobs.
    pub has_receipts: bool,
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
            has_receipts: false,
        }
    }

    /// Whether it was dropped and is on its way out.
    pub fn is_dropped(&self) -> bool {
        self.dropped.is_some()
    }

    /// Whether it holds nothing and remembers nothing.
    pub(super) fn is_empty(&self) -> bool {
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
        let known = self.consumed.get(path) == Some(identity) || gone == Some(identity);
        known && !crate::planted!(ForgetsConsumed)
    }

    /// Whether the path came or went after this entry, so that what was seen before says nothing about it.
    pub fn is_touched_since(&self, evidence: Sequence, path: &FilePath) -> bool {
        let touched = self
            .removed
            .get(path)
            .is_some_and(|removed| removed.at > evidence)
            || self.files.get(path).is_some_and(|file| file.added > evidence);
        touched && !crate::planted!(StaleEvidence)
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

    pub(super) fn forget_entry(&mut self, entry: Sequence) {
        for path in self.removed_order.remove(&entry).into_iter().flatten() {
            self.removed.remove(&path);
        }
        self.remembered_from = entry.next();
    }
}
