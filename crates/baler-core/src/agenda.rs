//! Which partitions the planner has to look at. A partition is settled once nothing was found to do there; any change
//! unsettles it, and so does the time at which its rest ends by itself. So planning costs what has changed, not what
//! there is.
//!
//! Where files leave their shard, the shards of a family and what they have in common are looked at apart, and a
//! change in a shard unsettles both.

use std::sync::Arc;

use imbl::{OrdMap, OrdSet};

use crate::ids::Partition;
use crate::table::TableSpec;
use crate::time::StoreTime;

/// Whose files they are; `None` where the table does not say.
pub type Tenant = Option<Arc<str>>;

/// The partitions of a table, by whether they have to be looked at.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Agenda {
    unsettled: OrdMap<Tenant, OrdSet<Partition>>,
    /// With the time at which the rest ends by itself.
    settled: OrdMap<Partition, Option<StoreTime>>,
    /// The same, the earliest first.
    due: OrdSet<(StoreTime, Partition)>,
    /// The shards of each family that hold files.
    shards: OrdMap<Partition, OrdSet<Partition>>,
    /// Which planner found the settled ones at rest. Another may find something to do.
    planner: u32,
}

impl Agenda {
    /// All of these, unsettled.
    pub(crate) fn of<'p>(spec: &TableSpec, partitions: impl Iterator<Item = &'p Partition>) -> Self {
        let mut agenda = Self::default();
        partitions.for_each(|partition| agenda.enter(spec, partition));
        agenda
    }

    /// A file came into a partition.
    pub(crate) fn enter(&mut self, spec: &TableSpec, partition: &Partition) {
        if let Some(family) = spec.family_of(partition) {
            let known = self.shards.get(&family);
            if !known.is_some_and(|shards| shards.contains(partition)) {
                self.shards.entry(family).or_default().insert(partition.clone());
            }
        }
        self.unsettle(spec, partition);
    }

    /// The last file left a partition.
    pub(crate) fn leave(
        &mut self,
        spec: &TableSpec,
        partition: &Partition,
        has_files: impl Fn(&Partition) -> bool,
    ) {
        self.unsettle(spec, partition);
        if let Some(family) = spec.family_of(partition) {
            let shards = self.shards.entry(family.clone()).or_default();
            shards.remove(partition);
            if shards.is_empty() {
                self.shards.remove(&family);
            }
            if !has_files(&family) && !self.shards.contains_key(&family) {
                self.forget(spec, &family);
            }
        }
        if !self.shards.contains_key(partition) {
            self.forget(spec, partition);
        }
    }

    /// Something about the files of a partition changed.
    pub(crate) fn unsettle(&mut self, spec: &TableSpec, partition: &Partition) {
        if let Some(family) = spec.family_of(partition) {
            self.unsettle_one(spec, &family);
        }
        self.unsettle_one(spec, partition);
    }

    fn unsettle_one(&mut self, spec: &TableSpec, partition: &Partition) {
        if let Some(Some(until)) = self.settled.remove(partition) {
            self.due.remove(&(until, partition.clone()));
        }
        let unsettled = self.unsettled.entry(spec.tenant_of(partition)).or_default();
        if !unsettled.contains(partition) {
            unsettled.insert(partition.clone());
        }
    }

    fn forget(&mut self, spec: &TableSpec, partition: &Partition) {
        let tenant = spec.tenant_of(partition);
        if let Some(unsettled) = self.unsettled.get_mut(&tenant) {
            unsettled.remove(partition);
            if unsettled.is_empty() {
                self.unsettled.remove(&tenant);
            }
        }
    }

    /// Nothing was found to do there, and nothing will be before that time. Of another planner's findings only the
    /// newer count.
    pub fn settle(&mut self, spec: &TableSpec, partition: &Partition, until: Option<StoreTime>) {
        let tenant = spec.tenant_of(partition);
        let is_known = self.settled.contains_key(partition)
            || self
                .unsettled
                .get(&tenant)
                .is_some_and(|unsettled| unsettled.contains(partition));
        if !is_known {
            return;
        }
        self.unsettle_one(spec, partition);
        self.forget(spec, partition);
        self.settled.insert(partition.clone(), until);
        if let Some(until) = until {
            self.due.insert((until, partition.clone()));
        }
    }

    /// Which planner found the settled partitions at rest.
    pub fn planner(&self) -> u32 {
        self.planner
    }

    /// From now on these are the findings of another planner.
    pub fn set_planner(&mut self, planner: u32) {
        self.planner = planner;
    }

    /// The settled partitions, each with the end of its rest.
    pub fn settled(&self) -> impl Iterator<Item = (&Partition, Option<StoreTime>)> {
        self.settled.iter().map(|(partition, until)| (partition, *until))
    }

    /// Everything that can be looked at: the partitions with files, and what shards have in common.
    pub fn all(&self) -> impl Iterator<Item = &Partition> {
        self.settled.keys().chain(self.unsettled.values().flatten())
    }

    /// The shards of a family.
    pub fn shards_of(&self, family: &Partition) -> impl Iterator<Item = &Partition> {
        self.shards.get(family).into_iter().flatten()
    }

    /// What has to be looked at now, for one tenant.
    pub(crate) fn open<'a>(
        &'a self,
        spec: &'a TableSpec,
        tenant: &'a Tenant,
        now: StoreTime,
    ) -> impl Iterator<Item = &'a Partition> {
        let due = self
            .due_by(now)
            .filter(move |partition| spec.tenant_of(partition) == *tenant);
        self.unsettled.get(tenant).into_iter().flatten().chain(due)
    }

    /// For whom something has to be looked at now; some may be named twice.
    pub(crate) fn tenants<'a>(
        &'a self,
        spec: &'a TableSpec,
        now: StoreTime,
    ) -> impl Iterator<Item = Tenant> + 'a {
        let due = self.due_by(now).map(|partition| spec.tenant_of(partition));
        self.unsettled.keys().cloned().chain(due)
    }

    /// When the next rest ends by itself.
    pub fn next_due(&self) -> Option<StoreTime> {
        self.due.get_min().map(|(until, _)| *until)
    }

    fn due_by(&self, now: StoreTime) -> impl Iterator<Item = &Partition> {
        let past = self.due.iter().take_while(move |(until, _)| *until <= now);
        past.map(|(_, partition)| partition)
    }

    /// Whether it names exactly these partitions and their families, each once.
    pub(crate) fn agrees<'p>(
        &self,
        spec: &TableSpec,
        partitions: impl Iterator<Item = &'p Partition>,
    ) -> bool {
        let expected = Self::of(spec, partitions);
        let mut named: Vec<&Partition> = self.all().collect();
        let mut wanted: Vec<&Partition> = expected.all().collect();
        named.sort();
        wanted.sort();
        let due = self
            .settled()
            .filter_map(|(partition, until)| Some((until?, partition.clone())));
        named == wanted && expected.shards == self.shards && due.collect::<OrdSet<_>>() == self.due
    }
}
