//! A root that was copied with its journal, or restored: which of its files are those that the journal names. A copy is known by its
//! length and time, and an output whose time is lost by its checksum. What was replaced and is in sight holds rows twice, unless the
//! copy was made too early to have the output; what cannot be told is held.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::Result;
use baler_core::file::{FilePath, Identity, Place};
use baler_core::garbage::Stage;
use baler_core::ids::{Partition, TableName};
use baler_core::job::JobStatus;
use baler_core::names::folder_partition;
use baler_core::state::{State, Table};
use baler_core::table::Replaced;

use super::reconcile::{Ruling, Verdict};
use crate::depot::{DataFile, Namer};
use crate::folder::identity::is_copy;
use crate::site::Site;

/// Adds what the state names and no listing shows: files of other formats, and what an undo is bringing back.
pub(super) async fn add_unlisted(site: &Site, state: &State, data: &mut Vec<DataFile>) -> Result<()> {
    let listed: BTreeSet<FilePath> = data.iter().map(|file| file.path.clone()).collect();
    let live = state.tables.values().flat_map(|table| table.files.keys());
    let garbage = state.garbage.iter();
    let returning = garbage.filter(|(_, garbage)| garbage.stage == Stage::Returning);
    for path in live.chain(returning.map(|(aside, _)| aside)) {
        if listed.contains(path) {
            continue;
        }
        if let Some(identity) = site.depot_of(path).identity_now(path).await? {
            data.push(DataFile {
                path: path.clone(),
                identity,
                namer: Namer::of(path.name(), None),
            });
        }
    }
    Ok(())
}

/// Lets the state name the versions that are there.
pub(super) async fn recognise(site: &Site, state: &mut State, data: &[DataFile]) -> Result<()> {
    let there: BTreeMap<&FilePath, &Identity> =
        data.iter().map(|file| (&file.path, &file.identity)).collect();
    let mut proved: BTreeSet<FilePath> = BTreeSet::new();
    for file in state.tables.values().flat_map(|table| table.files.values()) {
        let Some((now, checksum)) = there.get(&file.path).copied().zip(file.checksum) else {
            continue;
        };
        let alike = now.bytes == file.bytes() && !is_copy(&file.identity, now);
        if alike && site.depot_of(&file.path).checksum(&file.path).await? == checksum {
            proved.insert(file.path.clone());
        }
    }
    let live = state.clone();
    baler_core::apply::recognise(state, |path, identity| {
        let now = *there.get(path)?;
        let is_live = || live.tables.values().any(|table| is_live(table, path, identity));
        let held = || {
            live.tables
                .values()
                .any(|table| table.is_quarantined(path, identity))
        };
        // What was marked as bad is held on as soon as it may be the same: it may hold rows that others hold too.
        let same = is_copy(identity, now)
            || (proved.contains(path) && is_live())
            || (held() && now.bytes == identity.bytes);
        same.then(|| now.clone())
    });
    Ok(())
}

fn is_live(table: &Table, path: &FilePath, identity: &Identity) -> bool {
    let file = table.files.get(path);
    file.is_some_and(|file| file.identity == *identity)
}

/// Adds to the verdict what the copy says of plain tables. What may be nowhere else does not count as replaced any more, so that
/// whoever lets it go on gets its rows.
pub(super) fn judge(state: &mut State, data: &[DataFile], verdict: &mut Verdict) {
    compare(state, data, verdict);
    for ruling in &verdict.uncertain {
        if let Some(table) = state.tables.get_mut(&ruling.table) {
            table.consumed.remove(&ruling.path);
            if let Some(removed) = table.removed.get_mut(&ruling.path) {
                removed.consumed = None;
            }
        }
    }
}

fn compare(state: &State, data: &[DataFile], verdict: &mut Verdict) {
    let data: BTreeMap<&FilePath, &DataFile> = data.iter().map(|file| (&file.path, file)).collect();
    let publishing = state.jobs.values().filter(|job| job.status != JobStatus::Open);
    let publishing = publishing.flat_map(|job| &job.inputs);
    let publishing: BTreeSet<&FilePath> = publishing.map(|input| &input.path).collect();
    let tables = state.tables.iter();
    for (name, table) in tables.filter(|(_, table)| table.spec.catalog.publishes()) {
        let scene = Scene {
            name,
            table,
            data: &data,
            publishing: &publishing,
        };
        scene.judge_outputs(verdict);
        let garbage = state.garbage.values();
        let garbage = garbage.filter(|garbage| garbage.table == *name && garbage.stage != Stage::Returning);
        let originals = garbage.filter_map(|garbage| garbage.original.as_ref());
        let originals = originals.map(|original| (&original.path, &original.identity));
        scene.judge_replaced(originals, verdict);
    }
}

struct Scene<'a> {
    name: &'a TableName,
    table: &'a Table,
    data: &'a BTreeMap<&'a FilePath, &'a DataFile>,
    /// Inputs of jobs whose outputs are not published yet. Those jobs go on, and take them out of sight themselves.
    publishing: &'a BTreeSet<&'a FilePath>,
}

impl<'a> Scene<'a> {
    /// Outputs that are not what was written.
    fn judge_outputs(&self, verdict: &mut Verdict) {
        for file in self.table.files.values() {
            let Some(found) = self.data.get(&file.path) else {
                continue;
            };
            let output = found.namer != Namer::Other && file.path.place == Place::Root;
            if output && found.identity != file.identity && !self.table.held.contains_key(&file.path) {
                verdict.ended.insert((self.name.clone(), file.path.clone()));
                let why = "it has not the bytes that were written under this name";
                verdict.uncertain.push(self.ruling(found, why));
            }
        }
    }

    /// Files whose rows are in outputs, and that are in sight.
    fn judge_replaced(
        &self,
        originals: impl Iterator<Item = (&'a FilePath, &'a Identity)>,
        verdict: &mut Verdict,
    ) {
        let consumed = self.table.consumed.iter();
        let removed = self.table.removed.iter();
        let removed = removed.filter_map(|(path, removed)| Some((path, removed.consumed.as_ref()?)));
        let stays = self.table.spec.replaced == Replaced::Remember;
        let incomplete = self.incomplete_folders();
        let rulings = verdict.second.iter().chain(&verdict.uncertain);
        let mut judged: BTreeSet<FilePath> = rulings.map(|ruling| ruling.path.clone()).collect();
        for (path, identity) in originals.chain(consumed).chain(removed) {
            let Some(found) = self.data.get(path) else {
                continue;
            };
            let live = is_live(self.table, path, &found.identity);
            let alike = identity.bytes == found.identity.bytes;
            if live || !alike || !judged.insert(path.clone()) {
                continue;
            }
            let expected = stays || path.place == Place::Source || self.publishing.contains(path);
            match is_copy(identity, &found.identity) {
                true if expected => {}
                true if incomplete.contains(&folder_partition(path)) => {
                    let why = "it was replaced, but an output of this folder is not in the copy: its rows may be nowhere else";
                    verdict.uncertain.push(self.ruling(found, why));
                }
                true => {
                    let why = "its rows are in the outputs that replaced it";
                    verdict.second.push(self.ruling(found, why));
                }
                false => {
                    let why =
                        "a file of this name and length was replaced, and nobody knows whether this is it";
                    verdict.uncertain.push(self.ruling(found, why));
                }
            }
        }
    }

    /// Folders of which an output that should be in sight is not in the copy.
    fn incomplete_folders(&self) -> BTreeSet<Partition> {
        let files = self.table.files.values();
        let missing = files.filter(|file| {
            let output = Namer::of(file.path.name(), None) != Namer::Other && file.path.place == Place::Root;
            let published = !self.table.held.contains_key(&file.path);
            output && published && !self.data.contains_key(&file.path)
        });
        missing.map(|file| folder_partition(&file.path)).collect()
    }

    fn ruling(&self, file: &DataFile, why: &str) -> Ruling {
        Ruling::on(file, self.name, &folder_partition(&file.path), why)
    }
}
