//! What stays of each key: the row with the greatest version, and of several the one of the file that came into the table
//! last. An output comes when its job is committed. A tombstone that stays hides its key; once it was let go, nothing older
//! may be left.

use std::collections::BTreeMap;

use super::{Live, Model};
use crate::oracle::At;
use crate::rows::{Known, is_tombstone, written_ms};

/// The newest row of a key, as far as it can be told: rows that came with one entry are told apart by nothing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Newest {
    pub(crate) version: u64,
    /// The entry that its file came with, where that is asked for.
    pub(crate) came: u64,
    /// What it may hold.
    pub(crate) values: Vec<String>,
}

impl Newest {
    fn meet(&mut self, came: u64, version: u64, value: String) {
        match (version, came).cmp(&(self.version, self.came)) {
            std::cmp::Ordering::Less => {}
            std::cmp::Ordering::Equal => self.values.push(value),
            std::cmp::Ordering::Greater => {
                *self = Self {
                    version,
                    came,
                    values: vec![value],
                };
            }
        }
    }

    /// Whether its key may be taken away.
    pub(crate) fn may_be_deleted(&self) -> bool {
        self.values.iter().any(|value| is_tombstone(value))
    }

    /// Whether both may be one row.
    pub(crate) fn may_be(&self, other: &Self) -> bool {
        let holds = |value: &String| other.values.contains(value);
        self.version == other.version && self.values.iter().any(holds)
    }
}

/// The newest row of each key.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Upserts(pub(crate) BTreeMap<String, Newest>);

impl Upserts {
    /// Rows of a file that came with this entry.
    pub(crate) fn meet(&mut self, came: u64, rows: impl IntoIterator<Item = Known>) {
        for (key, version, value) in rows {
            self.0.entry(key).or_default().meet(came, version, value);
        }
    }
}

impl Model {
    /// What the rows of these files come to, and those that were never whole in the store.
    pub(crate) fn newest_of<'a>(
        &self,
        files: impl Iterator<Item = (&'a String, Option<&'a Live>)>,
    ) -> (Upserts, Vec<&'a String>) {
        let (mut newest, mut missing) = (Upserts::default(), Vec::new());
        for (path, file) in files {
            match self.rows(path, file.and_then(|file| file.tag.as_deref())) {
                Some(rows) => newest.meet(file.map_or(0, |file| file.came), rows),
                None => missing.push(path),
            }
        }
        (newest, missing)
    }

    /// Rows that come later than the writers promised may come after a tombstone that would have hidden them.
    pub(super) fn note_late(&mut self, at: At<'_>, rows: &[Known]) {
        let Some(lateness_ms) = self.lateness_ms else {
            return;
        };
        let late = rows
            .iter()
            .filter(|(_, version, _)| written_ms(*version) + lateness_ms < at.now_ms);
        self.late.extend(late.map(|(key, _, _)| key.clone()));
    }

    /// A job is over: tombstones of its inputs that are not in its outputs are nowhere in sight any more.
    pub(super) fn note_let_go(&mut self, id: u64) {
        let Some(job) = self.jobs.get(&id).filter(|_| self.lateness_ms.is_some()) else {
            return;
        };
        let planned = job.planned.iter().map(Option::as_ref);
        let (before, _) = self.newest_of(job.inputs.iter().zip(planned));
        let outputs = self.outputs(id);
        let (after, _) = self.newest_of(outputs.iter().map(|(path, _)| (path, None)));
        let gone = before.0.into_iter().filter(|(key, _)| !after.0.contains_key(key));
        for (key, newest) in gone {
            let known = self.let_go.entry(key).or_default();
            *known = newest.version.max(*known);
        }
    }

    /// Outputs in a folder come when they are published.
    pub(super) fn publish(&mut self, at: At<'_>) {
        let commit = at.body["job"].as_u64().and_then(|id| self.commits.get(&id));
        for path in commit.into_iter().flat_map(|commit| &commit.outputs) {
            if let Some(file) = self.live.get_mut(path) {
                file.came = at.sequence;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn newest(rows: &[(u64, u64, &str)]) -> Newest {
        let mut upserts = Upserts::default();
        for (came, version, value) in rows {
            upserts.meet(*came, [("key".to_owned(), *version, (*value).to_owned())]);
        }
        upserts.0["key"].clone()
    }

    #[test]
    fn the_greatest_version_stays_whenever_it_came() {
        assert_eq!(newest(&[(1, 9, "new"), (2, 3, "old")]).values, ["new"]);
        assert_eq!(newest(&[(1, 3, "old"), (2, 9, "new")]).values, ["new"]);
    }

    #[test]
    fn of_one_version_the_file_stays_that_came_last_and_within_an_entry_either() {
        assert_eq!(newest(&[(2, 3, "second"), (1, 3, "first")]).values, ["second"]);
        let either = newest(&[(2, 3, "one"), (1, 3, "first"), (2, 3, "other")]);
        assert_eq!(either.values, ["one", "other"]);
    }

    #[test]
    fn a_tombstone_among_several_may_be_the_one() {
        assert!(newest(&[(1, 3, "there"), (1, 3, "!gone")]).may_be_deleted());
        assert!(!newest(&[(1, 3, "!gone"), (2, 3, "there")]).may_be_deleted());
    }
}
