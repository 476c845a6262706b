//! What a second worker process is worth: one and two of one thread each, on one folder, by turns.

use std::fs;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use serde_json::Value;

use super::track::{Scratch, Track};
use super::verdict::{self, Bound, Unit, Verdict};
use super::{Sizes, page};
use crate::args::Options;
use crate::interop::Size;
use crate::process;
use crate::shape::Shape;

/// Jobs to share: each takes a worker a fraction of a second.
const PARTITIONS: usize = 32;

/// Two of them take at most this much of the time of one: they are 1.6 times as fast.
const AT_MOST: Bound = Bound::at_most(1.0 / 1.6);

const PATIENCE: Duration = Duration::from_secs(300);

pub(crate) fn run(args: &[String]) -> Result<()> {
    let options = Options::parse_with_flags(args, &["runs", "files", "rows"], &["write"])?;
    let sizes = Sizes::read(&options, Size::FULL, 5)?;
    let track = Track::open()?;
    let source = track.data(Shape::Overlap, sizes.size)?;
    let root = track.folder("root")?;
    let (mut one, mut two) = (Vec::new(), Vec::new());
    for turn in 1..=sizes.runs {
        for (workers, times) in [(1, &mut one), (2, &mut two)] {
            let took = share(&track, source.path(), &root, workers)?;
            println!(
                "{turn}/{}: {workers} worker(s): {:.2} s",
                sizes.runs,
                took.as_secs_f64()
            );
            times.push(took);
        }
    }
    let (one, two) = (median(one), median(two));
    let verdict = Verdict {
        what: "time of two worker processes / of one".to_owned(),
        unit: Unit::Ratio,
        measured: Some(two / one),
        bound: AT_MOST,
    };
    let text = format!(
        "{}; {} files of {} rows in {PARTITIONS} partitions, medians of {} turns: one worker process {one:.2} s, two {two:.2} s, \
         {:.2} times as fast.\n\n{}",
        track.provenance,
        sizes.size.files,
        sizes.size.rows,
        sizes.runs,
        one / two,
        verdict::table(std::slice::from_ref(&verdict))
    );
    println!("\n{text}");
    if options.flag("write") {
        page::write(&track.workspace, page::PERFORMANCE, "workers", &text)?;
    }
    verdict::judge(&[verdict])
}

fn median(mut times: Vec<Duration>) -> f64 {
    times.sort();
    times[times.len() / 2].as_secs_f64()
}

/// How long so many workers take for all that there is to do, from the start of the first.
fn share(track: &Track, source: &Path, root: &Scratch, workers: usize) -> Result<Duration> {
    root.clear()?;
    prepare(track, source, root.path())?;
    let begun = Instant::now();
    let fleet: Vec<Worker> = (0..workers)
        .map(|_| Worker::start(track, root.path()))
        .collect::<Result<_>>()?;
    while outputs(root.path())? < PARTITIONS {
        ensure!(begun.elapsed() < PATIENCE, "the workers do not come to an end");
        thread::sleep(Duration::from_millis(20));
    }
    let took = begun.elapsed();
    fleet.into_iter().try_for_each(Worker::stop)?;
    let status = baler(track, root.path(), &["status"], &["--json"])?;
    let status: Value = serde_json::from_str(status.trim())?;
    let live = status["tables"][0]["live"]["files"].as_u64();
    ensure!(
        live == Some(PARTITIONS as u64),
        "{live:?} files are live, not {PARTITIONS}"
    );
    Ok(took)
}

/// A native table that knows its files, in partitions.
fn prepare(track: &Track, source: &Path, root: &Path) -> Result<()> {
    fs::create_dir_all(root)?;
    let mut names = Vec::new();
    for (number, file) in fs::read_dir(source)?.enumerate() {
        let file = file?.path();
        if file.extension().is_none_or(|end| end != "parquet") {
            continue;
        }
        let name = format!("p={:02}/{number:04}.parquet", number % PARTITIONS);
        let to = root.join(&name);
        fs::create_dir_all(to.parent().context("a partition has a folder")?)?;
        fs::hard_link(&file, &to).with_context(|| format!("linking {}", to.display()))?;
        names.push(name);
    }
    let order = Shape::Overlap.order();
    baler(track, root, &["table", "create"], &[&["events"], order].concat())?;
    let mut add = vec!["events"];
    add.extend(names.iter().map(String::as_str));
    baler(track, root, &["add"], &add)?;
    Ok(())
}

fn baler(track: &Track, root: &Path, command: &[&str], args: &[&str]) -> Result<String> {
    let mut baler = Command::new(track.baler.program());
    process::output(baler.args(command).arg(root).args(args))
}

/// Files that Baler has written.
fn outputs(folder: &Path) -> Result<usize> {
    let mut found = 0;
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let name = entry.file_name();
        let name = name.to_string_lossy();
        if entry.path().is_dir() {
            found += outputs(&entry.path()).unwrap_or(0);
        } else if name.starts_with("baler-") && name.ends_with(".parquet") {
            found += 1;
        }
    }
    Ok(found)
}

/// A worker process, killed if it is dropped before it was stopped.
struct Worker(Child);

impl Worker {
    fn start(track: &Track, root: &Path) -> Result<Self> {
        let mut baler = Command::new(track.baler.program());
        baler.arg("worker").arg(root);
        baler.args([
            "--workers",
            "1",
            "--threads",
            "1",
            "--memory",
            super::track::MEMORY,
        ]);
        let child = baler
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        Ok(Self(child.spawn()?))
    }

    /// SIGTERM, which std has no call for; then its end.
    fn stop(mut self) -> Result<()> {
        process::output(Command::new("kill").arg(self.0.id().to_string()))?;
        let ended = self.0.wait()?;
        if !ended.success() {
            bail!("a worker ended with {ended}");
        }
        Ok(())
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        let _gone_already = self.0.kill();
        let _gone_already = self.0.wait();
    }
}
