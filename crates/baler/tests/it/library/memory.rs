//! One budget of memory for all attempts of a process: each merges with what it was granted.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Arc, Condvar, Mutex};
use std::time::{Duration, Instant};

use baler::depot::Input;
use baler::embed::{Baler, NewFile, RemoteWorker};
use baler::merge::{Merge, MergeFault, Merged, Work, Written};
use baler::settings::Merging;
use baler_core::file::{Digest, Level};
use baler_core::ids::{Partition, TableName};
use baler_core::job::{InputRead, Job};
use baler_core::positions::Positions;
use baler_core::table::MergeSpec;

use super::shapes::{run, spec};

const TABLE: &str = "holes";
const PATIENCE: Duration = Duration::from_secs(30);
const ALL: u64 = 1 << 30;
const EVEN: u64 = ALL / 2;

/// Merges files that are long and empty, and remembers with what memory it was asked to.
#[derive(Clone, Debug, Default)]
struct Holes(Arc<(Mutex<Seen>, Condvar)>);

#[derive(Debug, Default)]
struct Seen {
    /// What merges under way were given.
    now: BTreeMap<u64, u64>,
    begun: u32,
    most: u64,
    /// What was given for jobs of so many bytes.
    given: Vec<(u64, u64)>,
}

impl Holes {
    /// The first merge stays until there is another beside it.
    fn begin(&self, job: &Job, memory: u64) {
        let (seen, changed) = &*self.0;
        let mut seen = seen.lock().unwrap();
        seen.begun += 1;
        seen.now.insert(job.id.0, memory);
        seen.most = seen.most.max(seen.now.values().sum());
        seen.given.push((job.bytes(), memory));
        changed.notify_all();
        drop(changed.wait_timeout_while(seen, PATIENCE, |seen| seen.begun < 2));
    }

    fn end(&self, job: &Job) {
        self.0.0.lock().unwrap().now.remove(&job.id.0);
    }
}

impl Merge for Holes {
    fn format(&self) -> &'static str {
        "holes"
    }

    fn edges(&self, _: &Job, _: &[Arc<dyn Input>], _: usize) -> Result<Vec<Vec<u8>>, MergeFault> {
        Ok(Vec::new())
    }

    fn merge(&self, work: &Work<'_>) -> Result<Merged, MergeFault> {
        self.begin(work.job, work.memory_bytes);
        let written = work.create(0).and_then(|output| output.finish());
        self.end(work.job);
        written.map_err(|source| MergeFault::Node {
            doing: "writing",
            source,
        })?;
        let reads = work.job.inputs.iter().map(|file| InputRead {
            rows: file.rows,
            copied: 0,
            digest: file.digest.unwrap_or(Digest(u128::from(file.rows))),
            positions: Some(Positions::of(0..file.rows)),
        });
        let reads: Vec<InputRead> = reads.collect();
        Ok(Merged {
            outputs: vec![Written {
                part: 0,
                bytes: 0,
                rows: work.job.rows(),
                copied: 0,
                digest: reads.iter().map(|read| read.digest).sum(),
                checksum: Digest(xxhash_rust::xxh3::xxh3_128(&[])),
                keys: None,
                times: None,
            }],
            reads,
            ..Merged::default()
        })
    }
}

fn part(root: &Path) -> baler::embed::Builder {
    let mut spec = spec();
    spec.merge = MergeSpec {
        format: Some("holes".into()),
        sort: Vec::new(),
        ..MergeSpec::clone(&spec.merge)
    }
    .into();
    Baler::builder(&root.display().to_string())
        .table(TABLE, spec)
        .format(Holes::default())
}

/// One large job, and three small ones behind it.
async fn one_large_among_small_ones(root: &Path, writer: &Baler) {
    let partitions = [
        ("large", 100 << 20),
        ("small-1", 10),
        ("small-2", 10),
        ("small-3", 10),
    ];
    for (partition, bytes) in partitions {
        let mut files = Vec::new();
        for number in 0..2 {
            let path = format!("{partition}/{number}.holes");
            std::fs::create_dir_all(root.join(partition)).unwrap();
            let file = std::fs::File::create(root.join(&path)).unwrap();
            file.set_len(bytes).unwrap();
            files.push(NewFile {
                path,
                partition: Partition::from(partition),
                level: Level(0),
                rows: 1,
                keys: None,
            });
        }
        writer.add_files(TABLE, &files).await.unwrap();
    }
}

async fn until_merged(writer: &Baler) {
    let begun = Instant::now();
    loop {
        writer.root().replica.catch_up().await.unwrap();
        let state = writer.state();
        if state.tables[&TableName::from(TABLE)].files.len() == 4 && state.jobs.is_empty() {
            return;
        }
        assert!(begun.elapsed() < PATIENCE, "{:?}", state.jobs);
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

fn merging() -> Merging {
    Merging::new(Some(2), Some(1), ALL, 1 << 40).unwrap()
}

fn check(holes: &Holes) {
    let seen = holes.0.0.lock().unwrap();
    assert_eq!(seen.given.len(), 4);
    let large = seen.given.iter().find(|(bytes, _)| *bytes > 1 << 20).unwrap();
    assert!(large.1 > EVEN, "the large one got {} bytes", large.1);
    for (bytes, memory) in &seen.given {
        assert!(
            *memory <= EVEN / 4 || *bytes > 1 << 20,
            "a small one got {memory}"
        );
    }
    assert!(seen.most > large.1, "nothing was merged beside it");
    assert!(seen.most <= ALL, "{} bytes were given at once", seen.most);
}

/// Trap: memory is cut into even shares, and a large merge spills while small ones beside it hold what they do not use.
#[test]
fn a_large_merge_beside_small_ones_has_what_they_do_not_need() {
    run(async {
        let root = tempfile::tempdir().unwrap();
        let writer = part(root.path()).start().await.unwrap();
        one_large_among_small_ones(root.path(), &writer).await;
        let holes = Holes::default();
        let worker = part(root.path()).format(holes.clone()).worker(merging());
        let worker = worker.start().await.unwrap();
        until_merged(&writer).await;
        worker.stop().await.unwrap();
        check(&holes);
        writer.stop().await.unwrap();
    });
}

#[test]
fn a_remote_worker_merges_with_the_memory_that_it_was_granted() {
    run(async {
        let root = tempfile::tempdir().unwrap();
        let listen = "127.0.0.1:0".parse().unwrap();
        let writer = part(root.path()).listen(listen).start().await.unwrap();
        one_large_among_small_ones(root.path(), &writer).await;
        let holes = Holes::default();
        let url = writer.url().unwrap();
        let worker = RemoteWorker::builder([url.as_str()])
            .format(holes.clone())
            .merging(merging());
        let worker = worker.start().await.unwrap();
        until_merged(&writer).await;
        worker.stop().await.unwrap();
        check(&holes);
        writer.stop().await.unwrap();
    });
}
