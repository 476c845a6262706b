//! Where the planner looks next: tenants in turn, and for each of them its partitions in turn. Only what changed since
//! it was last found at rest is looked at.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use crate::agenda::Tenant;
use crate::event::Rested;
use crate::file::Level;
use crate::ids::{Partition, TableName};
use crate::planner::{self, Proposal};
use crate::request::Scope;
use crate::scheduler;
use crate::state::{State, Table};
use crate::time::StoreTime;

/// A partition of a table.
pub(super) type Place = (TableName, Partition);

/// A round of planning, on the state as it was when the round began.
pub(super) struct Turns<'s> {
    seen: State,
    scope: &'s Scope,
    tenants: BTreeMap<Tenant, Queue>,
    rested: BTreeMap<TableName, Vec<Rested>>,
    files_in_vain: usize,
}

#[derive(Default)]
struct Queue {
    places: Option<VecDeque<Place>>,
    wanted: VecDeque<(Place, Proposal)>,
}

impl<'s> Turns<'s> {
    pub(super) fn of(state: &State, scope: &'s Scope) -> Self {
        Self {
            seen: state.clone(),
            scope,
            tenants: BTreeMap::new(),
            rested: BTreeMap::new(),
            files_in_vain: 0,
        }
    }

    /// What the worker is willing to work on.
    pub(super) fn scope(&self) -> &'s Scope {
        self.scope
    }

    /// Those for whom there may be something to do, the next one first.
    pub(super) fn tenants(&self) -> Vec<Tenant> {
        let tables = self.tables();
        let tenants: BTreeSet<Tenant> = tables
            .flat_map(|(_, table)| match has_looked(table) {
                true => table
                    .agenda
                    .tenants(&table.spec, self.seen.time)
                    .collect::<Vec<_>>(),
                false => table
                    .agenda
                    .all()
                    .map(|partition| table.spec.tenant_of(partition))
                    .collect(),
            })
            .collect();
        scheduler::rotated(tenants, &self.seen.turn)
    }

    /// The next job that a tenant's partitions ask for.
    pub(super) fn next_job(&mut self, tenant: &Tenant) -> Option<(Place, Proposal)> {
        loop {
            let queue = self.tenants.entry(tenant.clone()).or_default();
            if let Some(wanted) = queue.wanted.pop_front() {
                return Some(wanted);
            }
            let place = match &mut queue.places {
                Some(places) => places.pop_front()?,
                None => {
                    let places = self.places(tenant);
                    self.tenants.entry(tenant.clone()).or_default().places = Some(places);
                    continue;
                }
            };
            self.look(tenant, place);
        }
    }

    /// The input bytes of a job.
    pub(super) fn bytes(&self, place: &Place, proposal: &Proposal) -> u64 {
        let files = &self.seen.tables[&place.0].files;
        proposal.inputs.iter().map(|path| files[path].bytes()).sum()
    }

    /// The lowest level among its inputs.
    pub(super) fn level(&self, place: &Place, proposal: &Proposal) -> Level {
        let files = &self.seen.tables[&place.0].files;
        let levels = proposal.inputs.iter().map(|path| files[path].level);
        levels.min().unwrap_or_default()
    }

    /// Where its outputs go.
    pub(super) fn output_partition(&self, place: &Place, proposal: &Proposal) -> Partition {
        let spec = &self.seen.tables[&place.0].spec;
        spec.output_partition(&place.1, proposal.output_level)
    }

    /// How many files were looked at for nothing, and where.
    pub(super) fn in_vain(self) -> (usize, BTreeMap<TableName, Vec<Rested>>) {
        (self.files_in_vain, self.rested)
    }

    fn look(&mut self, tenant: &Tenant, place: Place) {
        let table = &self.seen.tables[&place.0];
        let view = self.seen.view(table, &place.1);
        let choice = planner::choose(&table.spec, &view);
        if choice.jobs.is_empty() {
            self.files_in_vain += view.files.len() + view.busy.len();
            let due = planner::due(&table.spec, &view, &choice);
            if let Ok(until) = rest_ends(&self.seen, table, &place.1, due) {
                let partition = place.1.clone();
                self.rested
                    .entry(place.0)
                    .or_default()
                    .push(Rested { partition, until });
            }
            return;
        }
        let queue = self.tenants.entry(tenant.clone()).or_default();
        let wanted = choice.jobs.into_iter().map(|job| (place.clone(), job));
        queue.wanted.extend(wanted);
    }

    fn tables(&self) -> impl Iterator<Item = (&TableName, &Table)> {
        let tables = self.seen.tables.iter();
        tables.filter(|(name, table)| {
            !self.seen.is_paused(name) && self.scope.covers_table(name) && self.scope.knows(&table.spec.merge)
        })
    }

    /// First those after the one that was planned last: in any fixed order the first ones, while files keep arriving
    /// there, would starve the rest.
    fn places(&self, tenant: &Tenant) -> VecDeque<Place> {
        let mut places: Vec<Place> = Vec::new();
        for (name, table) in self.tables() {
            let open: Vec<&Partition> = match has_looked(table) {
                true => table.agenda.open(&table.spec, tenant, self.seen.time).collect(),
                false => {
                    let all = table.agenda.all();
                    all.filter(|partition| table.spec.tenant_of(partition) == *tenant)
                        .collect()
                }
            };
            let covered = open
                .into_iter()
                .filter(|partition| self.scope.covers(name, partition));
            places.extend(covered.map(|partition| (name.clone(), partition.clone())));
        }
        places.sort();
        let last = planned_last(&self.seen);
        let behind = places.partition_point(|(name, partition)| Some((name, partition)) <= last);
        places.rotate_left(behind);
        places.into()
    }
}

/// Whether this planner, or a newer one, has found what is settled at rest.
fn has_looked(table: &Table) -> bool {
    table.agenda.planner() >= planner::VERSION
}

/// When a partition at rest has to be looked at again; an error if that cannot be told yet.
fn rest_ends(
    state: &State,
    table: &Table,
    partition: &Partition,
    due: Option<StoreTime>,
) -> Result<Option<StoreTime>, ()> {
    let mut ends = due
        .into_iter()
        .chain(table.next_leaving(partition, state.time))
        .min();
    let family = table.agenda.shards_of(partition);
    let paths = std::iter::once(partition).chain(family);
    for file in paths.flat_map(|partition| table.partition_files(partition)) {
        let Some(put_off) = table.put_off.get(&file.path) else {
            continue;
        };
        let Some(lasts) = put_off.lasts.filter(|_| state.is_put_off(put_off)) else {
            continue;
        };
        let end = state.began(put_off.since).ok_or(())? + lasts;
        ends = Some(ends.map_or(end, |ends| ends.min(end)));
    }
    Ok(ends)
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
