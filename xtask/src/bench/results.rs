//! The runs of a comparison, their medians, and the best of the peers, figure by figure.

use super::engine::{Engine, Work};
use super::figures::Figures;
use crate::interop::Size;
use crate::shape::Shape;

/// What every engine took on one shape, in the order in which the engines first came.
#[derive(Debug)]
pub(crate) struct Results {
    pub(crate) shape: Shape,
    pub(crate) size: Size,
    runs: Vec<(Engine, Vec<Figures>)>,
}

/// Picks one figure of a run.
pub(crate) type Figure = fn(&Figures) -> f64;

impl Results {
    pub(crate) fn new(shape: Shape, size: Size) -> Self {
        Self {
            shape,
            size,
            runs: Vec::new(),
        }
    }

    pub(crate) fn add(&mut self, engine: Engine, figures: Figures) {
        match self.runs.iter_mut().find(|(known, _)| *known == engine) {
            Some((_, runs)) => runs.push(figures),
            None => self.runs.push((engine, vec![figures])),
        }
    }

    fn medians(&self) -> impl Iterator<Item = (Engine, Figures)> {
        self.runs
            .iter()
            .map(|(engine, runs)| (*engine, Figures::median(runs)))
    }

    pub(crate) fn baler(&self) -> Option<Figures> {
        let baler = self.medians().find(|(engine, _)| *engine == Engine::Baler);
        baler.map(|(_, figures)| figures)
    }

    /// The peer that does this work with the least of a figure, at whichever level.
    pub(crate) fn best(&self, work: Work, figure: Figure) -> Option<(Engine, Figures)> {
        self.medians()
            .filter(|(engine, _)| engine.does(work))
            .min_by(|(_, a), (_, b)| figure(a).total_cmp(&figure(b)))
    }

    /// Baler's figure as a part of the best peer's.
    pub(crate) fn ratio(&self, work: Work, figure: Figure) -> Option<f64> {
        let (_, best) = self.best(work, figure)?;
        Some(figure(&self.baler()?) / figure(&best))
    }

    /// The medians as a table in Markdown, and below them Baler's as parts of the best peer's.
    pub(crate) fn table(&self) -> String {
        let turns = self.runs.iter().map(|(_, runs)| runs.len()).max().unwrap_or(0);
        let mut text = format!(
            "{} files of {} rows; medians of {turns} turns:\n\n\
             | engine | CPU s | wall s | peak MB | output MB |\n|---|---|---|---|---|\n",
            self.size.files, self.size.rows
        );
        for (engine, row) in self.medians() {
            let Figures {
                cpu_s,
                wall_s,
                peak_mb,
                output_mb,
            } = row;
            text += &format!("| {engine} | {cpu_s:.2} | {wall_s:.2} | {peak_mb:.0} | {output_mb:.1} |\n");
        }
        for (name, work) in [
            ("best sort", Work::Sort),
            ("best concatenation", Work::Concatenate),
        ] {
            text += &self.ratios(name, work).unwrap_or_default();
        }
        text
    }

    fn ratios(&self, name: &str, work: Work) -> Option<String> {
        let figures: [Figure; 4] = [
            |run| run.cpu_s,
            |run| run.wall_s,
            |run| run.peak_mb,
            |run| run.output_mb,
        ];
        let mut line = format!("| baler / {name} |");
        for figure in figures {
            line += &format!(" {:.2} |", self.ratio(work, figure)?);
        }
        Some(line + "\n")
    }

    /// The row of this shape in the README's table.
    pub(crate) fn summary(&self) -> Option<String> {
        let baler = self.baler()?;
        let (engine, best) = self.best(Work::Sort, |run| run.cpu_s)?;
        let show = |run: &Figures| format!("{:.1} s, {:.0} MB", run.cpu_s, run.peak_mb);
        Some(format!(
            "| {} | {} | {}: {} | {:.2} |",
            self.shape.name(),
            show(&baler),
            engine,
            show(&best),
            baler.cpu_s / best.cpu_s
        ))
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// Results with one run of each engine: CPU seconds and megabytes written; wall is half, and the peak a hundred times that.
    pub(crate) fn results(shape: Shape, figures: &[(&str, f64, f64)]) -> Results {
        let mut results = Results::new(shape, Size::FULL);
        let names = ["duckdb", "polars", "polars_concat", "cat"].map(str::to_owned);
        let engines = Engine::contestants(shape, &names).unwrap();
        for (name, cpu_s, output_mb) in figures {
            let engine = engines.iter().find(|engine| engine.to_string() == *name).unwrap();
            results.add(*engine, run(*cpu_s, *output_mb));
        }
        results
    }

    fn run(cpu_s: f64, output_mb: f64) -> Figures {
        Figures {
            cpu_s,
            wall_s: cpu_s / 2.0,
            peak_mb: cpu_s * 100.0,
            output_mb,
        }
    }

    #[test]
    fn the_better_level_of_a_peer_counts_figure_by_figure() {
        let results = results(
            Shape::Overlap,
            &[
                ("baler", 4.0, 99.0),
                ("duckdb", 12.0, 100.0),
                ("duckdb, zstd 1", 10.0, 110.0),
                ("polars", 16.0, 90.0),
                ("cat", 0.1, 1.0),
            ],
        );
        let best = |figure| results.best(Work::Sort, figure).unwrap().0.to_string();
        assert_eq!(best(|run| run.cpu_s), "duckdb, zstd 1");
        assert_eq!(best(|run| run.output_mb), "polars");
        assert_eq!(results.ratio(Work::Sort, |run| run.cpu_s), Some(0.4));
        assert_eq!(results.ratio(Work::Concatenate, |run| run.cpu_s), None);
        let table = results.table();
        assert!(
            table.contains("| duckdb, zstd 1 | 10.00 | 5.00 | 1000 | 110.0 |"),
            "{table}"
        );
        assert!(
            table.ends_with("| baler / best sort | 0.40 | 0.40 | 0.40 | 1.10 |\n"),
            "{table}"
        );
        assert_eq!(
            results.summary().unwrap(),
            "| overlap | 4.0 s, 400 MB | duckdb, zstd 1: 10.0 s, 1000 MB | 0.40 |"
        );
    }

    #[test]
    fn figures_are_medians_of_all_turns() {
        let mut results = results(Shape::Overlap, &[("baler", 4.0, 1.0)]);
        results.add(Engine::Baler, run(9.0, 1.0));
        results.add(Engine::Baler, run(5.0, 1.0));
        assert_eq!(results.baler(), Some(run(5.0, 1.0)));
        assert!(results.table().contains("medians of 3 turns"));
        assert_eq!(results.summary(), None, "there is nobody to compare with");
    }
}
