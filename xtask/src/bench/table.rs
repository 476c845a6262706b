//! Medians of several runs, as a table in Markdown.

use std::fmt;

/// What one run took.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Figures {
    pub(crate) cpu_s: f64,
    pub(crate) wall_s: f64,
    pub(crate) rss_mb: f64,
    pub(crate) output_mb: f64,
}

impl fmt::Display for Figures {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            cpu_s,
            wall_s,
            rss_mb,
            output_mb,
        } = self;
        write!(
            f,
            "{cpu_s:.2} s CPU, {wall_s:.2} s, {rss_mb:.0} MB peak, {output_mb:.1} MB out"
        )
    }
}

impl Figures {
    fn median(runs: &[Self]) -> Self {
        let of = |figure: fn(&Self) -> f64| median(runs.iter().map(figure).collect());
        Self {
            cpu_s: of(|run| run.cpu_s),
            wall_s: of(|run| run.wall_s),
            rss_mb: of(|run| run.rss_mb),
            output_mb: of(|run| run.output_mb),
        }
    }
}

/// The runs of each engine, in the order in which the engines first came.
#[derive(Debug)]
pub(crate) struct Table {
    title: String,
    rows: Vec<(String, Vec<Figures>)>,
}

impl Table {
    pub(crate) fn new(title: String) -> Self {
        Self {
            title,
            rows: Vec::new(),
        }
    }

    pub(crate) fn add(&mut self, engine: &str, figures: Figures) {
        match self.rows.iter_mut().find(|(name, _)| name == engine) {
            Some((_, runs)) => runs.push(figures),
            None => self.rows.push((engine.to_owned(), vec![figures])),
        }
    }
}

impl fmt::Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let runs = self.rows.iter().map(|(_, runs)| runs.len()).max().unwrap_or(0);
        writeln!(
            f,
            "{}; medians of {runs}, in brackets as multiples of the first line\n",
            self.title
        )?;
        writeln!(
            f,
            "| engine | CPU s | wall s | peak MB | output MB |\n|---|---|---|---|---|"
        )?;
        let medians: Vec<_> = self
            .rows
            .iter()
            .map(|(name, runs)| (name, Figures::median(runs)))
            .collect();
        let Some((_, base)) = medians.first() else {
            return Ok(());
        };
        for (name, row) in &medians {
            let cells = [
                (row.cpu_s, base.cpu_s, 2),
                (row.wall_s, base.wall_s, 2),
                (row.rss_mb, base.rss_mb, 0),
                (row.output_mb, base.output_mb, 1),
            ];
            let cells = cells.map(|(value, base, digits)| format!("{value:.digits$} ({:.2})", value / base));
            writeln!(f, "| {name} | {} |", cells.join(" | "))?;
        }
        Ok(())
    }
}

/// The middle value; of an even number, the mean of the middle two.
fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    let middle = values.len() / 2;
    match values.len() {
        0 => f64::NAN,
        even if even % 2 == 0 => f64::midpoint(values[middle - 1], values[middle]),
        _ => values[middle],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn medians_ignore_one_bad_run() {
        assert_eq!(median(vec![9.0, 1.0, 2.0]), 2.0);
        assert_eq!(median(vec![4.0, 2.0]), 3.0);
    }

    #[test]
    fn ratios_are_to_the_first_engine() {
        let run = |cpu_s| Figures {
            cpu_s,
            wall_s: 1.0,
            rss_mb: 100.0,
            output_mb: 10.0,
        };
        let mut table = Table::new("overlap".into());
        for (engine, cpu_s) in [("baler", 2.0), ("duckdb", 4.0), ("baler", 2.0), ("duckdb", 6.0)] {
            table.add(engine, run(cpu_s));
        }
        let text = table.to_string();
        assert!(
            text.contains("| baler | 2.00 (1.00) | 1.00 (1.00) | 100 (1.00) | 10.0 (1.00) |"),
            "{text}"
        );
        assert!(text.contains("| duckdb | 5.00 (2.50) |"), "{text}");
    }
}
