//! What runs took, and the middle of several.

use std::fmt;

use anyhow::{Context, Result};
use serde_json::Value;

/// What one run took.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Figures {
    pub(crate) cpu_s: f64,
    pub(crate) wall_s: f64,
    /// The largest resident set of the whole process.
    pub(crate) peak_mb: f64,
    pub(crate) output_mb: f64,
}

impl Figures {
    /// From the line that bench/measure.py or bench/peers.py printed; the size of the result comes from elsewhere.
    pub(crate) fn parse(line: &str, output_mb: f64) -> Result<Self> {
        let json: Value = serde_json::from_str(line).with_context(|| format!("no figures: {line}"))?;
        Ok(Self {
            cpu_s: number(&json, "cpu_s")?,
            wall_s: number(&json, "wall_s")?,
            peak_mb: number(&json, "rss_mb")?,
            output_mb,
        })
    }

    pub(crate) fn median(runs: &[Self]) -> Self {
        Self::each(runs, median)
    }

    /// The best of several runs, figure by figure.
    pub(crate) fn least(runs: &[Self]) -> Self {
        Self::each(runs, |values| values.into_iter().fold(f64::INFINITY, f64::min))
    }

    fn each(runs: &[Self], pick: fn(Vec<f64>) -> f64) -> Self {
        let of = |figure: fn(&Self) -> f64| pick(runs.iter().map(figure).collect());
        Self {
            cpu_s: of(|run| run.cpu_s),
            wall_s: of(|run| run.wall_s),
            peak_mb: of(|run| run.peak_mb),
            output_mb: of(|run| run.output_mb),
        }
    }
}

impl fmt::Display for Figures {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            cpu_s,
            wall_s,
            peak_mb,
            output_mb,
        } = self;
        write!(
            f,
            "{cpu_s:.2} s CPU, {wall_s:.2} s, {peak_mb:.0} MB peak, {output_mb:.1} MB out"
        )
    }
}

/// A number of the JSON that a bench script printed.
pub(crate) fn number(json: &Value, name: &str) -> Result<f64> {
    json[name]
        .as_f64()
        .with_context(|| format!("no `{name}` in {json}"))
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
    fn the_best_of_several_is_taken_figure_by_figure() {
        let run = |cpu_s, wall_s| Figures {
            cpu_s,
            wall_s,
            peak_mb: 1.0,
            output_mb: 1.0,
        };
        assert_eq!(Figures::least(&[run(1.0, 9.0), run(2.0, 3.0)]), run(1.0, 3.0));
    }

    #[test]
    fn a_script_that_printed_something_else_is_quoted() {
        let error = format!("{:#}", Figures::parse(r#"{"cpu_s":1.5}"#, 0.0).unwrap_err());
        assert!(error.contains("`wall_s`") && error.contains("1.5"), "{error}");
    }
}
