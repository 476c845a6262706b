//! Files as lines of text, for tests that are read more often than written:
//!
//! ```text
//! name  L<level>  <bytes>  [<min>..<max>] or [?]  (job <n>)?  (apart <n>)?  (at <modified>)?  (times <min> <max>)?  (busy)?
//! ```

use std::fmt::Write;

use super::simulator::{World, file, range};
use super::{Choice, PartitionView};
use crate::file::{File, Level, Origin};
use crate::ids::{JobId, Sequence};
use crate::time::{RowTime, StoreTime, TimeRange};

/// The files of a text, each added after those above it, and those of them that are busy.
pub(super) fn parse(text: &str) -> (Vec<File>, Vec<File>) {
    let lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
    let parsed: Vec<(File, bool)> = (1..)
        .map(Sequence)
        .zip(lines)
        .map(|(added, line)| parse_line(line, added))
        .collect();
    let (busy, free): (Vec<_>, Vec<_>) = parsed.into_iter().partition(|(_, busy)| *busy);
    let files = |list: Vec<(File, bool)>| list.into_iter().map(|(file, _)| file).collect();
    (files(free), files(busy))
}

fn parse_line(line: &str, added: Sequence) -> (File, bool) {
    let mut words = line.split_whitespace();
    let mut word = || {
        words
            .next()
            .unwrap_or_else(|| panic!("a word is missing: {line}"))
    };
    let (name, level, bytes, keys) = (word(), word(), word(), word());
    let number = |text: &str| -> u64 { text.parse().unwrap_or_else(|_| panic!("not a number: {line}")) };
    let keys = keys.trim_matches(['[', ']']);
    let keys = keys.split_once("..").map(|(min, max)| (number(min), number(max)));
    let mut made = file(name, number(bytes), keys);
    made.level = Level(u8::try_from(number(level.trim_start_matches('L'))).expect("a level"));
    made.added = added;
    if made.level > Level(0) {
        made.origin = Origin::Job(JobId(1_000 + added.0));
    }
    let mut busy = false;
    while let Some(word) = words.next() {
        let mut value = || number(words.next().unwrap_or_default());
        match word {
            "job" => made.origin = Origin::Job(JobId(value())),
            "apart" => made.apart = Some(JobId(value())),
            "at" => made.identity.modified = StoreTime { unix_ms: value() },
            "times" => made.times = Some(times(value(), value())),
            "busy" => busy = true,
            _ => panic!("unknown word {word}: {line}"),
        }
    }
    (made, busy)
}

fn times(min: u64, max: u64) -> TimeRange {
    let time = |unix_ms: u64| RowTime {
        unix_ms: i64::try_from(unix_ms).expect("a time"),
    };
    TimeRange {
        min: time(min),
        max: time(max),
    }
}

pub(super) fn show_file(file: &File) -> String {
    let keys = range(file).map_or("?".into(), |(min, max)| format!("{min}..{max}"));
    let mut line = format!("{} L{} {} [{keys}]", file.path, file.level.0, file.bytes());
    if let Origin::Job(job) = file.origin {
        let _ = write!(line, " job {job}");
    }
    if let Some(job) = file.apart {
        let _ = write!(line, " apart {job}");
    }
    let _ = write!(line, " at {}", file.identity.modified.unix_ms);
    if let Some(times) = file.times {
        let _ = write!(line, " times {} {}", times.min.unix_ms, times.max.unix_ms);
    }
    line
}

pub(super) fn show_world(world: &World) -> String {
    let mut files: Vec<String> = world.files.iter().map(show_file).collect();
    files.extend(world.busy.iter().map(|file| show_file(file) + " busy"));
    let kind = match (world.is_sorted(), world.merge.is_keyed()) {
        (false, _) => "unsorted",
        (true, false) => "sorted",
        (true, true) => "keyed",
    };
    format!("{kind} at {}\n{}", world.now.unix_ms, files.join("\n"))
}

/// Jobs, then what becomes of the files that are in none.
pub(super) fn show_choice(view: &PartitionView<'_>, choice: &Choice) -> String {
    let mut text = String::new();
    for job in &choice.jobs {
        let inputs: Vec<String> = job.inputs.iter().map(ToString::to_string).collect();
        let _ = writeln!(
            text,
            "{} -> L{}: {}",
            inputs.join(" "),
            job.output_level.0,
            job.why
        );
    }
    for (file, verdict) in view.files.iter().zip(&choice.verdicts) {
        if !matches!(verdict, super::Verdict::Chosen { .. }) {
            let _ = writeln!(text, "{}: {verdict}", file.path);
        }
    }
    text
}
