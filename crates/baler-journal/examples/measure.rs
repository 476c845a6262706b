//! How long the journal takes, and how much memory. Run in release:
//!
//! ```text
//! measure snapshot DIR FILES     writes a root whose snapshot holds so many files
//! measure load DIR               opens it, and tells the time and the peak of memory
//! measure core FILES             both, in processes of their own, against the limits that the project promises
//! measure polls FILES            polls a table at rest, the first time and then again
//! measure append DIR COUNT       appends to a directory, one after another and from 16 tasks
//! ```

use std::sync::Arc;
use std::time::{Duration, Instant};

use baler_core::file::{Digest, File, FilePath, Identity, KeyRange, Level, Origin};
use baler_core::ids::{JobId, JournalId, Partition, Sequence, TableName, WatcherId};
use baler_core::request::{Poll, Request, Scope};
use baler_core::state::State;
use baler_core::table::{Catalog, MergeSpec, SortColumn, TableSpec};
use baler_core::time::StoreTime;
use baler_core::{Batch, Event, planner};
use baler_journal::entry::Proposal;
use baler_journal::replica::Settings;
use baler_journal::store::LocalStore;
use baler_journal::{Access, Appended, Journal, ObjectLog, Replica, snapshot};

const REPLAY_MAX: Duration = Duration::from_secs(5);
const PLANNING_MAX: Duration = Duration::from_secs(2);
const MEMORY_MB_MAX: u64 = 1_000;
const IDLE_POLL_MAX: Duration = Duration::from_millis(1);

type Outcome = Result<(), Box<dyn std::error::Error>>;

#[tokio::main]
async fn main() -> Outcome {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match arguments[..] {
        ["snapshot", directory, files] => write_snapshot(directory, files.parse()?).await,
        ["load", directory] => load(directory).await,
        ["core", files] => {
            core(files)?;
            polls(files.parse()?)
        }
        ["polls", files] => polls(files.parse()?),
        ["append", directory, count] => append(directory, count.parse()?).await,
        _ => {
            Err("measure snapshot DIR FILES | load DIR | core FILES | polls FILES | append DIR COUNT".into())
        }
    }
}

async fn log_in(directory: &str) -> Result<Arc<ObjectLog>, Box<dyn std::error::Error>> {
    std::fs::create_dir_all(directory)?;
    let store = Arc::new(LocalStore::open(directory)?);
    Ok(Arc::new(ObjectLog::open(store, Access::ReadWrite).await?))
}

/// A poll of a table at rest costs what has changed, not what there is.
fn polls(files: u64) -> Outcome {
    let mut state = State::default();
    let healthy = |number: u64| {
        let mut file = file(number);
        file.identity.bytes = MergeSpec::default().target_bytes;
        Arc::new(file)
    };
    append_events(
        &mut state,
        vec![
            Event::JournalCreated {
                journal: JournalId(1),
            },
            Event::TableCreated {
                table: TableName::from("t"),
                spec: Arc::new(spec()),
            },
            Event::FilesAdded {
                table: TableName::from("t"),
                files: (0..files).map(healthy).collect(),
            },
        ],
    );
    let partitions: usize = state.tables.values().map(|table| table.partitions.len()).sum();
    let first = poll(&mut state);
    let again = (0..100).map(|_| poll(&mut state)).max().unwrap_or_default();
    let news = Event::FilesAdded {
        table: TableName::from("t"),
        files: vec![healthy(files)],
    };
    append_events(&mut state, vec![news]);
    let after_one = poll(&mut state);
    println!("{files} files at rest in {partitions} partitions: first poll {first:.2?}");
    println!("then at most {again:.2?} (limit {IDLE_POLL_MAX:?}), and {after_one:.2?} after one more file");
    match again <= IDLE_POLL_MAX {
        true => Ok(()),
        false => Err("a limit is passed".into()),
    }
}

/// Decides a poll and applies what it decided; the time that took.
fn poll(state: &mut State) -> Duration {
    let request = Request::Poll(Poll {
        worker: "w".into(),
        watcher: WatcherId(1),
        embedded: true,
        host: None,
        slots: 4,
        memory: None,
        isolates: false,
        scope: Scope::default(),
    });
    let begun = Instant::now();
    let mut open = state.clone();
    open.open_batch(None);
    let events = baler_core::decide(&open, &request).events;
    append_events(state, events);
    begun.elapsed()
}

fn append_events(state: &mut State, events: Vec<Event>) {
    let batch = Batch {
        sequence: state.sequence.next(),
        parent_time: None,
        events,
    };
    baler_core::apply(state, &batch);
}

async fn write_snapshot(directory: &str, files: u64) -> Outcome {
    let journal = JournalId(1);
    let table = TableName::from("t");
    let log = log_in(directory).await?;
    let mut events = vec![
        Event::JournalCreated { journal },
        Event::TableCreated {
            table: table.clone(),
            spec: Arc::new(spec()),
        },
    ];
    let batch = Batch {
        sequence: Sequence(1),
        parent_time: None,
        events: events.clone(),
    };
    let proposal = Proposal::of_batch(journal, Default::default(), &batch)?;
    let appended = log.append(&proposal).await?;
    assert!(
        matches!(appended, Appended::Committed { .. }),
        "{appended:?}: use an empty directory"
    );
    let files: Vec<_> = (0..files).map(|number| Arc::new(file(number))).collect();
    events.push(Event::FilesAdded { table, files });
    let mut state = State::default();
    baler_core::apply(
        &mut state,
        &Batch {
            sequence: Sequence(1),
            parent_time: None,
            events,
        },
    );
    let begun = Instant::now();
    let bytes = snapshot::write(&state, proposal.checksum);
    println!("written in {:.2?}, {} bytes", begun.elapsed(), bytes.len());
    log.write_snapshot(Sequence(1), bytes).await?;
    Ok(())
}

fn spec() -> TableSpec {
    TableSpec {
        merge: Arc::new(MergeSpec {
            sort: vec![SortColumn {
                name: "key".into(),
                descending: false,
                nulls_first: false,
            }],
            ..MergeSpec::default()
        }),
        ..TableSpec::of(Catalog::InPlace)
    }
}

/// As a plain table of a year of hours would have them.
fn file(number: u64) -> File {
    let partition = format!("year=2026/month={:02}/hour={:04}", number % 12, number % 8_760);
    let random = xxhash(number);
    File {
        path: FilePath::in_root(format!("{partition}/part-{random:016x}-{number:08}.parquet")),
        identity: Identity {
            tag: format!("\"{random:032x}\"").into(),
            bytes: 1_000_000 + random as u64 % 1_000_000,
            modified: StoreTime {
                unix_ms: 1_700_000_000_000 + number,
            },
        },
        partition: Partition::from(partition.as_str()),
        level: Level((number % 3) as u8),
        rows: random as u64 % 100_000,
        keys: Some(KeyRange {
            min: Box::from(number.to_be_bytes()),
            max: Box::from((number + 9).to_be_bytes()),
        }),
        times: None,
        digest: Some(Digest(random)),
        checksum: Some(Digest(random.rotate_left(9))),
        origin: Origin::Job(JobId(number / 8)),
        added: Sequence(1),
        apart: None,
    }
}

fn xxhash(number: u64) -> u128 {
    baler_journal::checksum::Checksum::of(&number.to_le_bytes()).0
}

async fn load(directory: &str) -> Outcome {
    let begun = Instant::now();
    let replica = Replica::open(log_in(directory).await?, Settings::default()).await?;
    let files: usize = replica
        .state()
        .tables
        .values()
        .map(|table| table.files.len())
        .sum();
    let loaded = begun.elapsed();
    let begun = Instant::now();
    let jobs = plan_all(&replica.state());
    let planned = begun.elapsed();
    let peak_mb = peak_memory_kb()? / 1_000;
    println!("{files} files: replayed from a snapshot in {loaded:.2?} (limit {REPLAY_MAX:?})");
    println!("{files} files: {jobs} jobs planned in {planned:.2?} (limit {PLANNING_MAX:?})");
    println!("{files} files: peak memory {peak_mb} MB (limit {MEMORY_MB_MAX} MB)");
    match loaded <= REPLAY_MAX && planned <= PLANNING_MAX && peak_mb <= MEMORY_MB_MAX {
        true => Ok(()),
        false => Err("a limit is passed".into()),
    }
}

/// A planning round that looks at every file.
fn plan_all(state: &State) -> usize {
    let tables = state.tables.values();
    let partitions = tables.flat_map(|table| table.partitions.keys().map(move |name| (table, name)));
    let choices = partitions.map(|(table, name)| planner::choose(&table.spec, &table.view(name, state.time)));
    choices.map(|choice| choice.jobs.len()).sum()
}

fn core(files: &str) -> Outcome {
    let directory = tempfile::tempdir()?;
    let path = directory
        .path()
        .to_str()
        .ok_or("the temporary directory has an odd name")?;
    let program = std::env::current_exe()?;
    for arguments in [&["snapshot", path, files][..], &["load", path]] {
        if !std::process::Command::new(&program)
            .args(arguments)
            .status()?
            .success()
        {
            return Err(format!("{} failed", arguments[0]).into());
        }
    }
    Ok(())
}

fn peak_memory_kb() -> Result<u64, Box<dyn std::error::Error>> {
    let status = std::fs::read_to_string("/proc/self/status")?;
    let peak = status
        .lines()
        .find_map(|line| line.strip_prefix("VmHWM:"))
        .ok_or("no VmHWM")?;
    Ok(peak.trim().trim_end_matches(" kB").parse()?)
}

async fn append(directory: &str, count: u64) -> Outcome {
    let begun = Instant::now();
    let log = log_in(directory).await?;
    println!("root made or checked in {:.2?}", begun.elapsed());
    let replica = Replica::open(log, Settings::default()).await?;
    replica.submit(Request::CreateJournal(JournalId(1))).await?;
    let mut times = Vec::new();
    for _ in 0..count {
        let begun = Instant::now();
        replica.submit(Request::Tick).await?;
        times.push(begun.elapsed());
    }
    times.sort();
    let at = |share: usize| {
        times
            .get(times.len() * share / 100)
            .copied()
            .unwrap_or(Duration::ZERO)
    };
    println!("in turn: median {:.2?}, 99 of 100 below {:.2?}", at(50), at(99));
    let begun = Instant::now();
    let before = replica.journal().counters().commits.get();
    let tasks = (0..16).map(|_| {
        let replica = replica.clone();
        tokio::spawn(async move {
            for _ in 0..count / 16 {
                replica.submit(Request::Tick).await?;
            }
            Ok::<_, baler_journal::JournalError>(())
        })
    });
    for task in tasks.collect::<Vec<_>>() {
        task.await??;
    }
    let appends = replica.journal().counters().commits.get() - before;
    let rate = count as f64 / begun.elapsed().as_secs_f64();
    println!("from 16 tasks: {rate:.0} requests a second in {appends} appends");
    replica.close().await;
    Ok(())
}
