//! A store with a format and a manifest of its own, compacted by processes that are killed in the middle.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use baler::embed::Baler;
use baler::merge::rows::{MergeOperator, Row, RowMerge};
use baler::settings::Merging;

use super::format::{Counters, ForAWhile, Kv};
use super::manifest::Manifests;
use super::store::{self, FourByFour, Store, TABLE};

const FOLDER: &str = "BALER_TEST_STORE";
const PATIENCE: Duration = Duration::from_secs(90);

/// The operator of the store, slow enough to be killed in the middle of a merge.
#[derive(Clone, Copy, Debug)]
struct Slow;

impl MergeOperator for Slow {
    fn rule(&self) -> &str {
        Counters.rule()
    }

    fn fold(&self, rows: &[Row]) -> Vec<Row> {
        std::thread::sleep(Duration::from_micros(500));
        Counters.fold(rows)
    }
}

async fn start(folder: &Path, worker: bool) -> Baler {
    let merging = Merging::new(Some(2), Some(1), 128 << 20, 64 << 10).unwrap();
    let part = Baler::builder(&folder.display().to_string())
        .table(TABLE, store::table())
        .lease(Duration::from_secs(1));
    let part = match worker {
        false => part,
        true => part
            .format(RowMerge::new(Kv).with_operator(Slow).with_filter(ForAWhile))
            .catalog(TABLE, Manifests::open(folder).unwrap())
            .policy(TABLE, FourByFour)
            .worker(merging),
    };
    part.start().await.unwrap()
}

/// Not a story, but one of the processes of one: it works on a store until it is killed, or its parent is gone.
#[test]
fn a_process_that_works_on_the_store_of_another_story() {
    let Some(folder) = std::env::var_os(FOLDER) else {
        return;
    };
    let parent = rustix::process::getppid();
    let runtime = tokio::runtime::Runtime::new().unwrap();
    runtime.block_on(async {
        let _working = start(Path::new(&folder), true).await;
        while rustix::process::getppid() == parent {
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    });
    std::process::exit(0);
}

/// A process, killed when it is dropped.
struct Process(Child);

impl Process {
    fn start(folder: &Path) -> Self {
        let child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "--nocapture"])
            .arg("library::own_format::a_process_that_works_on_the_store_of_another_story")
            .env(FOLDER, folder)
            .stdout(Stdio::null())
            .spawn();
        Self(child.unwrap())
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.0.kill().unwrap();
        self.0.wait().unwrap();
    }
}

#[test]
fn a_store_with_its_own_format_and_manifest_survives_the_death_of_its_workers() {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    runtime.block_on(story());
    runtime.shutdown_background();
}

async fn story() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let mut store = Store::open(folder).unwrap();
    let writer = start(folder, false).await;
    let mut workers: Vec<Process> = (0..2).map(|_| Process::start(folder)).collect();
    let mut model: BTreeMap<String, String> = BTreeMap::new();
    for round in 0..64_i64 {
        for number in 0..40 {
            let key = format!("counter/{:03}", (round * 40 + number) * 7 % 150);
            store.add(&key, number);
            let count = model.get(&key).map_or(0, |text| text.parse::<i64>().unwrap());
            model.insert(key, (count + number).to_string());
        }
        store.set("last", &round.to_string());
        model.insert("last".to_owned(), round.to_string());
        store.set(&format!("tmp/{round}"), "x");
        store.flush(&writer).await.unwrap();
        tokio::time::sleep(Duration::from_millis(40)).await;
        if round % 6 == 5 {
            // Killed where it stands; another takes its place.
            workers[usize::try_from(round / 6 % 2).unwrap()] = Process::start(folder);
        }
    }
    let begun = Instant::now();
    while store.manifests().present().unwrap().files.len() > 1 {
        assert!(
            begun.elapsed() < PATIENCE,
            "{:?}",
            store.manifests().present().unwrap()
        );
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    drop(workers);
    assert_eq!(
        store.read_all().unwrap(),
        model,
        "what was written, and nothing else"
    );
    each_file_was_replaced_once(store.manifests());
    writer.stop().await.unwrap();
}

/// The manifest's history: a file comes once and goes once, and no job is there twice.
fn each_file_was_replaced_once(manifests: &Manifests) {
    let until = manifests.present().unwrap().version;
    let versions: Vec<_> = (0..=until)
        .map(|version| manifests.read(version).unwrap())
        .collect();
    let (mut came, mut went) = (BTreeMap::<&String, u32>::new(), BTreeMap::<&String, u32>::new());
    for pair in versions.windows(2) {
        for file in pair[1].files.difference(&pair[0].files) {
            *came.entry(file).or_default() += 1;
        }
        for file in pair[0].files.difference(&pair[1].files) {
            *went.entry(file).or_default() += 1;
        }
    }
    assert!(came.values().chain(went.values()).all(|times| *times == 1));
    assert_eq!(came.len(), went.len() + 1, "all but the last one were replaced");
    let mut jobs: Vec<&String> = versions
        .iter()
        .filter_map(|version| version.job.as_ref())
        .collect();
    let all = jobs.len();
    jobs.sort();
    jobs.dedup();
    assert_eq!(jobs.len(), all, "each job is committed once");
    assert_eq!(all, 16 + 4 + 1);
}
