//! A figure against what was asked of it: a bound that must hold, and sometimes a goal beyond it.

use std::fmt;

use anyhow::{Result, bail};

/// The most that a figure may be, and what it should be.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Bound {
    pub(crate) at_most: f64,
    pub(crate) goal: Option<f64>,
}

impl Bound {
    pub(crate) const fn at_most(at_most: f64) -> Self {
        Self { at_most, goal: None }
    }

    pub(crate) const fn with_goal(self, goal: f64) -> Self {
        Self {
            goal: Some(goal),
            ..self
        }
    }
}

/// How a figure is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Unit {
    Ratio,
    Seconds,
    Megabytes,
    Percent,
}

impl Unit {
    fn show(self, value: f64) -> String {
        match self {
            Self::Ratio => format!("{value:.3}"),
            Self::Seconds => format!("{value:.3} s"),
            Self::Megabytes => format!("{value:.0} MB"),
            Self::Percent => format!("{value:.1} %"),
        }
    }
}

/// One line of a table of verdicts.
#[derive(Clone, Debug)]
pub(crate) struct Verdict {
    pub(crate) what: String,
    pub(crate) unit: Unit,
    /// None where the run left out what it takes to tell.
    pub(crate) measured: Option<f64>,
    pub(crate) bound: Bound,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    GoalMet,
    GoalMissed,
    Met,
    Missed,
    NotMeasured,
}

impl Verdict {
    pub(crate) fn outcome(&self) -> Outcome {
        let Some(measured) = self.measured.filter(|value| value.is_finite()) else {
            return Outcome::NotMeasured;
        };
        match self.bound.goal {
            _ if measured > self.bound.at_most => Outcome::Missed,
            Some(goal) if measured > goal => Outcome::GoalMissed,
            Some(_) => Outcome::GoalMet,
            None => Outcome::Met,
        }
    }
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::GoalMet => "met, goal too",
            Self::GoalMissed => "met, goal missed",
            Self::Met => "met",
            Self::Missed => "**missed**",
            Self::NotMeasured => "not measured",
        })
    }
}

/// All verdicts as a table in Markdown.
pub(crate) fn table(verdicts: &[Verdict]) -> String {
    let mut text = String::from("| asked | measured | at most | goal | verdict |\n|---|---|---|---|---|\n");
    for verdict in verdicts {
        let show =
            |value: Option<f64>| value.map_or_else(|| "–".to_owned(), |value| verdict.unit.show(value));
        text += &format!(
            "| {} | {} | {} | {} | {} |\n",
            verdict.what,
            show(verdict.measured.filter(|value| value.is_finite())),
            show(Some(verdict.bound.at_most)),
            show(verdict.bound.goal),
            verdict.outcome()
        );
    }
    text
}

/// An error where a bound is missed, so that a script notices.
pub(crate) fn judge(verdicts: &[Verdict]) -> Result<()> {
    let missed: Vec<_> = verdicts
        .iter()
        .filter(|verdict| verdict.outcome() == Outcome::Missed)
        .map(|verdict| verdict.what.as_str())
        .collect();
    if !missed.is_empty() {
        bail!(
            "{} of {} bounds missed: {}",
            missed.len(),
            verdicts.len(),
            missed.join("; ")
        );
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn verdict(measured: Option<f64>, bound: Bound) -> Verdict {
        Verdict {
            what: "CPU".into(),
            unit: Unit::Ratio,
            measured,
            bound,
        }
    }

    #[test]
    fn a_bound_and_its_goal_are_told_apart() {
        let bound = Bound::at_most(0.5).with_goal(0.3);
        for (measured, outcome) in [
            (0.3, Outcome::GoalMet),
            (0.31, Outcome::GoalMissed),
            (0.5, Outcome::GoalMissed),
            (0.5001, Outcome::Missed),
        ] {
            assert_eq!(verdict(Some(measured), bound).outcome(), outcome, "{measured}");
        }
        assert_eq!(verdict(Some(0.5), Bound::at_most(0.5)).outcome(), Outcome::Met);
    }

    #[test]
    fn what_was_not_measured_is_not_met() {
        for measured in [None, Some(f64::NAN), Some(f64::INFINITY)] {
            let verdict = verdict(measured, Bound::at_most(0.5));
            assert_eq!(verdict.outcome(), Outcome::NotMeasured);
            assert!(
                table(&[verdict]).contains("| CPU | – | 0.500 | – | not measured |"),
                "{measured:?}"
            );
        }
    }

    #[test]
    fn a_missed_bound_is_shown_and_is_an_error() {
        let verdicts = [
            verdict(Some(0.2), Bound::at_most(0.5)),
            verdict(Some(0.7), Bound::at_most(0.5).with_goal(0.3)),
        ];
        assert!(table(&verdicts).contains("| CPU | 0.700 | 0.500 | 0.300 | **missed** |"));
        let error = judge(&verdicts).unwrap_err().to_string();
        assert!(error.starts_with("1 of 2 bounds missed: CPU"), "{error}");
        assert!(judge(&verdicts[..1]).is_ok());
    }
}
