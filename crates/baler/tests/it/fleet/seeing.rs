//! Whoever looks sees who works on what, how far it is and how long it will still take; and where that is not known, it says so.

use std::collections::BTreeSet;
use std::fs;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::Signal;
use serde_json::Value;

use super::processes::{free_port, wait_until};
use super::shapes::get;
use super::{Fleet, Process};

const PAGE: &str = include_str!("../../../../../docs/metrics.md");

/// Enough that a merge of all of it takes a while.
fn big() -> Fleet {
    let fleet = Fleet::new();
    fleet.scene.write_many(40, 50_000);
    fleet
}

#[test]
fn a_coordinator_tells_how_far_its_workers_are_and_how_long_they_still_take() {
    let fleet = big();
    let serve = fleet.serve(&["--no-worker", "--lease", "1s"]);
    let worker = fleet.worker(&[&serve.url], &["--workers", "1", "--threads", "1"]);
    let mut seen = Value::Null;
    wait_until("the time left is known", || {
        // It is made to sleep most of the time, so that there is something to see.
        worker.send(Signal::CONT);
        thread::sleep(Duration::from_millis(80));
        worker.send(Signal::STOP);
        seen = fleet.scene.baler(&["status", &serve.url, "--json"]).json();
        assert_eq!(seen["recent"].as_array().unwrap().len(), 0, "too late: {seen}");
        seen["leases"][0]["seconds_left"].is_number()
    });
    worker.send(Signal::CONT);
    let lease = &seen["leases"][0];
    let number = |name: &str| {
        lease[name]
            .as_f64()
            .unwrap_or_else(|| panic!("no {name} in {lease}"))
    };
    let left = (number("bytes_total") - number("bytes_done")) / number("bytes_per_second");
    assert!((number("seconds_left") - left).abs() < 0.01, "{lease}");
    assert!(
        number("bytes_done") > 0.0 && number("bytes_done") <= number("bytes_total"),
        "{lease}"
    );
    assert_eq!(lease["attempt"], 1);
    let job = &seen["jobs"][0];
    assert_eq!(job["status"], "leased");
    assert!(job["seconds_left"].is_number(), "{job}");
    let worker = &seen["workers"][0];
    assert_eq!(
        (&worker["worker"], &worker["leases"]),
        (&lease["worker"], &1.into())
    );
    assert!(worker["silent_seconds"].as_f64().unwrap() < 5.0, "{worker}");
    assert_eq!(seen["queue"]["leased"], 1);

    let people = fleet.scene.baler(&["status", &serve.url]);
    assert!(people.stdout.contains("slot(s) free"), "{people:?}");
    let jobs = fleet.scene.baler(&["jobs", &serve.url, "--json"]).json();
    assert_eq!(jobs["id"], job["id"]);
    let figures = get(&serve.url, "/metrics", None);
    assert!(figures.contains("baler_leases{root="), "{figures}");
}

/// Trap: a bar that is guessed. The journal does not say how far an attempt is, and so its reader does not either.
#[test]
fn who_only_reads_the_bucket_is_told_that_the_time_left_is_unknown() {
    let fleet = big();
    let serve = fleet.serve(&["--no-worker", "--lease", "5s"]);
    let worker = fleet.worker(&[&serve.url], &["--threads", "1"]);
    fleet.wait_for_lease();
    worker.send(Signal::STOP);
    let status = fleet.status();
    let lease = &status["leases"][0];
    assert!(
        lease["worker"]
            .as_str()
            .unwrap()
            .contains(&worker.pid().to_string()),
        "{status}"
    );
    for unknown in [
        "bytes_done",
        "bytes_per_second",
        "seconds_left",
        "phase",
        "silent_seconds",
    ] {
        assert!(lease[unknown].is_null(), "{unknown} in {lease}");
    }
    assert!(status["jobs"][0]["seconds_left"].is_null(), "{status}");
    assert!(status["spent"].is_null(), "{status}");
    let people = fleet.scene.baler(&["status", "data"]);
    assert!(people.stdout.contains("time left unknown"), "{people:?}");
    let wrong = fleet.scene.baler(&["status", "data", "--token-file", "token"]);
    assert_eq!(wrong.code, 2, "{wrong:?}");
}

#[test]
fn a_jobs_status_is_one_of_six_words_wherever_it_is_shown() {
    let fleet = Fleet::new();
    fleet.scene.write_many(4, 10);
    let serve = fleet.serve(&["--no-worker"]);
    let words = [
        "planned",
        "leased",
        "compacted",
        "committed",
        "cancelled",
        "failed",
    ];
    let mut seen = BTreeSet::new();
    let mut worker = None;
    wait_until("a job was committed", || {
        for place in ["data", &serve.url] {
            for line in fleet.scene.baler(&["jobs", place, "--json"]).stdout.lines() {
                let job: Value = serde_json::from_str(line).unwrap();
                let word = job["status"].as_str().unwrap().to_owned();
                assert!(words.contains(&word.as_str()), "{job}");
                seen.insert(word);
            }
        }
        worker.get_or_insert_with(|| fleet.worker(&[&serve.url], &[]));
        seen.contains("committed")
    });
}

#[test]
fn a_coordinator_that_wants_a_token_is_shown_it() {
    let fleet = Fleet::new();
    fleet.scene.write_many(2, 10);
    fs::write(fleet.scene.path("token"), "0123456789abcdef0123\n").unwrap();
    let serve = fleet.serve(&["--no-worker", "--token-file", "token"]);
    let refused = fleet.scene.baler(&["status", &serve.url]);
    assert_eq!(refused.code, 1, "{refused:?}");
    assert!(refused.stderr.contains("--token-file"), "{refused:?}");
    let shown = ["status", &serve.url, "--token-file", "token", "--json"];
    let status = fleet.scene.baler(&shown).json();
    assert_eq!(status["journal"], fleet.status()["journal"]);
    let unknown = fleet.scene.baler(&[&shown[..], &["--table", "nowhere"]].concat());
    assert_eq!(unknown.code, 1, "{unknown:?}");
}

/// A worker that tells of itself, and where.
fn listening(fleet: &Fleet, places: &[&str], args: &[&str]) -> (Process, String) {
    let port = free_port().to_string();
    let process = fleet.worker(places, &[&["--listen", &port], args].concat());
    (process, format!("http://127.0.0.1:{port}"))
}

fn names_said(page: &str) -> BTreeSet<String> {
    let said = page.lines().filter_map(|line| line.strip_prefix("# TYPE "));
    said.map(|line| line.replace(' ', " | ")).collect()
}

/// The names that the page of metrics promises of a process: `serve`, `worker ROOT` or `worker URL`.
fn names_promised(of: &str) -> BTreeSet<String> {
    let rows = PAGE.lines().filter_map(|line| line.strip_prefix("| `baler_"));
    let promised = rows.filter_map(|row| {
        let cells: Vec<&str> = row.split('|').map(str::trim).collect();
        let [name, kind, _labels, whose, ..] = cells[..] else {
            panic!("a row without its columns: {row}")
        };
        let exported = |of: &str| whose == "all" || whose.split(", ").any(|one| one == of);
        let exported = of.split(" + ").any(exported);
        exported.then(|| format!("baler_{} | {kind}", name.trim_end_matches('`')))
    });
    promised.collect()
}

#[test]
fn the_page_of_metrics_names_what_each_process_says_and_nothing_else() {
    let fleet = Fleet::new();
    fleet.scene.write_many(2, 10);
    let serve = fleet.serve(&[]);
    assert_eq!(
        names_said(&get(&serve.url, "/metrics", None)),
        names_promised("serve")
    );
    // A worker listens before it has opened its root.
    let says = |url: &str, who: &str| {
        wait_until("the page has all names, and no others", || {
            names_said(&get(url, "/metrics", None)) == names_promised(who)
        });
    };
    let (_worker, url) = listening(&fleet, &["data"], &[]);
    says(&url, "worker ROOT");
    let (_worker, url) = listening(&fleet, &[&serve.url], &[]);
    says(&url, "worker URL");
    assert_eq!(fleet.scene.baler(&["table", "create", "other", "events"]).code, 0);
    let (_worker, url) = listening(&fleet, &["data", "other"], &["--cache", "cache"]);
    says(&url, "worker ROOT + worker ROOTS + cache");
}

#[test]
fn a_workers_own_metrics_name_its_root_and_itself() {
    let fleet = Fleet::new();
    fleet.scene.write_many(8, 100);
    let serve = fleet.serve(&["--no-worker"]);
    let (worker, url) = listening(&fleet, &[&serve.url], &[]);
    wait_until("it has committed", || {
        let page = get(&url, "/metrics", None);
        let mut lines = page
            .lines()
            .filter(|line| line.starts_with("baler_worker_jobs_total{"));
        lines.any(|line| {
            assert!(
                line.contains("root=\"") && line.contains(&format!("-{}-", worker.pid())),
                "{line}"
            );
            line.ends_with(" 1")
        })
    });
    assert!(get(&url, "/healthz", None).ends_with("ok\n"));
    drop(serve);
    wait_until("it says that nobody gives it work", || {
        get(&url, "/healthz", None).starts_with("HTTP/1.1 503")
    });
    assert!(get(&url, "/metrics", None).contains("baler_worker_reachable{"));
}

#[test]
fn a_worker_tells_of_itself_beyond_this_machine_only_with_a_token() {
    let fleet = Fleet::new();
    fleet.scene.write_many(2, 10);
    assert_eq!(fleet.scene.compact(&[]).code, 0);
    let refused = fleet.scene.baler(&["worker", "data", "--listen", "0.0.0.0:0"]);
    assert_eq!(refused.code, 2, "{refused:?}");
    assert!(refused.stderr.contains("--token-file"), "{refused:?}");
    fs::write(fleet.scene.path("token"), "0123456789abcdef0123\n").unwrap();
    let (_worker, url) = listening(&fleet, &["data"], &["--token-file", "token"]);
    assert!(get(&url, "/metrics", None).starts_with("HTTP/1.1 401"));
    assert!(get(&url, "/metrics", Some("0123456789abcdef0123")).starts_with("HTTP/1.1 200"));
    let useless = fleet.scene.baler(&["worker", "data", "--token-file", "token"]);
    assert_eq!(useless.code, 2, "{useless:?}");
}

/// Trap: clients that send their request byte by byte hold every connection there is.
#[test]
fn a_client_that_sends_no_whole_header_within_seconds_is_cut() {
    let fleet = Fleet::new();
    fleet.scene.write_many(2, 10);
    let serve = fleet.serve(&["--no-worker"]);
    let connect = || TcpStream::connect(serve.url.trim_start_matches("http://")).unwrap();
    let (mut silent, mut slow) = (connect(), connect());
    let began = Instant::now();
    let dripping = slow.try_clone().unwrap();
    thread::spawn(move || {
        let mut dripping = dripping;
        for byte in b"GET /healthz HTTP/1.1\r\nHost: somewhere\r\nX-Slow: yes\r\n"
            .iter()
            .cycle()
        {
            if dripping.write_all(&[*byte]).is_err() {
                return;
            }
            thread::sleep(Duration::from_millis(500));
        }
    });
    for stream in [&mut silent, &mut slow] {
        stream.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
        // Cut is cut: an end, or a reset where bytes were still on their way.
        let mut rest = Vec::new();
        if let Err(error) = stream.read_to_end(&mut rest) {
            assert_eq!(error.kind(), std::io::ErrorKind::ConnectionReset, "{error}");
        }
    }
    assert!(began.elapsed() < Duration::from_secs(20), "{:?}", began.elapsed());
    assert!(get(&serve.url, "/healthz", None).starts_with("HTTP/1.1 200"));
}
