//! Little work, from a cold start to its end: what somebody waits for who packs a folder now and then.

use anyhow::Result;

use super::figures::Figures;
use super::track::Track;
use super::verdict::{self, Bound, Unit, Verdict};
use super::{Sizes, page};
use crate::args::Options;
use crate::interop::Size;
use crate::shape::Shape;

/// 10 MB in all.
const FULL: Size = Size {
    files: 100,
    rows: 5_000,
};
const AT_MOST: Bound = Bound::at_most(0.5);

pub(crate) fn run(args: &[String]) -> Result<()> {
    let options = Options::parse_with_flags(args, &["runs", "files", "rows"], &["write"])?;
    let sizes = Sizes::read(&options, FULL, 5)?;
    let track = Track::open()?;
    let source = track.data(Shape::Overlap, sizes.size)?;
    let output = track.folder("output")?;
    let words = track.compact(Shape::Overlap, source.path(), output.path());
    let mut runs = Vec::new();
    for turn in 1..=sizes.runs {
        let figures = track.run_baler(&words, &output)?;
        println!("{turn}/{}: {figures}", sizes.runs);
        runs.push(figures);
    }
    track.check(Shape::Overlap, source.path(), output.path())?;

    let best = Figures::least(&runs);
    let verdicts = judge(&best);
    let text = format!(
        "{}; {} files of {} rows, best of {}: {best}.\n\n{}",
        track.provenance,
        sizes.size.files,
        sizes.size.rows,
        sizes.runs,
        verdict::table(&verdicts)
    );
    println!("\n{text}");
    if options.flag("write") {
        page::write(&track.workspace, page::PERFORMANCE, "small", &text)?;
    }
    verdict::judge(&verdicts)
}

fn judge(best: &Figures) -> Vec<Verdict> {
    let verdict = |what: &str, seconds| Verdict {
        what: format!("small work: {what}, best run"),
        unit: Unit::Seconds,
        measured: Some(seconds),
        bound: AT_MOST,
    };
    vec![verdict("wall", best.wall_s), verdict("CPU", best.cpu_s)]
}

#[cfg(test)]
mod tests {
    use super::super::verdict::Outcome;
    use super::*;

    #[test]
    fn waiting_counts_as_well_as_working() {
        let best = Figures {
            cpu_s: 0.2,
            wall_s: 0.6,
            peak_mb: 50.0,
            output_mb: 9.0,
        };
        let outcomes: Vec<_> = judge(&best).iter().map(Verdict::outcome).collect();
        assert_eq!(outcomes, [Outcome::Missed, Outcome::Met]);
    }
}
