//! Findings on their way to the state: many files in a request, and a word when a folder is whole.
//!
//! Findings come in listing order, so a folder is whole once the listing has left it. A folder so large that it fills
//! jobs by itself is opened to the planner before that.

use std::sync::Arc;

use anyhow::{Result, anyhow};
use baler_core::event::Quarantined;
use baler_core::file::{File, FilePath};
use baler_core::ids::{Partition, Sequence, TableName};
use baler_core::limits::{FILES_PER_EVENT_MAX, JOB_INPUTS_MAX};
use baler_core::names;
use baler_core::request::Request;
use tokio::sync::mpsc;

use super::Step;

/// Files of one folder after which merging may begin in it while it is still being listed.
const LARGE_FOLDER_FILES: usize = 2 * JOB_INPUTS_MAX;

/// Requests being filled.
pub(super) struct Batches {
    table: TableName,
    evidence: Sequence,
    steps: mpsc::Sender<Step>,
    files: Vec<Arc<File>>,
    bad: Vec<Quarantined>,
    /// The folders that the listing is in, from the outermost.
    open: Vec<OpenFolder>,
    /// Folders that are whole once what is in `files` has been asked for.
    whole: Vec<Partition>,
}

struct OpenFolder {
    path: String,
    files: usize,
}

impl Batches {
    pub(super) fn new(table: TableName, evidence: Sequence, steps: mpsc::Sender<Step>) -> Self {
        Self {
            table,
            evidence,
            steps,
            files: Vec::new(),
            bad: Vec::new(),
            open: Vec::new(),
            whole: Vec::new(),
        }
    }

    /// Files that wait in the present request.
    pub(super) fn len(&self) -> usize {
        self.files.len()
    }

    pub(super) async fn add(&mut self, file: Arc<File>) -> Result<()> {
        self.arrive(file.path.folder());
        let folder = self.open.last_mut().expect("the listing is in the file's folder");
        folder.files += 1;
        if folder.files.is_multiple_of(LARGE_FOLDER_FILES) {
            self.whole.push(names::folder_partition(&file.path));
        }
        self.files.push(file);
        self.flush_if_full().await
    }

    pub(super) async fn quarantine(&mut self, bad: Quarantined) -> Result<()> {
        self.arrive(bad.path.folder());
        self.bad.push(bad);
        self.flush_if_full().await
    }

    /// The listing met something in this folder that needs no request.
    pub(super) async fn pass(&mut self, folder: &str) -> Result<()> {
        self.arrive(folder);
        self.flush_if_full().await
    }

    /// The listing has ended: what is left is sent, and all folders are whole.
    pub(super) async fn finish(mut self, lost: Vec<FilePath>) -> Result<()> {
        for paths in lost.chunks(FILES_PER_EVENT_MAX) {
            self.ask(Request::LoseFiles {
                table: self.table.clone(),
                evidence: self.evidence,
                paths: paths.to_vec(),
            })
            .await?;
        }
        while let Some(folder) = self.open.pop() {
            self.whole.push(Partition::from(folder.path.as_str()));
        }
        self.flush().await
    }

    fn arrive(&mut self, folder: &str) {
        while self
            .open
            .last()
            .is_some_and(|open| !is_within(folder, &open.path))
        {
            let left = self.open.pop().expect("there is a last one");
            self.whole.push(Partition::from(left.path.as_str()));
        }
        if self.open.last().is_none_or(|open| open.path != folder) {
            self.open.push(OpenFolder {
                path: folder.to_owned(),
                files: 0,
            });
        }
    }

    async fn flush_if_full(&mut self) -> Result<()> {
        let waiting = [self.files.len(), self.bad.len(), self.whole.len()];
        match waiting.into_iter().max() >= Some(FILES_PER_EVENT_MAX) {
            true => self.flush().await,
            false => Ok(()),
        }
    }

    async fn flush(&mut self) -> Result<()> {
        let files = std::mem::take(&mut self.files);
        if !files.is_empty() {
            self.ask(Request::AddFiles {
                table: self.table.clone(),
                evidence: self.evidence,
                files,
            })
            .await?;
        }
        let files = std::mem::take(&mut self.bad);
        if !files.is_empty() {
            self.ask(Request::QuarantineFiles {
                table: self.table.clone(),
                evidence: self.evidence,
                files,
            })
            .await?;
        }
        for partition in std::mem::take(&mut self.whole) {
            self.send(Step::Settled(partition)).await?;
        }
        Ok(())
    }

    async fn ask(&self, request: Request) -> Result<()> {
        self.send(Step::Ask(Box::new(request))).await
    }

    async fn send(&self, step: Step) -> Result<()> {
        let gone = |_| anyhow!("nobody waits for the listing any more");
        self.steps.send(step).await.map_err(gone)
    }
}

/// Whether a folder is this one, or lies in it.
fn is_within(folder: &str, outer: &str) -> bool {
    let below = folder.strip_prefix(outer);
    outer.is_empty() || below.is_some_and(|below| below.is_empty() || below.starts_with('/'))
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn settled_by(folders: &[&str]) -> Vec<String> {
        let (sender, mut receiver) = mpsc::channel(64);
        let mut batches = Batches::new(TableName::from("data"), Sequence(1), sender);
        let mut settled = Vec::new();
        for folder in folders {
            batches.pass(folder).await.unwrap();
        }
        batches.finish(Vec::new()).await.unwrap();
        while let Some(Step::Settled(partition)) = receiver.recv().await {
            settled.push(partition.to_string());
        }
        settled
    }

    #[tokio::test]
    async fn a_folder_is_whole_once_the_listing_has_left_it_for_good() {
        let order = settled_by(&["a", "a/b", "a", "ab", "b"]).await;
        assert_eq!(order, ["a/b", "a", "ab", "b"]);
    }

    #[tokio::test]
    async fn the_top_is_whole_at_the_very_end() {
        let order = settled_by(&["", "a", "", "b", ""]).await;
        assert_eq!(order, ["a", "b", ""]);
    }
}
