//! What a merge is asked to take at most: CPU as a part of the best peer's, peak memory, size of the result.

use super::engine::Work;
use super::figures::Figures;
use super::results::{Figure, Results};
use super::verdict::{Bound, Unit, Verdict};
use crate::shape::Shape;

/// The most that a result may be larger than the smallest of the peers'.
const OUTPUT: Bound = Bound::at_most(1.02);

pub(crate) struct Bounds {
    /// CPU against the best of those who sort.
    sort: Bound,
    /// CPU against the best of those who only concatenate, where the data are in order already.
    concatenation: Option<Bound>,
    pub(crate) peak_mb: Bound,
}

impl Bounds {
    pub(crate) const fn of(shape: Shape) -> Self {
        match shape {
            Shape::Overlap => Self {
                sort: Bound::at_most(0.5).with_goal(1.0 / 3.0),
                concatenation: None,
                peak_mb: Bound::at_most(460.0).with_goal(256.0),
            },
            Shape::Upsert => Self {
                sort: Bound::at_most(0.45).with_goal(0.3),
                concatenation: None,
                peak_mb: Bound::at_most(460.0).with_goal(256.0),
            },
            Shape::Disjoint => Self {
                sort: Bound::at_most(0.25).with_goal(0.15),
                concatenation: Some(Bound::at_most(0.45)),
                peak_mb: Bound::at_most(256.0),
            },
            Shape::Mixed => Self {
                sort: Bound::at_most(0.4).with_goal(0.25),
                concatenation: None,
                peak_mb: Bound::at_most(460.0),
            },
        }
    }

    /// Each bound with what was measured, whether it is met or not.
    pub(crate) fn verdicts(&self, results: &Results) -> Vec<Verdict> {
        let against = |what: &str, figure: Figure, work, bound| {
            let best = results.best(work, figure);
            let name = best.map_or_else(|| "nobody".to_owned(), |(engine, _)| engine.to_string());
            Verdict {
                what: format!("{}: {what} ({name})", results.shape.name()),
                unit: Unit::Ratio,
                measured: results.ratio(work, figure),
                bound,
            }
        };
        let cpu: Figure = |run| run.cpu_s;
        let mut verdicts = vec![against("CPU / best sort", cpu, Work::Sort, self.sort)];
        if let Some(bound) = self.concatenation {
            verdicts.push(against("CPU / best concatenation", cpu, Work::Concatenate, bound));
        }
        verdicts.push(peak(results.shape.name(), results.baler(), self.peak_mb));
        verdicts.push(against(
            "size / smallest sort",
            |run| run.output_mb,
            Work::Sort,
            OUTPUT,
        ));
        verdicts
    }
}

/// The verdict on the peak memory of some runs.
pub(crate) fn peak(what: &str, figures: Option<Figures>, bound: Bound) -> Verdict {
    Verdict {
        what: format!("{what}: peak memory"),
        unit: Unit::Megabytes,
        measured: figures.map(|run| run.peak_mb),
        bound,
    }
}

#[cfg(test)]
mod tests {
    use super::super::results::tests::results;
    use super::super::verdict::Outcome;
    use super::*;

    fn outcomes(results: &Results) -> Vec<(String, Outcome)> {
        let verdicts = Bounds::of(results.shape).verdicts(results);
        let outcomes = verdicts
            .iter()
            .map(|verdict| (verdict.what.clone(), verdict.outcome()));
        outcomes.collect()
    }

    #[test]
    fn every_bound_of_a_shape_has_its_verdict() {
        let results = results(
            Shape::Disjoint,
            &[
                ("baler", 2.0, 103.0),
                ("polars", 12.0, 100.0),
                ("polars, zstd 1", 10.0, 101.0),
                ("polars_concat", 4.0, 90.0),
            ],
        );
        assert_eq!(
            outcomes(&results),
            [
                (
                    "disjoint: CPU / best sort (polars, zstd 1)".into(),
                    Outcome::GoalMissed
                ),
                (
                    "disjoint: CPU / best concatenation (polars_concat)".into(),
                    Outcome::Missed
                ),
                ("disjoint: peak memory".into(), Outcome::Met),
                ("disjoint: size / smallest sort (polars)".into(), Outcome::Missed),
            ]
        );
    }

    #[test]
    fn without_peers_only_memory_is_judged() {
        let results = results(Shape::Upsert, &[("baler", 3.0, 50.0)]);
        let outcomes: Vec<_> = outcomes(&results)
            .into_iter()
            .map(|(_, outcome)| outcome)
            .collect();
        assert_eq!(
            outcomes,
            [Outcome::NotMeasured, Outcome::GoalMissed, Outcome::NotMeasured]
        );
    }
}
