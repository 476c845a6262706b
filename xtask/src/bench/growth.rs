//! What happens to a merge as its inputs grow: CPU should follow the rows, memory should not.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result};

use super::bounds::{Bounds, peak};
use super::figures::Figures;
use super::track::{Scratch, Track};
use super::verdict::{self, Bound, Unit, Verdict};
use super::{Sizes, page};
use crate::args::{Options, Usage};
use crate::interop::Size;
use crate::shape::Shape;

/// The same files serve all sizes; the largest has 64 million rows.
const FULL: Size = Size {
    files: 1_280,
    rows: 50_000,
};
/// Each size has so many times the files of the one before it.
const STEP: u64 = 4;
const STEPS: u32 = 4;

const MANY: Size = Size {
    files: 10_000,
    rows: 1_000,
};
/// All of the memory that Baler is given: 256 MiB.
const BUDGET_MB: f64 = 268.4;

/// What may be added to a smaller size's figure: CPU for each row, and peak memory.
const LINEAR: Bound = Bound::at_most(1.15);

pub(crate) fn run(args: &[String]) -> Result<()> {
    let options = Options::parse_with_flags(args, &["runs", "files", "rows", "inputs"], &["write"])?;
    let sizes = Sizes::read(&options, FULL, 3)?;
    let files_min = 2 * STEP.pow(STEPS - 1);
    if sizes.size.files < files_min {
        let text = format!("`--files` begins at {files_min}: the smallest size has too few of them to merge");
        return Err(Usage::new(text).into());
    }
    let many = Size {
        files: options.one("inputs", MANY.files)?,
        ..MANY
    };
    if options.flag("write") && many != MANY {
        return Err(Usage::new(format!("`--write` takes {} inputs", MANY.files)).into());
    }
    let track = Track::open()?;
    let mut points = grow(&track, sizes)?;
    let mut verdicts = judge(&points);
    let crowd = measure_many(&track, many)?;
    let name = format!("{} inputs of {} rows", many.files, many.rows);
    verdicts.push(peak(&name, Some(crowd.figures), Bound::at_most(BUDGET_MB)));
    points.push(crowd);

    let text = format!(
        "{}.\n\n{}\n{}",
        track.provenance,
        table(&points),
        verdict::table(&verdicts)
    );
    println!("\n{text}");
    if options.flag("write") {
        page::write(&track.workspace, page::PERFORMANCE, "growth", &text)?;
    }
    verdict::judge(&verdicts)
}

/// One size, and the medians of its runs.
struct Point {
    size: Size,
    figures: Figures,
}

impl Point {
    fn million_rows(&self) -> f64 {
        (self.size.files * self.size.rows) as f64 / 1e6
    }

    fn cpu_s_per_million(&self) -> f64 {
        self.figures.cpu_s / self.million_rows()
    }
}

/// All sizes by turns, on parts of the same data.
fn grow(track: &Track, sizes: Sizes) -> Result<Vec<Point>> {
    let whole = track.data(Shape::Overlap, sizes.size)?;
    let output = track.folder("output")?;
    let counts: Vec<u64> = (0..STEPS)
        .rev()
        .map(|step| sizes.size.files / STEP.pow(step))
        .collect();
    let parts: Vec<_> = counts
        .iter()
        .map(|files| first_files(track, whole.path(), *files))
        .collect::<Result<_>>()?;
    let mut runs = vec![Vec::new(); counts.len()];
    for turn in 1..=sizes.runs {
        for ((part, files), runs) in parts.iter().zip(&counts).zip(&mut runs) {
            let words = track.compact(Shape::Overlap, part.path(), output.path());
            let figures = track.run_baler(&words, &output)?;
            println!("{files} files {turn}/{}: {figures}", sizes.runs);
            runs.push(figures);
        }
    }
    let points = counts.iter().zip(&runs).map(|(files, runs)| Point {
        size: Size {
            files: *files,
            ..sizes.size
        },
        figures: Figures::median(runs),
    });
    Ok(points.collect())
}

/// A folder with the first files of another, linked, so that they take no room.
fn first_files(track: &Track, whole: &Path, files: u64) -> Result<Scratch> {
    let folder = track.folder(&format!("part-{files}"))?;
    fs::create_dir_all(folder.path())?;
    let mut paths: Vec<_> = fs::read_dir(whole)?
        .map(|entry| Ok(entry?.path()))
        .collect::<Result<_>>()?;
    paths.sort();
    for path in paths.iter().take(usize::try_from(files)?) {
        let name = path.file_name().context("a file has a name")?;
        fs::hard_link(path, folder.path().join(name))?;
    }
    Ok(folder)
}

fn measure_many(track: &Track, size: Size) -> Result<Point> {
    let source = track.data(Shape::Overlap, size)?;
    let output = track.folder("output")?;
    let words = track.compact(Shape::Overlap, source.path(), output.path());
    let figures = track.run_baler(&words, &output)?;
    println!("{} inputs: {figures}", size.files);
    track.check(Shape::Overlap, source.path(), output.path())?;
    Ok(Point { size, figures })
}

/// Each size against the best of those below it, so that a slow small one excuses no large one.
fn judge(points: &[Point]) -> Vec<Verdict> {
    let mut verdicts = Vec::new();
    for (at, point) in points.iter().enumerate().skip(1) {
        let smaller = &points[..at];
        let least = smaller
            .iter()
            .map(Point::cpu_s_per_million)
            .fold(f64::INFINITY, f64::min);
        verdicts.push(Verdict {
            what: format!(
                "{} M rows: CPU for each row / least of the smaller sizes",
                point.million_rows()
            ),
            unit: Unit::Ratio,
            measured: Some(point.cpu_s_per_million() / least),
            bound: LINEAR,
        });
    }
    if let Some((last, smaller)) = points.split_last() {
        let name = format!("{} M rows", last.million_rows());
        let most = smaller
            .iter()
            .map(|point| point.figures.peak_mb)
            .fold(0.0, f64::max);
        verdicts.push(Verdict {
            what: format!("{name}: peak memory / most of the smaller sizes"),
            unit: Unit::Ratio,
            measured: Some(last.figures.peak_mb / most),
            bound: LINEAR,
        });
        verdicts.push(peak(
            &name,
            Some(last.figures),
            Bounds::of(Shape::Overlap).peak_mb,
        ));
    }
    verdicts
}

fn table(points: &[Point]) -> String {
    let mut text = String::from(
        "| files | rows of each | million rows | CPU s | CPU s for each million | wall s | peak MB |\n|---|---|---|---|---|---|---|\n",
    );
    for point in points {
        let Size { files, rows } = point.size;
        let Figures {
            cpu_s,
            wall_s,
            peak_mb,
            ..
        } = point.figures;
        text += &format!(
            "| {files} | {rows} | {} | {cpu_s:.2} | {:.3} | {wall_s:.2} | {peak_mb:.0} |\n",
            point.million_rows(),
            point.cpu_s_per_million()
        );
    }
    text
}

#[cfg(test)]
mod tests {
    use super::super::verdict::Outcome;
    use super::*;

    fn point(files: u64, cpu_s: f64, peak_mb: f64) -> Point {
        let figures = Figures {
            cpu_s,
            wall_s: cpu_s,
            peak_mb,
            output_mb: 1.0,
        };
        Point {
            size: Size { files, rows: 50_000 },
            figures,
        }
    }

    #[test]
    fn a_dear_start_excuses_no_bend() {
        // 0.5, 0.3, 0.33 and 0.37 seconds for each million: the last is within the first, yet 23 % above the second.
        let points = [
            point(20, 0.5, 50.0),
            point(80, 1.2, 240.0),
            point(320, 5.28, 250.0),
            point(1_280, 23.68, 251.0),
        ];
        let outcomes: Vec<_> = judge(&points).iter().map(Verdict::outcome).collect();
        assert_eq!(
            outcomes,
            [
                Outcome::Met,
                Outcome::Met,
                Outcome::Missed,
                Outcome::Met,
                Outcome::GoalMet
            ]
        );
    }

    #[test]
    fn memory_that_grows_is_no_longer_flat() {
        let points = [point(320, 1.0, 100.0), point(1_280, 4.0, 120.0)];
        let verdicts = judge(&points);
        assert_eq!(verdicts[1].outcome(), Outcome::Missed, "{verdicts:?}");
        assert!(
            verdicts[1].what.starts_with("64 M rows: peak memory"),
            "{verdicts:?}"
        );
        assert!(table(&points).contains("| 320 | 50000 | 16 | 1.00 | 0.062 | 1.00 | 100 |"));
    }
}
