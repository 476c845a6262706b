//! What a second core is worth: one thread on one core, and two threads on two, by turns.

use std::ffi::OsString;
use std::process::Command;

use anyhow::Result;

use super::figures::Figures;
use super::track::Track;
use super::verdict::{self, Bound, Unit, Verdict};
use super::{Sizes, page};
use crate::args::{Options, Usage};
use crate::interop::Size;
use crate::shape::Shape;
use crate::{process, venv};

/// Merges that decode and encode; what is copied leaves little to share.
const SHAPES: &[Shape] = &[Shape::Overlap, Shape::Upsert];
const AT_MOST: Bound = Bound::at_most(0.6);

/// Cores to stay on, and threads to use.
const ONE: (&str, &str) = ("0", "1");
const TWO: (&str, &str) = ("0,1", "2");

pub(crate) fn run(args: &[String]) -> Result<()> {
    let options = Options::parse_with_flags(args, &["shape", "runs", "files", "rows"], &["write"])?;
    let shapes = options.list("shape", SHAPES)?;
    let sizes = Sizes::read(&options, Size::FULL, 5)?;
    if options.flag("write") && shapes != SHAPES {
        return Err(Usage::new("`--write` takes all shapes at once: they share a table").into());
    }
    let has_taskset = process::output(Command::new("taskset").args(["-c", "0,1", "true"]));
    venv::advise(
        has_taskset,
        "sudo apt-get install util-linux    # and use a machine with two cores",
    )?;

    let track = Track::open()?;
    let mut pairs = Vec::new();
    for shape in shapes {
        pairs.push(compare(&track, shape, sizes)?);
    }
    let verdicts: Vec<_> = pairs.iter().map(Pair::verdict).collect();
    let text = format!(
        "{}; {} files of {} rows, medians of {} turns.\n\n{}\n{}",
        track.provenance,
        sizes.size.files,
        sizes.size.rows,
        sizes.runs,
        table(&pairs),
        verdict::table(&verdicts)
    );
    println!("\n{text}");
    if options.flag("write") {
        page::write(&track.workspace, page::PERFORMANCE, "threads", &text)?;
    }
    verdict::judge(&verdicts)
}

/// The same merge on one core and on two.
struct Pair {
    shape: Shape,
    one: Figures,
    two: Figures,
}

impl Pair {
    fn verdict(&self) -> Verdict {
        Verdict {
            what: format!("{}: wall of two threads / of one", self.shape.name()),
            unit: Unit::Ratio,
            measured: Some(self.two.wall_s / self.one.wall_s),
            bound: AT_MOST,
        }
    }
}

fn compare(track: &Track, shape: Shape, sizes: Sizes) -> Result<Pair> {
    let source = track.data(shape, sizes.size)?;
    let output = track.folder("output")?;
    let (mut one, mut two) = (Vec::new(), Vec::new());
    for turn in 1..=sizes.runs {
        for ((cores, threads), runs) in [(ONE, &mut one), (TWO, &mut two)] {
            let mut words: Vec<OsString> = ["taskset", "-c", cores].map(Into::into).to_vec();
            words.extend(track.compact(shape, source.path(), output.path()));
            words.extend(["--threads", threads].map(Into::into));
            let figures = track.run_baler(&words, &output)?;
            println!("{} {turn}/{} on {threads}: {figures}", shape.name(), sizes.runs);
            runs.push(figures);
        }
    }
    track.check(shape, source.path(), output.path())?;
    Ok(Pair {
        shape,
        one: Figures::median(&one),
        two: Figures::median(&two),
    })
}

fn table(pairs: &[Pair]) -> String {
    let mut text = String::from("| shape | threads | wall s | CPU s | peak MB |\n|---|---|---|---|---|\n");
    for pair in pairs {
        for (threads, run) in [(1, pair.one), (2, pair.two)] {
            text += &format!(
                "| {} | {threads} | {:.2} | {:.2} | {:.0} |\n",
                pair.shape.name(),
                run.wall_s,
                run.cpu_s,
                run.peak_mb
            );
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::super::verdict::Outcome;
    use super::*;

    #[test]
    fn the_wall_clock_counts_not_the_work() {
        let run = |wall_s, cpu_s| Figures {
            wall_s,
            cpu_s,
            peak_mb: 100.0,
            output_mb: 1.0,
        };
        let pair = |two| Pair {
            shape: Shape::Overlap,
            one: run(10.0, 9.0),
            two,
        };
        assert_eq!(pair(run(6.0, 12.0)).verdict().outcome(), Outcome::Met);
        assert_eq!(pair(run(6.1, 9.0)).verdict().outcome(), Outcome::Missed);
        let table = table(&[pair(run(6.0, 12.0))]);
        assert!(
            table.ends_with("| overlap | 1 | 10.00 | 9.00 | 100 |\n| overlap | 2 | 6.00 | 12.00 | 100 |\n")
        );
    }
}
