//! Fleets on a real store whose processes die all the time, while files keep arriving: every row is there once, every file
//! was replaced once, nothing is left behind, and little was done in vain. A tenth of it runs in CI, all of it in
//! `cargo xtask soak`.

use std::collections::BTreeMap;
use std::fs::File;
use std::net::TcpListener;
use std::path::PathBuf;
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

use super::place::Place;
use crate::ledger::Ledger;
use crate::support::tenth_unless_soaking;

const DEATHS: u32 = 200;
const WORKERS: usize = 8;
const COORDINATORS: usize = 2;

/// A worker dies this often, and a coordinator, where there are any.
const WORKER_DIES: Duration = Duration::from_secs(2);
const COORDINATOR_DIES: Duration = Duration::from_secs(5);

/// A file arrives this often, in one of so many folders.
const FILE_ARRIVES: Duration = Duration::from_millis(100);
const FOLDERS: i64 = 12;
const ROWS_A_FILE: i64 = 200;

const WASTED_SHARE_MAX: f64 = 0.25;

const PATIENCE: Duration = Duration::from_secs(240);

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn coordinators_and_workers_that_die_all_the_time_lose_nothing() {
    let Some(place) = Place::seaweed().await else {
        return;
    };
    let ports: Vec<u16> = (0..COORDINATORS).map(|_| free_port()).collect();
    let urls: Vec<String> = ports
        .iter()
        .map(|port| format!("http://127.0.0.1:{port}"))
        .collect();
    let root = place.at("data");
    let mut herd = Herd::new(&place).await;
    for port in ports {
        let listen = format!("127.0.0.1:{port}");
        let serve = [
            "serve",
            &root,
            "--no-worker",
            "--listen",
            &listen,
            "--lease",
            "3s",
        ];
        herd.coordinators
            .push(herd.start(&[&serve, &LOOKING[..]].concat()));
    }
    for _ in 0..WORKERS {
        let urls: Vec<&str> = urls.iter().map(String::as_str).collect();
        herd.workers
            .push(herd.start(&[&["worker"], &urls[..], &MERGING].concat()));
    }
    herd.survive("two coordinators and eight workers").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn workers_with_nothing_but_the_bucket_that_die_all_the_time_lose_nothing() {
    let Some(place) = Place::seaweed().await else {
        return;
    };
    let root = place.at("data");
    let mut herd = Herd::new(&place).await;
    for number in 0..WORKERS {
        // Two of them look for new files, as the documentation advises.
        let looking: &[&str] = if number < 2 {
            &LOOKING
        } else {
            &["--rescan", "never"]
        };
        let worker = [&["worker", &root, "--lease", "3s"], looking, &MERGING].concat();
        herd.workers.push(herd.start(&worker));
    }
    herd.survive("eight workers with nothing but the bucket").await;
}

const LOOKING: [&str; 4] = ["--rescan", "1s", "--settle", "0s"];
const MERGING: [&str; 6] = ["--workers", "1", "--threads", "1", "--memory", "64MiB"];

/// A process that is killed when it is dropped.
pub(super) struct Mortal {
    child: Child,
    args: Vec<String>,
    said: PathBuf,
}

impl Mortal {
    /// What it says is kept beside the place, for whoever looks into a failure.
    pub(super) fn start(place: &Place, args: &[&str]) -> Self {
        let path = place.folder().join("said.txt");
        let said = File::options().create(true).append(true).open(&path).unwrap();
        let mut command = place.command(args);
        let child = command.stdout(Stdio::null()).stderr(said).spawn().unwrap();
        Self {
            child,
            args: args.iter().map(|arg| (*arg).to_owned()).collect(),
            said: path,
        }
    }

    /// SIGKILL; and another begins in its place.
    fn die(&mut self, place: &Place) {
        assert!(
            self.child.try_wait().unwrap().is_none(),
            "{:?} ended by itself: {}",
            self.args,
            self.said()
        );
        let args: Vec<&str> = self.args.iter().map(String::as_str).collect();
        self.child.kill().unwrap();
        self.child.wait().unwrap();
        *self = Self::start(place, &args);
    }

    /// SIGTERM; answers with its exit code.
    pub(super) fn leave(&mut self) -> Option<i32> {
        let pid = Pid::from_raw(i32::try_from(self.child.id()).unwrap()).unwrap();
        kill_process(pid, Signal::TERM).unwrap();
        self.child.wait().unwrap().code()
    }

    /// What it and those beside it have said.
    pub(super) fn said(&self) -> String {
        std::fs::read_to_string(&self.said).unwrap_or_default()
    }
}

impl Drop for Mortal {
    fn drop(&mut self) {
        let _gone_already = self.child.kill();
        let _gone_already = self.child.wait();
    }
}

/// The processes on one root, and what they were given to do.
struct Herd<'a> {
    place: &'a Place,
    coordinators: Vec<Mortal>,
    workers: Vec<Mortal>,
    /// Rows that were written, each once.
    rows: BTreeMap<String, u64>,
    files: i64,
}

impl<'a> Herd<'a> {
    async fn new(place: &'a Place) -> Self {
        let mut herd = Self {
            place,
            coordinators: Vec::new(),
            workers: Vec::new(),
            rows: BTreeMap::new(),
            files: 0,
        };
        for _ in 0..2 * FOLDERS {
            herd.write().await;
        }
        let first = place.compact("data", &["--sort-by", "key"]);
        assert_eq!(first.code, 0, "{first:?}");
        herd
    }

    fn start(&self, args: &[&str]) -> Mortal {
        Mortal::start(self.place, args)
    }

    /// One more file of rows that no other has.
    async fn write(&mut self) {
        let number = self.files;
        self.files += 1;
        let rows: Vec<(i64, i64, &str)> = (0..ROWS_A_FILE)
            .map(|row| (number * ROWS_A_FILE + row, number, "some text"))
            .collect();
        let path = format!("data/day={:02}/part-{number:06}.parquet", number % FOLDERS);
        self.place.write(&path, &rows).await;
        let shown = rows
            .iter()
            .map(|(key, seq, text)| (format!("key={key} seq={seq} text={text}"), 1));
        self.rows.extend(shown);
    }

    async fn survive(mut self, who: &str) {
        let deaths = tenth_unless_soaking(DEATHS);
        let began = Instant::now();
        let (mut workers, mut coordinators) = (0, 0);
        while workers + coordinators < deaths {
            self.write().await;
            if began.elapsed() > WORKER_DIES * (workers + 1) {
                one_of(&mut self.workers).die(self.place);
                workers += 1;
            }
            if !self.coordinators.is_empty() && began.elapsed() > COORDINATOR_DIES * (coordinators + 1) {
                one_of(&mut self.coordinators).die(self.place);
                coordinators += 1;
            }
            tokio::time::sleep(FILE_ARRIVES).await;
        }
        let lived = began.elapsed();
        self.come_to_rest().await;
        self.assert_whole(who, workers, coordinators, lived).await;
    }

    /// Nobody dies any more: everything is merged, and those who are told to stop leave in order.
    async fn come_to_rest(&mut self) {
        let began = Instant::now();
        let mut rested = 0;
        while rested < 3 {
            assert!(
                began.elapsed() < PATIENCE,
                "not at rest: {:?}\n{}",
                self.place.data_files("data").await,
                self.workers[0].said()
            );
            // Longer than it takes to find a file that was just written.
            tokio::time::sleep(Duration::from_secs(1)).await;
            rested = if self.is_at_rest().await { rested + 1 } else { 0 };
        }
        for mortal in self.workers.iter_mut().chain(&mut self.coordinators) {
            let left = mortal.leave();
            assert_eq!(left, Some(0), "{:?}: {}", mortal.args, mortal.said());
        }
    }

    /// No job is open, and nothing is in sight but what is live.
    async fn is_at_rest(&self) -> bool {
        let status = self
            .place
            .baler(&["status", &self.place.at("data"), "--json"])
            .json();
        let in_sight = self.place.data_files("data").await.len();
        status["jobs"] == serde_json::json!([]) && status["live"]["files"] == in_sight
    }

    async fn assert_whole(&self, who: &str, workers: u32, coordinators: u32, lived: Duration) {
        let (place, root) = (self.place, self.place.at("data"));
        let last = place.compact("data", &[]);
        assert_eq!((last.code, last.number("jobs")), (0, 0), "{last:?}");
        assert!(place.rows("data").await == self.rows, "rows were lost or doubled");
        let verify = place.baler(&["verify", &root]);
        assert_eq!(verify.code, 0, "{verify:?}");
        let ledger = Ledger::read(place.journal_store("data")).await;
        let (replaced, live) = (ledger.replaced(), place.live("data"));
        let twice: Vec<_> = replaced.iter().filter(|(_, times)| **times != 1).collect();
        assert!(twice.is_empty(), "replaced more than once: {twice:?}");
        for number in 0..self.files {
            let path = format!("day={:02}/part-{number:06}.parquet", number % FOLDERS);
            let waits = live.contains(&path);
            assert!(
                replaced.contains_key(path.as_str()) != waits,
                "{path}: live {waits}"
            );
        }
        let gc = place.baler(&["gc", &root, "--now", "--full"]);
        assert_eq!(gc.code, 0, "{gc:?}");
        place.assert_no_orphans("data").await;
        let wasted = ledger.wasted_share();
        println!(
            "figure: {who}, lease 3 s: {workers} workers and {coordinators} coordinators killed in {} s while {} files arrived; {} \
             jobs, each file replaced once, nothing lost, doubled or orphaned; at most {:.1} % of the bytes merged in vain; {} \
             attempts lost",
            lived.as_secs(),
            self.files,
            ledger.jobs(),
            100.0 * wasted,
            ledger.released.len(),
        );
        assert!(
            wasted < WASTED_SHARE_MAX,
            "{wasted} of the bytes were merged in vain"
        );
    }
}

fn one_of(mortals: &mut [Mortal]) -> &mut Mortal {
    &mut mortals[rand::random_range(0..mortals.len())]
}

/// A port that nobody listens on now.
fn free_port() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    listener.local_addr().unwrap().port()
}
