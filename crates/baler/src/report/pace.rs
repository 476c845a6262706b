//! How fast something goes, and how long it will still take: told from what was done between two looks, never from what
//! was hoped for. Who has looked once knows neither.

use std::collections::VecDeque;
use std::time::Duration;

use tokio::time::Instant;

/// How far back the rate looks. Longer, and a merge that got stuck would look fast for too long; shorter, and the pauses
/// between two row groups would look like standstills.
const WINDOW: Duration = Duration::from_secs(60);

/// Looks that are kept. Closer ones take the place of the last.
const LOOKS_MAX: usize = 16;

/// What was seen of the progress of one attempt.
#[derive(Clone, Debug, Default)]
pub struct Pace {
    looks: VecDeque<(Instant, u64)>,
}

impl Pace {
    /// So many bytes were done by then.
    pub fn note(&mut self, at: Instant, done: u64) {
        if self.looks.back().is_some_and(|(_, before)| done < *before) {
            // It began anew.
            self.looks.clear();
        }
        let close = WINDOW / u32::try_from(LOOKS_MAX).unwrap_or(u32::MAX);
        let crowded = self.looks.len() > 1
            && self
                .looks
                .iter()
                .nth_back(1)
                .is_some_and(|(before, _)| at.saturating_duration_since(*before) < close);
        if crowded {
            self.looks.pop_back();
        }
        self.looks.push_back((at, done));
        while self.looks.len() > LOOKS_MAX || (self.looks.len() > 2 && self.is_old(at)) {
            self.looks.pop_front();
        }
    }

    fn is_old(&self, at: Instant) -> bool {
        let second = self.looks.get(1);
        second.is_some_and(|(then, _)| at.saturating_duration_since(*then) > WINDOW)
    }

    /// Bytes a second. `None` before the second look, and while nothing has moved.
    pub fn bytes_per_second(&self) -> Option<f64> {
        let ((first, from), (last, to)) = (self.looks.front()?, self.looks.back()?);
        let seconds = last.saturating_duration_since(*first).as_secs_f64();
        let rate = (to - from) as f64 / seconds;
        (rate.is_finite() && rate > 0.0).then_some(rate)
    }
}

/// Seconds that so many bytes take at this rate.
pub(super) fn seconds_left(done: u64, total: u64, bytes_per_second: Option<f64>) -> Option<f64> {
    let left = total.saturating_sub(done) as f64 / bytes_per_second?;
    left.is_finite().then_some(left)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seen(looks: &[(u64, u64)]) -> Pace {
        let began = Instant::now();
        let mut pace = Pace::default();
        for (second, done) in looks {
            pace.note(began + Duration::from_secs(*second), *done);
        }
        pace
    }

    #[test]
    fn the_time_left_is_what_is_left_over_the_rate() {
        let rate = seen(&[(0, 0), (5, 500), (10, 1_000)]).bytes_per_second();
        assert_eq!(rate, Some(100.0));
        assert_eq!(seconds_left(1_000, 4_000, rate), Some(30.0));
        assert_eq!(seconds_left(4_100, 4_000, rate), Some(0.0));
    }

    /// Trap: a first look at a merge that began long ago, divided by the time since that look, tells a rate that never was.
    #[test]
    fn one_look_tells_no_rate_and_neither_does_a_standstill() {
        assert_eq!(seen(&[]).bytes_per_second(), None);
        assert_eq!(seen(&[(0, 1 << 30)]).bytes_per_second(), None);
        assert_eq!(seen(&[(0, 7), (10, 7), (20, 7)]).bytes_per_second(), None);
        assert_eq!(seconds_left(0, 4_000, None), None);
    }

    /// Trap: a rate over the whole life of a merge calls one fast that got stuck.
    #[test]
    fn what_was_long_ago_does_not_count() {
        let looks: Vec<(u64, u64)> = (0..100).map(|tick| (tick * 5, tick.min(50) * 5_000)).collect();
        assert_eq!(seen(&looks).bytes_per_second(), None);
        let slower: Vec<(u64, u64)> = (0..100)
            .map(|tick| {
                (
                    tick * 5,
                    if tick < 50 {
                        tick * 5_000
                    } else {
                        250_000 + (tick - 50) * 5
                    },
                )
            })
            .collect();
        assert_eq!(seen(&slower).bytes_per_second(), Some(1.0));
    }

    #[test]
    fn looks_are_few_however_often_it_is_looked() {
        let began = Instant::now();
        let mut pace = Pace::default();
        for milli in 0..100_000u64 {
            pace.note(began + Duration::from_millis(milli), milli);
        }
        assert!(pace.looks.len() <= LOOKS_MAX);
        assert_eq!(pace.bytes_per_second().map(f64::round), Some(1_000.0));
    }

    #[test]
    fn an_attempt_that_begins_anew_is_seen_anew() {
        assert_eq!(seen(&[(0, 500), (5, 1_000), (10, 3)]).bytes_per_second(), None);
    }
}
