//! What lies in the corpus, and mutations of it, do no harm.

use std::path::{Path, PathBuf};
use std::time::Duration;

use baler_fuzz::{TARGETS, Target, drive, files_of};

/// Mutations of each target in one test; `cargo xtask fuzz` goes on for longer.
const EXECUTIONS: u64 = 400;

pub(crate) fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus")
}

fn files(target: &Target) -> Vec<(PathBuf, Vec<u8>)> {
    let mut files = files_of(&folder(), target).unwrap();
    if target.name == "parquet" {
        let hostile = Target {
            name: "hostile",
            ..*target
        };
        files.extend(files_of(&folder(), &hostile).unwrap());
    }
    files
}

#[test]
fn nothing_in_the_corpus_does_harm() {
    for target in &TARGETS {
        let files = files(target);
        assert!(!files.is_empty(), "{} has no corpus", target.name);
        for (path, bytes) in files {
            println!("{}", path.display());
            (target.run)(&bytes);
        }
    }
}

#[test]
fn mutations_of_the_corpus_do_no_harm() {
    for target in &TARGETS {
        let corpus: Vec<Vec<u8>> = files(target).into_iter().map(|(_, bytes)| bytes).collect();
        let bounds = (EXECUTIONS, Duration::from_secs(10));
        let driven = drive(target, &corpus, 7, bounds, |_| {});
        assert!(driven.executions > 0, "{}", target.name);
    }
}

/// A door that nothing passes is not looked at.
#[test]
fn the_corpus_gets_past_the_first_check() {
    let read = |target: &str, name: &str| std::fs::read(folder().join(target).join(name)).unwrap();
    let slot = baler_core::ids::Sequence(7);
    assert!(baler_journal::entry::Entry::decode(slot, &read("journal", "entry.zst")).is_ok());
    assert!(baler_journal::snapshot::read(slot, &read("snapshot", "snapshot.zst")).is_ok());
    let poll: baler::desk::protocol::PollAsk = serde_json::from_slice(&read("api", "poll.json")).unwrap();
    assert!(!poll.updates.is_empty());
    let input = baler_merge::MemoryFile::new("plain", read("parquet", "plain.parquet"));
    let input: std::sync::Arc<dyn baler_merge::Input> = std::sync::Arc::new(input);
    assert!(baler_merge::inspect(&input, &baler_merge::Asked::default()).is_ok());
}
