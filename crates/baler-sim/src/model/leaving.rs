//! How files leave the table and come back: replaced by a job, taken back with it, expired, or lost.

use std::collections::BTreeSet;

use super::{Commit, Live, Model};

impl Model {
    pub(super) fn swap(&mut self, came: u64, id: u64) {
        let outputs = self.outputs(id);
        let Some(job) = self.jobs.get(&id) else {
            return;
        };
        let inputs: Vec<_> = job.inputs.iter().cloned().zip(job.planned.clone()).collect();
        let partition = job.partition.clone();
        let newest = job.planned.iter().map(|file| file.as_ref()?.newest_ms);
        let newest_ms = newest.max().flatten();
        for (path, planned) in &inputs {
            let tag = planned.as_ref().and_then(|file| file.tag.clone());
            self.leave(path, id, tag);
        }
        let commit = Commit {
            inputs,
            outputs: outputs.iter().map(|(path, _)| path.clone()).collect(),
            undone: false,
        };
        self.commits.insert(id, commit);
        for (path, bytes) in outputs {
            let partition = partition.clone();
            let live = Live {
                tag: None,
                bytes,
                partition,
                newest_ms,
                came,
            };
            self.live.insert(path, live);
        }
    }

    /// A job whose outputs are in its inputs' place is given up: its inputs are what they were, unless their names are taken.
    pub(super) fn swap_back(&mut self, id: u64) {
        let Some(commit) = self.commits.remove(&id) else {
            return;
        };
        for path in &commit.outputs {
            self.live.remove(path);
        }
        for (path, planned) in commit.inputs {
            let Some(file) = planned else {
                continue;
            };
            self.replaced.remove(&path);
            self.spent.remove(&(path.clone(), file.tag.clone()));
            match self.live.contains_key(&path) {
                true => self.forget_rows(&path, &file),
                false => drop(self.live.insert(path, file)),
            }
        }
    }

    fn leave(&mut self, path: &str, by: u64, tag: Option<String>) {
        self.live.remove(path);
        self.spent.insert((path.to_owned(), tag.clone()));
        self.replaced.insert(path.to_owned(), (by, tag));
    }

    /// A committed job is taken back: its outputs go, its inputs are what they were.
    pub(super) fn undo(&mut self, came: u64, id: u64) {
        let Some(commit) = self.commits.get_mut(&id) else {
            return;
        };
        commit.undone = true;
        let commit = commit.clone();
        for path in &commit.outputs {
            self.leave(path, id, None);
        }
        for (path, planned) in commit.inputs {
            self.replaced.remove(&path);
            if let Some(file) = planned {
                self.spent.remove(&(path.clone(), file.tag.clone()));
                self.live.insert(path, Live { came, ..file });
            }
        }
    }

    /// Files leave the table with their rows. Older rows with the same keys count again.
    pub(super) fn lose(&mut self, paths: &[String]) {
        for path in paths {
            if let Some(file) = self.live.remove(path) {
                self.forget_rows(path, &file);
            }
        }
    }

    fn forget_rows(&mut self, path: &str, file: &Live) {
        let rows = self.rows(path, file.tag.as_deref()).unwrap_or_default();
        let lost: BTreeSet<String> = rows.into_iter().map(|(key, _, _)| key).collect();
        self.expected.0.retain(|key, _| !lost.contains(key));
        // What is not published yet lies nowhere in sight: its rows are those that it was merged from.
        let compacted = self.jobs.values().filter(|job| job.compacted);
        let merged = compacted.flat_map(|job| job.inputs.iter().zip(&job.planned));
        let merged = merged.filter_map(|(path, planned)| Some((path, planned.as_ref()?)));
        let left = self.live.iter().chain(merged);
        let left = left.filter_map(|(path, file)| self.rows(path, file.tag.as_deref()));
        let left = left.flatten().filter(|(key, _, _)| lost.contains(key));
        let left: Vec<_> = left.collect();
        self.expected.meet(0, left);
    }

    pub(super) fn expire(&mut self, paths: &[String]) {
        for path in paths {
            let tag = self.live.get(path).and_then(|file| file.tag.clone());
            self.spent.insert((path.clone(), tag));
        }
        self.lose(paths);
    }
}
