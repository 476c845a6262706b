//! Inputs enter beside the merge, on a thread of their own. A merge never waits for it: where more comes than can be written, it is
//! let go. Where nothing can be written, it is said once.

use std::fs::File;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, channel, sync_channel};
use std::thread;
use std::time::Duration;

use bytes::Bytes;

use super::entry::Writer;
use super::{Key, Shelf, Spools};

/// Bytes that wait to be written. They are not in the merges' budget.
const WAITING_BYTES_MAX: u64 = 32 << 20;

/// Stretches that wait.
const WAITING_MAX: usize = 1_024;

enum Task {
    Keep(String, Bytes),
    Enter(Arc<Spools>, Vec<(u32, Key)>),
    /// Answers when all before it is done.
    Settle(std::sync::mpsc::Sender<()>),
}

#[derive(Debug)]
pub(super) struct Filler {
    tasks: SyncSender<Task>,
    waiting: Arc<AtomicU64>,
}

impl Filler {
    pub(super) fn start(shelf: Arc<Shelf>) -> Self {
        let (tasks, received) = sync_channel(WAITING_MAX);
        let waiting = Arc::new(AtomicU64::new(0));
        let counted = waiting.clone();
        thread::spawn(move || fill(&shelf, &received, &counted));
        Self { tasks, waiting }
    }

    pub(super) fn take(&self, text: String, bytes: Bytes) {
        let length = bytes.len() as u64;
        if self.waiting.fetch_add(length, Ordering::Relaxed) + length > WAITING_BYTES_MAX
            || self.tasks.try_send(Task::Keep(text, bytes)).is_err()
        {
            self.waiting.fetch_sub(length, Ordering::Relaxed);
        }
    }

    /// Where there is too much to do they are let go.
    pub(super) fn enter(&self, spools: Arc<Spools>, outputs: Vec<(u32, Key)>) {
        let _let_go = self.tasks.try_send(Task::Enter(spools, outputs));
    }

    pub(super) fn settle(&self, patience: Duration) {
        let (done, settled) = channel();
        if self.tasks.send(Task::Settle(done)).is_ok() {
            let _whether_or_not = settled.recv_timeout(patience);
        }
    }
}

fn fill(shelf: &Shelf, tasks: &Receiver<Task>, waiting: &AtomicU64) {
    let said = AtomicBool::new(false);
    for task in tasks {
        match task {
            Task::Keep(text, bytes) => {
                if let Err(error) = store(shelf, &text, &bytes) {
                    shelf.counters.failed();
                    if !said.swap(true, Ordering::Relaxed) {
                        tracing::warn!("--cache {} cannot be written to: {error}", shelf.dir.display());
                    }
                }
                waiting.fetch_sub(bytes.len() as u64, Ordering::Relaxed);
            }
            Task::Enter(spools, outputs) => spools.keep(outputs),
            Task::Settle(done) => {
                let _nobody_waits_any_more = done.send(());
            }
        }
    }
}

fn store(shelf: &Shelf, text: &str, bytes: &Bytes) -> io::Result<()> {
    if shelf.path(text).exists() {
        return Ok(());
    }
    let new = shelf.new_name();
    let written = write(&new, text, bytes).and_then(|()| shelf.place(&new, text));
    if written.is_err() {
        // A full disk is not left fuller.
        let _never_begun = std::fs::remove_file(&new);
    }
    written
}

fn write(new: &std::path::Path, text: &str, bytes: &Bytes) -> io::Result<()> {
    let mut writer = Writer::new(File::create_new(new)?);
    writer.write(bytes)?;
    writer.finish(text).map(drop)
}
