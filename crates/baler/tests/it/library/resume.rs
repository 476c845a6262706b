//! A job that is cut off at any request, again and again, and gone on with by another process each time: its rows are those of
//! a job that nobody disturbed, and no range that was finished is merged again. Formats are Baler's own and one of keys and
//! values; processes have a replica, or a coordinator.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use baler::depot::Input;
use baler::embed::{Baler, Builder, NewFile, RemoteWorker};
use baler::merge::rows::{Row, RowFormat, RowMerge};
use baler::merge::{Merge, MergeFault, Merged, ParquetMerge, Work};
use baler::settings::Merging;
use baler_core::file::{KeyRange, Level};
use baler_core::ids::{JobId, Partition, TableName};
use baler_core::job::{Job, Span};
use baler_core::state::State;
use baler_core::table::{MergeSpec, TableSpec};
use bytes::Bytes;
use futures::StreamExt;
use object_store::memory::InMemory;
use object_store::path::Path;
use object_store::{ObjectStore, ObjectStoreExt};
use tokio::runtime::Runtime;

use super::format::Kv;
use super::shapes;
use super::wire::{CutAt, Wire};
use crate::support::{parquet_of, rows_in, soaking};

const TABLE: &str = "rows";
const FILES: u64 = 12;
const PATIENCE: Duration = Duration::from_secs(60);

#[derive(Clone, Copy, Debug)]
enum Format {
    Parquet,
    KeysAndValues,
}

#[derive(Clone, Copy, Debug)]
enum Shape {
    BucketOnly,
    Coordinator,
}

/// What a case is about: everything follows from its number.
#[derive(Clone, Copy, Debug)]
struct Case {
    number: u64,
    format: Format,
    shape: Shape,
    deaths: u64,
}

impl Case {
    fn new(number: u64) -> Self {
        Self {
            number,
            format: [Format::Parquet, Format::KeysAndValues][(number % 2) as usize],
            shape: [Shape::BucketOnly, Shape::Coordinator][(number / 2 % 2) as usize],
            deaths: 1 + number % 3,
        }
    }

    /// So many that files are smaller than their target.
    fn keys_a_file(self) -> u64 {
        match self.format {
            Format::Parquet => 2_500,
            Format::KeysAndValues => 400,
        }
    }

    /// Where its n-th process is cut off, if an undisturbed one asks so much.
    fn cut_at(self, death: u64, requests: u64) -> CutAt {
        let drawn = scattered(self.number * 31 + death);
        CutAt {
            request: 1 + drawn % requests,
            lands: drawn & (1 << 40) == 0,
        }
    }
}

fn scattered(number: u64) -> u64 {
    let mut bits = number.wrapping_add(0x9e37_79b9_7f4a_7c15);
    bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    bits ^ (bits >> 31)
}

/// A range, by its job and its first key.
type RangeOf = (JobId, Option<Vec<u8>>);

fn range_of(job: JobId, span: &Span) -> RangeOf {
    (job, span.from.as_ref().map(|edge| edge.0.to_vec()))
}

/// A merge that remembers which ranges it was asked for.
#[derive(Clone, Debug)]
struct Remembering {
    merge: Arc<dyn Merge>,
    begun: Arc<Mutex<Vec<RangeOf>>>,
}

impl Remembering {
    fn of(format: Format) -> Self {
        Self {
            merge: match format {
                Format::Parquet => Arc::new(ParquetMerge),
                Format::KeysAndValues => Arc::new(RowMerge::new(Kv)),
            },
            begun: Arc::default(),
        }
    }
}

impl Merge for Remembering {
    fn format(&self) -> &str {
        self.merge.format()
    }

    fn rules(&self) -> Vec<Arc<str>> {
        self.merge.rules()
    }

    fn edges(&self, job: &Job, inputs: &[Arc<dyn Input>], ranges: usize) -> Result<Vec<Vec<u8>>, MergeFault> {
        self.merge.edges(job, inputs, ranges)
    }

    fn merge(&self, work: &Work<'_>) -> Result<Merged, MergeFault> {
        self.begun.lock().unwrap().push(range_of(work.job.id, work.span));
        self.merge.merge(work)
    }
}

fn table(format: Format) -> TableSpec {
    let mut spec = shapes::spec();
    let merge = Remembering::of(format);
    let own = |spec: MergeSpec| match format {
        Format::Parquet => spec,
        Format::KeysAndValues => MergeSpec {
            sort: Vec::new(),
            format: Some(merge.format().into()),
            own_rules: merge.rules(),
            ..spec
        },
    };
    spec.merge = Arc::new(own(MergeSpec {
        target_bytes: 64 << 10,
        ..MergeSpec::clone(&spec.merge)
    }));
    spec.names_once = true;
    spec
}

fn part(case: Case, store: Arc<dyn ObjectStore>) -> Builder {
    Baler::builder("db")
        .store(store)
        .table(TABLE, table(case.format))
        .lease(Duration::from_secs(1))
}

/// Files that overlap everywhere: every key is in one of them, and some in two.
async fn write(case: Case, store: &dyn ObjectStore, writer: &Baler) {
    for file in 0..FILES {
        let mut keys: Vec<u64> = (0..case.keys_a_file()).map(|key| key * FILES + file).collect();
        keys.extend((0..20).map(|key| key * 300 * FILES / 20 + (file + 1) % FILES));
        keys.sort_unstable();
        keys.dedup();
        let name = format!("in/{file}.{}", table(case.format).merge.format());
        let at = Path::from(format!("db/{name}"));
        let bytes = match case.format {
            Format::Parquet => parquet(&keys, file),
            Format::KeysAndValues => keys_and_values(&keys, file),
        };
        store.put(&at, bytes.into()).await.unwrap();
        match case.format {
            Format::Parquet => {
                let added = writer.add_parquet(TABLE, &[&name]).await.unwrap();
                assert!(added.is_clean(), "{added:?}");
            }
            Format::KeysAndValues => {
                let file = NewFile {
                    path: name,
                    partition: Partition::from("in"),
                    level: Level(0),
                    rows: keys.len() as u64,
                    keys: Some(KeyRange {
                        min: key(keys[0]).to_vec().into(),
                        max: key(keys[keys.len() - 1]).to_vec().into(),
                    }),
                };
                writer.add_files(TABLE, &[file]).await.unwrap();
            }
        }
    }
}

fn key(number: u64) -> Bytes {
    format!("{number:06}").into()
}

fn parquet(keys: &[u64], file: u64) -> Vec<u8> {
    let noise = |key: &u64| i64::from_ne_bytes(scattered(key * 16 + file).to_ne_bytes());
    let rows = keys.iter().map(|key| (*key as i64, noise(key), "text"));
    parquet_of(&rows.collect::<Vec<_>>())
}

fn keys_and_values(keys: &[u64], file: u64) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut writer = Kv.write();
    for number in keys {
        let row = Row {
            key: key(*number),
            version: file,
            value: format!("{:032x}", scattered(number * 16 + file)).into(),
        };
        writer.push(&row, &mut bytes).unwrap();
    }
    writer.end(&mut bytes).unwrap();
    bytes
}

/// A file that is all in memory.
pub(super) struct Held(pub(super) Bytes);

impl Input for Held {
    fn name(&self) -> &'static str {
        "held"
    }

    fn len(&self) -> u64 {
        self.0.len() as u64
    }

    fn read_at(&self, offset: u64, length: usize) -> std::io::Result<Bytes> {
        let offset = usize::try_from(offset).unwrap();
        Ok(self.0.slice(offset..offset + length))
    }
}

/// All rows of all live files, in order.
async fn rows(case: Case, store: &dyn ObjectStore, state: &State) -> Vec<String> {
    let mut rows = Vec::new();
    for path in state.tables[&TableName::from(TABLE)].files.keys() {
        let at = Path::from(format!("db/{path}"));
        let bytes = store.get(&at).await.unwrap().bytes().await.unwrap();
        match case.format {
            Format::Parquet => rows.extend(rows_in(bytes)),
            Format::KeysAndValues => {
                let input: Arc<dyn Input> = Arc::new(Held(bytes));
                let span = Span::default();
                let read = Kv.read(&input, &span).unwrap();
                rows.extend(read.map(|row| format!("{:?}", row.unwrap().1)));
            }
        }
    }
    rows.sort();
    rows
}

/// A process that works, until it is killed: all that it runs on goes at once.
struct Process {
    runtime: Option<Runtime>,
    merge: Remembering,
}

impl Process {
    fn start(case: Case, wire: &Wire, url: &str) -> Self {
        let merging = Merging::new(Some(2), Some(1), 128 << 20, 64 << 10).unwrap();
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .enable_all()
            .build()
            .unwrap();
        let merge = Remembering::of(case.format);
        let (format, store, url) = (merge.clone(), Arc::new(wire.clone()), url.to_owned());
        runtime.spawn(async move {
            match case.shape {
                Shape::BucketOnly => {
                    let part = part(case, store).format(format).worker(merging);
                    let _working = part.start().await.unwrap();
                    std::future::pending::<()>().await;
                }
                Shape::Coordinator => {
                    let worker = RemoteWorker::builder([url.as_str()]).store(store);
                    let worker = worker.format(format).merging(merging);
                    worker.start().await.unwrap().until_ended().await.unwrap();
                }
            }
        });
        let runtime = Some(runtime);
        Self { runtime, merge }
    }

    fn begun(&self) -> BTreeSet<RangeOf> {
        self.merge.begun.lock().unwrap().iter().cloned().collect()
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}

/// Everything that was written is merged.
fn is_done(state: &State) -> bool {
    let files = &state.tables[&TableName::from(TABLE)].files;
    state.jobs.is_empty() && files.values().all(|file| file.level > Level(0))
}

async fn until_done(case: Case, writer: &Baler) {
    let begun = Instant::now();
    loop {
        writer.root().replica.catch_up().await.unwrap();
        if is_done(&writer.state()) {
            return;
        }
        assert!(begun.elapsed() < PATIENCE, "{case:?}: {:?}", writer.state().jobs);
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

fn finished(state: &State) -> BTreeSet<RangeOf> {
    let ranges = state
        .jobs
        .values()
        .flat_map(|job| job.finished().map(move |(range, _)| (job, range)));
    ranges
        .filter_map(|(job, range)| Some(range_of(job.id, &job.range(range)?.span)))
        .collect()
}

/// What a case came to.
struct Told {
    rows: Vec<String>,
    requests: u64,
    ranges: usize,
    /// Ranges that were finished when a process died.
    kept: usize,
    /// Processes that died before all was done.
    died: u64,
}

/// With the requests of an undisturbed run the processes of this one are cut off; without, none is.
async fn tell(case: Case, requests: Option<u64>) -> Told {
    let store: Arc<dyn ObjectStore> = Arc::new(InMemory::new());
    let listen = "127.0.0.1:0".parse().unwrap();
    let writer = part(case, store.clone()).listen(listen).start().await.unwrap();
    write(case, &*store, &writer).await;
    let before = writer.state().tables[&TableName::from(TABLE)].files.len() as u64;
    assert_eq!(before, FILES);
    let url = writer.url().unwrap();
    let (mut done, mut died) = (BTreeSet::new(), 0);
    for death in 0..requests.map_or(0, |_| case.deaths) {
        let cut_at = case.cut_at(death, requests.unwrap());
        let wire = Wire::new(store.clone(), Some(cut_at));
        let process = Process::start(case, &wire, &url);
        let over = tokio::select! {
            () = wire.until_cut() => false,
            () = until_done(case, &writer) => true,
        };
        wire.cut_now();
        let begun = process.begun();
        drop(process);
        assert!(
            begun.is_disjoint(&done),
            "{case:?}: a finished range was merged again after death {death}"
        );
        if over {
            break;
        }
        died += 1;
        writer.root().replica.catch_up().await.unwrap();
        done.extend(finished(&writer.state()));
    }
    let wire = Wire::new(store.clone(), None);
    let last = Process::start(case, &wire, &url);
    until_done(case, &writer).await;
    let begun = last.begun();
    assert!(
        begun.is_disjoint(&done),
        "{case:?}: a finished range was merged again"
    );
    let told = Told {
        rows: rows(case, &*store, &writer.state()).await,
        requests: wire.asked(),
        ranges: begun.len(),
        kept: done.len(),
        died,
    };
    drop(last);
    writer.stop().await.unwrap();
    told
}

/// Trap: whoever takes over begins anew; or goes on, and loses or doubles rows at the seam.
#[test]
fn a_job_cut_off_at_any_request_and_resumed_elsewhere_gives_the_rows_of_an_uncut_one() {
    let cases = if soaking() { 400 } else { 24 };
    let runtime = tokio::runtime::Builder::new_multi_thread();
    let runtime = { runtime }.worker_threads(2).enable_all().build().unwrap();
    let (kept, died) = runtime.block_on(async {
        let mut uncut = Vec::new();
        for number in 0..4 {
            let told = tell(Case::new(number), None).await;
            assert!(told.ranges >= 3, "{} ranges show nothing", told.ranges);
            uncut.push(Arc::new(told));
        }
        let told = (0..cases).map(|number| {
            let (case, uncut) = (Case::new(number), uncut[(number % 4) as usize].clone());
            async move {
                let told = tell(case, Some(uncut.requests)).await;
                assert!(told.rows == uncut.rows, "{case:?}: rows were lost or doubled");
                (told.kept, told.died)
            }
        });
        let told = futures::stream::iter(told).buffer_unordered(8);
        told.fold((0, 0), |sum, one| async move { (sum.0 + one.0, sum.1 + one.1) })
            .await
    });
    runtime.shutdown_background();
    println!(
        "figure: {cases} jobs, {died} processes cut off, {kept} finished ranges found by the next and not merged again"
    );
    assert!(
        kept > 0 && died * 4 > cases * 3,
        "{died} deaths with {kept} ranges show nothing"
    );
}
