//! Steps run in order; one that fails does not stop the others, so that a single run shows all there is to mend.

use std::fmt;
use std::time::{Duration, Instant};

use anyhow::Result;

/// Some step failed and everything about it was printed already.
#[derive(Debug)]
pub(crate) struct Reported;

impl fmt::Display for Reported {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("some steps failed")
    }
}

impl std::error::Error for Reported {}

#[derive(Debug)]
pub(crate) struct Outcome {
    pub(crate) name: String,
    pub(crate) passed: bool,
    pub(crate) took: Duration,
}

#[derive(Debug, Default)]
pub(crate) struct Steps(Vec<Outcome>);

impl Steps {
    pub(crate) fn run(&mut self, name: &str, step: impl FnOnce() -> Result<()>) {
        println!("\n== {name}");
        let start = Instant::now();
        let result = step();
        let outcome = Outcome {
            name: name.to_owned(),
            passed: result.is_ok(),
            took: start.elapsed(),
        };
        if let Err(error) = result {
            println!("error: {error:#}");
        }
        println!("{outcome}");
        self.0.push(outcome);
    }

    /// Two rows of steps beside each other; within a row they run in order.
    pub(crate) fn beside(
        &mut self,
        one: impl FnOnce(&mut Self) + Send,
        other: impl FnOnce(&mut Self) + Send,
    ) {
        let (mut first, mut second) = (Self::default(), Self::default());
        std::thread::scope(|scope| {
            scope.spawn(|| one(&mut first));
            other(&mut second);
        });
        self.0.extend(first.0);
        self.0.extend(second.0);
    }

    pub(crate) fn outcomes(&self) -> &[Outcome] {
        &self.0
    }

    /// Prints every step once more and the count last.
    pub(crate) fn finish(&self) -> Result<()> {
        let failed = self.0.iter().filter(|outcome| !outcome.passed).count();
        println!();
        for outcome in &self.0 {
            println!("{outcome}");
        }
        println!("{} passed, {failed} failed", self.0.len() - failed);
        if failed > 0 { Err(Reported.into()) } else { Ok(()) }
    }
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let word = if self.passed { "ok" } else { "FAILED" };
        write!(f, "{word:<6} {:>7.1} s  {}", self.took.as_secs_f64(), self.name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failed_step_does_not_stop_the_next_and_fails_the_whole() {
        let mut steps = Steps::default();
        steps.run("bad", || anyhow::bail!("no"));
        steps.run("good", || Ok(()));
        assert_eq!(
            steps.outcomes().iter().map(|o| o.passed).collect::<Vec<_>>(),
            [false, true]
        );
        assert!(steps.finish().unwrap_err().is::<Reported>());
    }

    #[test]
    fn of_steps_beside_each_other_all_count() {
        let mut steps = Steps::default();
        steps.beside(
            |one| one.run("good", || Ok(())),
            |other| other.run("bad", || anyhow::bail!("no")),
        );
        let passed: Vec<_> = steps.outcomes().iter().map(|o| o.passed).collect();
        assert_eq!(passed, [true, false]);
    }
}
