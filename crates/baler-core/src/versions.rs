//! Versions of native tables. The version of an entry is what the table shows after that entry; it is put together from
//! the live files and from those that have left since.
//!
//! A file that leaves is kept in mind for one grace period, so every version that old can still be read and pinned. What a
//! pinned version shows is kept in mind, and on the store, for as long as the pin lasts. Nothing is declared due for
//! deletion before the versions that show it are closed.

use std::sync::Arc;

use crate::file::{File, FilePath};
use crate::garbage::Garbage;
use crate::ids::{Sequence, TableName};
use crate::request::Refusal;
use crate::state::{State, Table};

impl State {
    /// What this version of a native table shows, by path. Refused for a version that is not known whole any more.
    pub fn files_at(&self, name: &TableName, version: Sequence) -> Result<Vec<Arc<File>>, Refusal> {
        let table = self.readable(name, version, self.sequence)?;
        let left_since = table.history.range(version.next()..);
        let left_since = left_since.flat_map(|(_, files)| files.values());
        let shown = table.files.values().chain(left_since);
        let mut files: Vec<Arc<File>> = shown.filter(|file| file.added <= version).cloned().collect();
        files.sort_by(|a, b| a.path.cmp(&b.path));
        Ok(files)
    }

    /// The table, if this version of it can be read, and the newest is that of entry `newest`.
    pub(crate) fn readable(
        &self,
        name: &TableName,
        version: Sequence,
        newest: Sequence,
    ) -> Result<&Table, Refusal> {
        let known = self.tables.get(name);
        let table = known.ok_or_else(|| Refusal::NoSuchTable(name.clone()))?;
        if table.spec.catalog.publishes() {
            return Err(Refusal::NoVersions(name.clone()));
        }
        let pinned = self.pinned_versions(name);
        let kept = version >= table.readable_from && version <= newest && !table.is_dropped();
        match kept || pinned.contains(&version) || crate::planted!(PinsWhatIsGone) {
            true => Ok(table),
            false if table.is_dropped() => Err(Refusal::BeingDropped(name.clone())),
            false => Err(Refusal::VersionNotReadable {
                table: name.clone(),
                version,
                oldest: table.readable_from,
                newest,
                pinned,
            }),
        }
    }

    /// Whether a pinned version shows what is to be deleted. A file that an undo brought back was shown before, too: that is
    /// in the table's history, which is kept for as long as a pin lasts.
    pub fn is_pinned(&self, path: &FilePath, garbage: &Garbage) -> bool {
        let before = || {
            let pinned = self.pinned_versions(&garbage.table);
            let table = self.tables.get(&garbage.table).filter(|_| !pinned.is_empty());
            table.is_some_and(|table| table.was_shown_in(path, &pinned))
        };
        garbage.is_pinned(&self.pins) || before()
    }

    /// The versions of a table that somebody has pinned, oldest first.
    pub fn pinned_versions(&self, name: &TableName) -> Vec<Sequence> {
        let pins = self.pins.values().filter(|pin| pin.table == *name);
        let mut versions: Vec<Sequence> = pins.map(|pin| pin.version).collect();
        versions.sort_unstable();
        versions.dedup();
        versions
    }

    /// Closes the versions whose grace period is over.
    pub(crate) fn close_old_versions(&mut self) {
        let names: Vec<TableName> = self.tables.keys().cloned().collect();
        for name in names {
            let table = &self.tables[&name];
            let grace = table.spec.grace;
            let later = table.history.range(table.readable_from.next()..);
            let over = later.map(|(left, _)| *left);
            let over = over.take_while(|left| self.has_passed(grace, *left));
            if let Some(until) = over.last() {
                self.close_versions(&name, until);
            }
        }
    }

    /// Versions before this entry cannot be read any more, but for those that are pinned.
    pub(crate) fn close_versions(&mut self, name: &TableName, until: Sequence) {
        let pinned = self.pinned_versions(name);
        let table = self.tables.get_mut(name).expect("events name tables that exist");
        if until > table.readable_from {
            let closed = table.readable_from.next();
            table.readable_from = until;
            table.forget_history(closed, &pinned);
        }
    }

    /// A pin of this table ended: what only it held in mind is forgotten.
    pub(crate) fn forget_unpinned(&mut self, name: &TableName) {
        let pinned = self.pinned_versions(name);
        if let Some(table) = self.tables.get_mut(name) {
            table.forget_history(Sequence(0), &pinned);
        }
    }
}

impl Table {
    /// A file left the table in this entry. Plain tables have no versions.
    pub(crate) fn retire(&mut self, file: Arc<File>, at: Sequence) {
        if !self.spec.catalog.publishes() && file.added < at {
            let left = self.history.entry(at).or_default();
            left.insert(file.path.clone(), file);
        }
    }

    fn was_shown_in(&self, path: &FilePath, versions: &[Sequence]) -> bool {
        self.history.iter().any(|(left, files)| {
            let shown = |file: &File| {
                versions
                    .iter()
                    .any(|version| file.added <= *version && version < left)
            };
            files.get(path).is_some_and(|file| shown(file))
        })
    }

    /// Of what left between this entry and the oldest readable one, keeps what a pinned version shows.
    fn forget_history(&mut self, from: Sequence, pinned: &[Sequence]) {
        let closed = self.history.range(from..=self.readable_from);
        let closed: Vec<Sequence> = closed.map(|(left, _)| *left).collect();
        for at in closed {
            let shown = |file: &File| {
                let first = pinned.partition_point(|version| *version < file.added);
                pinned.get(first).is_some_and(|version| *version < at)
            };
            let left = self.history.remove(&at).into_iter().flatten();
            let kept: imbl::OrdMap<_, _> = left.filter(|(_, file)| shown(file)).collect();
            if !kept.is_empty() {
                self.history.insert(at, kept);
            }
        }
    }
}
