//! The collector: declares due, deletes one by one, reports; then sweeps what ended attempts left. It knows only lists.

use baler_core::file::{FilePath, Identity};
use baler_core::ids::Sequence;
use baler_core::request::Grace;
use baler_core::{Reply, Request};

use crate::disk::Object;
use crate::mutants::Mutant;
use crate::scenario::Scenario;
use crate::world::{TABLE, World};

/// What the collector is at.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Collector {
    /// To be deleted; what Baler did not name, in this version only.
    list: Vec<(FilePath, Option<Identity>)>,
    /// Deleted and not yet reported.
    deleted: Vec<FilePath>,
    /// The state that the list was read from.
    listed: Sequence,
}

impl Collector {
    pub(crate) fn is_busy(&self) -> bool {
        !self.list.is_empty() || !self.deleted.is_empty()
    }

    pub(crate) fn can_delete(&self) -> bool {
        !self.list.is_empty()
    }
}

impl World {
    pub(crate) fn delete_next(&mut self, scenario: &Scenario) {
        let (path, version) = self.collector.list.remove(0);
        let blind = scenario.mutant == Some(Mutant::DeletesByName);
        let matches = |object: &Object| blind || version.is_none_or(|version| version == object.identity);
        if self
            .disk
            .get(&path)
            .cloned()
            .is_some_and(|object| matches(&object))
        {
            self.disk.remove(&path);
        }
        self.collector.deleted.push(path);
    }

    pub(crate) fn collector_asks(&self, mutant: Option<Mutant>) -> Option<Request> {
        if self.collector.can_delete() {
            return None;
        }
        if !self.collector.deleted.is_empty() {
            return Some(Request::ReportDeleted {
                listed: self.collector.listed,
                paths: self.collector.deleted.clone(),
            });
        }
        let grace = Grace::Waived;
        let declare = Request::DeclareDue { grace };
        if !self.state().garbage.is_empty() && self.finds_due(mutant, &declare) {
            return Some(declare);
        }
        let sweep = self.state().leftovers.values().next().map(|leftover| {
            let may_hold = |path: &&FilePath| leftover.may_hold(self.state().journal, path);
            Request::ReportSweep {
                attempt: leftover.attempt,
                found: self.disk.keys().filter(may_hold).cloned().collect(),
                grace,
            }
        });
        sweep.or_else(|| self.late_writes())
    }

    fn finds_due(&self, mutant: Option<Mutant>, declare: &Request) -> bool {
        match self.head.decide(mutant, declare) {
            Some((entry, Reply::Due(due))) => !entry.events.is_empty() || !due.is_empty(),
            _ => true,
        }
    }

    /// Objects of Baler's own names that nothing in the state names.
    fn late_writes(&self) -> Option<Request> {
        let paths: Vec<FilePath> = self.strays().cloned().collect();
        (!paths.is_empty()).then(|| Request::ReportLateWrites {
            table: TABLE.into(),
            evidence: self.head.sequence(),
            paths,
        })
    }

    pub(crate) fn strays(&self) -> impl Iterator<Item = &FilePath> {
        let named = |path: &FilePath| {
            self.table().files.contains_key(path) || self.state().garbage.contains_key(path)
        };
        let own = |path: &FilePath| baler_core::names::OutputName::parse(path.name()).is_some();
        self.disk.keys().filter(move |path| own(path) && !named(path))
    }

    pub(crate) fn collector_hears(&mut self, reply: Reply) -> bool {
        match reply {
            Reply::Due(paths) if !paths.is_empty() => {
                let version = |path: &FilePath| {
                    let garbage = self.state().garbage.get(path)?;
                    let original = garbage.original.as_ref().filter(|_| !self.state().is_own(path));
                    original.map(|original| original.identity.clone())
                };
                let list = paths
                    .into_iter()
                    .map(|path| (path.clone(), version(&path)))
                    .collect();
                self.collector.list = list;
                self.collector.listed = self.state().sequence;
                true
            }
            Reply::Done => {
                self.collector.listed = Sequence::default();
                !std::mem::take(&mut self.collector.deleted).is_empty()
            }
            _ => false,
        }
    }
}
