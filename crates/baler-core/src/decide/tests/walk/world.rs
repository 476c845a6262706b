//! The disk, the journal, and those who act on them.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::super::fixtures::{NATIVE, beginning, spec};
use super::catalog::Ledger;
use super::{Decide, EXTERNAL, RETENTION, TABLES, Verdict};
use crate::event::{Batch, Event};
use crate::file::{Digest, File, FilePath, Identity, Origin};
use crate::ids::{PinId, Sequence, TableName};
use crate::invariants;
use crate::job::Finished;
use crate::names::{self, OutputName};
use crate::request::{Grant, Reply, Request};
use crate::state::State;
use crate::table::{Catalog, MergeSpec, Rule, TableSpec};
use crate::time::{Millis, RowTime, StoreTime, TimeRange};

/// A row. Every row that an outsider writes is another one.
pub(super) type Atom = u64;

/// What lies under a name.
#[derive(Clone, Debug)]
pub(super) struct Object {
    pub(super) identity: Identity,
    pub(super) atoms: Vec<Atom>,
}

/// What somebody saw, and when they began to look.
#[derive(Clone, Debug)]
pub(super) struct Sight {
    pub(super) table: TableName,
    pub(super) evidence: Sequence,
    pub(super) found: Vec<Arc<File>>,
    pub(super) own: Vec<FilePath>,
    pub(super) missing: Vec<FilePath>,
}

/// A worker's try. It may go on long after its lease is lost.
#[derive(Clone, Debug)]
pub(super) struct Try {
    pub(super) grant: Grant,
    pub(super) merged: Option<Finished>,
}

pub(super) struct World {
    pub(super) state: State,
    pub(super) disk: BTreeMap<FilePath, Object>,
    pub(super) sights: Vec<Sight>,
    pub(super) tries: Vec<Try>,
    /// Deletion lists, as collectors heard of them.
    pub(super) lists: Vec<FilePath>,
    /// What pinned readers read: names and versions.
    pub(super) readers: BTreeMap<PinId, Vec<Arc<File>>>,
    /// What every version of the native table showed.
    pub(super) versions: BTreeMap<Sequence, Vec<Arc<File>>>,
    /// When rows say that they were made.
    pub(super) row_times: BTreeMap<Atom, RowTime>,
    /// Rows that retention dropped.
    pub(super) expired: BTreeSet<Atom>,
    /// The rows of every version that ever was; of an output under its name alone.
    pub(super) archive: BTreeMap<(FilePath, Option<Arc<str>>), Vec<Atom>>,
    /// Rows that are in the table, as the table said.
    pub(super) acknowledged: BTreeSet<Atom>,
    /// Rows that outsiders destroyed when nothing else held them.
    pub(super) harmed: BTreeSet<Atom>,
    /// Versions that outsiders destroyed.
    pub(super) destroyed: BTreeSet<(FilePath, Arc<str>)>,
    pub(super) ended: BTreeSet<crate::ids::JobId>,
    /// Those among them that the external catalog refused.
    pub(super) failed: BTreeSet<crate::ids::JobId>,
    pub(super) ledger: Ledger,
    decide: Decide,
    entries: Vec<Batch>,
    written: StoreTime,
    numbers: u64,
    random: u64,
}

impl World {
    pub(super) fn new(seed: u64, decide: Decide) -> Self {
        let mut world = Self {
            state: State::default(),
            disk: BTreeMap::new(),
            sights: Vec::new(),
            tries: Vec::new(),
            lists: Vec::new(),
            readers: BTreeMap::new(),
            versions: BTreeMap::new(),
            row_times: BTreeMap::new(),
            expired: BTreeSet::new(),
            archive: BTreeMap::new(),
            acknowledged: BTreeSet::new(),
            harmed: BTreeSet::new(),
            destroyed: BTreeSet::new(),
            ended: BTreeSet::new(),
            failed: BTreeSet::new(),
            ledger: Ledger::default(),
            decide,
            entries: Vec::new(),
            written: StoreTime { unix_ms: 1_000 },
            numbers: 0,
            random: seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1,
        };
        world.open_entry();
        for event in beginning() {
            world.append(event);
        }
        world.append(with_retention());
        world.append(Event::TableCreated {
            table: EXTERNAL.into(),
            spec: spec(Catalog::External, Rule::KeepAll),
        });
        world
    }

    /// A number below `bound`.
    pub(super) fn any(&mut self, bound: usize) -> usize {
        self.random ^= self.random << 13;
        self.random ^= self.random >> 7;
        self.random ^= self.random << 17;
        (self.random >> 11) as usize % bound
    }

    pub(super) fn chance(&mut self, one_in: usize) -> bool {
        self.any(one_in) == 0
    }

    pub(super) fn pick<T: Clone>(&mut self, from: &[T]) -> Option<T> {
        (!from.is_empty()).then(|| from[self.any(from.len())].clone())
    }

    pub(super) fn some_of<T: Clone>(&mut self, from: &[T]) -> Vec<T> {
        from.iter().filter(|_| self.any(3) > 0).cloned().collect()
    }

    pub(super) fn any_table(&mut self) -> TableName {
        TableName::from(TABLES[self.any(TABLES.len())])
    }

    pub(super) fn number(&mut self) -> u64 {
        self.numbers += 1;
        self.numbers
    }

    /// Several requests may share an entry; nobody outside knows of an entry before it is closed.
    pub(super) fn close_entry(&mut self) -> Verdict {
        self.open_entry();
        Ok(())
    }

    fn open_entry(&mut self) {
        if let Some(table) = self.state.tables.get(&TableName::from(NATIVE)) {
            let shown = table.files.values().cloned().collect();
            self.versions.insert(self.state.sequence, shown);
        }
        let parent_time = (self.state.sequence > Sequence(0)).then_some(self.written);
        self.state.open_batch(parent_time);
        self.entries.push(Batch {
            sequence: self.state.sequence,
            parent_time,
            events: Vec::new(),
        });
        self.written = self.written + Millis(1);
    }

    pub(super) fn known(&self) -> Sequence {
        Sequence(self.state.sequence.0 - 1)
    }

    pub(super) fn pass(&mut self, length: Millis) -> Verdict {
        self.written = self.written + length;
        self.close_entry()
    }

    pub(super) fn ask(&mut self, request: &Request) -> Result<Reply, String> {
        if self.any(3) > 0 {
            self.close_entry()?;
        }
        let decision = (self.decide)(&self.state, request);
        for event in decision.events {
            self.judge(&event)?;
            self.append(event);
        }
        self.check()
            .map_err(|wrong| format!("after {request:?}: {wrong}"))?;
        Ok(decision.reply)
    }

    pub(super) fn append(&mut self, event: Event) {
        crate::apply::apply_event(&mut self.state, &event);
        let entry = self.entries.last_mut().expect("an entry is open");
        entry.events.push(event);
    }

    fn check(&mut self) -> Verdict {
        if let Some(broken) = invariants::broken(&self.state).first() {
            return Err(format!("invariant {}: {}", broken.number, broken.says));
        }
        self.look()
    }

    /// Whoever reads the journal from its beginning arrives here too.
    pub(super) fn replay(&self) -> Verdict {
        let mut state = State::default();
        for entry in &self.entries {
            crate::apply(&mut state, entry);
        }
        (state == self.state)
            .then_some(())
            .ok_or("a replay gives another state".to_owned())
    }

    /// Somebody writes an object, and it gets an identity of its own.
    pub(super) fn write(&mut self, path: &FilePath, atoms: Vec<Atom>) -> Identity {
        let number = self.number();
        let identity = Identity {
            tag: format!("v{number}").into(),
            bytes: 10 * atoms.len() as u64 + 1,
            modified: StoreTime { unix_ms: number },
        };
        let own = OutputName::parse(path.name()).is_some() || names::is_own_object(path);
        let tag = (!own).then(|| identity.tag.clone());
        self.archive.insert((path.clone(), tag), atoms.clone());
        let object = Object {
            identity: identity.clone(),
            atoms,
        };
        self.disk.insert(path.clone(), object);
        identity
    }

    /// Bounds of the rows' times.
    pub(super) fn times_of(&self, atoms: &[Atom]) -> Option<TimeRange> {
        let times = atoms.iter().filter_map(|atom| self.row_times.get(atom));
        let (min, max) = (times.clone().min()?, times.max()?);
        Some(TimeRange { min: *min, max: *max })
    }

    pub(super) fn is_on_disk(&self, path: &FilePath, identity: &Identity) -> bool {
        self.disk
            .get(path)
            .is_some_and(|object| object.identity == *identity)
    }

    /// What Baler named is what it was: nobody else writes such a name.
    pub(super) fn is_there(&self, file: &File) -> bool {
        match file.origin {
            Origin::Job(_) => self.disk.contains_key(&file.path),
            Origin::Foreign => self.is_on_disk(&file.path, &file.identity),
        }
    }

    /// The rows that a file of the state stands for.
    pub(super) fn rows_of(&self, file: &File) -> &[Atom] {
        let tag = (file.origin == Origin::Foreign).then(|| file.identity.tag.clone());
        let rows = self.archive.get(&(file.path.clone(), tag));
        rows.map_or(&[], Vec::as_slice)
    }

    pub(super) fn file(&self, path: &FilePath, object: &Object) -> Arc<File> {
        let rows = object.atoms.len() as u64;
        Arc::new(File {
            times: self.times_of(&object.atoms),
            ..File::found(path.clone(), object.identity.clone(), rows)
        })
    }
}

/// Different rows have different hashes, as good as always.
pub(super) fn digest(atoms: &[Atom]) -> Digest {
    let hash = |atom: &Atom| {
        let mixed = (u128::from(*atom) + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15_f39c_c060_5ced_c835);
        Digest(mixed ^ (mixed >> 61))
    };
    atoms.iter().map(hash).sum()
}

fn with_retention() -> Event {
    let spec = spec(Catalog::Native, Rule::KeepAll);
    let merge = MergeSpec {
        row_time: Some("t".into()),
        ..MergeSpec::clone(&spec.merge)
    };
    let spec = TableSpec {
        merge: merge.into(),
        retention: Some(RETENTION),
        ..TableSpec::clone(&spec)
    };
    Event::TableAltered {
        table: NATIVE.into(),
        spec: spec.into(),
    }
}

/// Whether readers list it: what is merged has to be published, and inputs can change under the merge.
pub(super) fn is_plain(table: &TableName) -> bool {
    !matches!(table.as_str(), NATIVE | EXTERNAL)
}

/// The folder of a table; the outsiders' files of `--output` lie in its source.
pub(super) fn folder(table: &TableName) -> &'static str {
    match table.as_str() {
        "native" => "n",
        "place" => "p",
        "store" => "s",
        "remembering" => "r",
        "external" => "e",
        _ => "o",
    }
}
