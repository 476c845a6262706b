//! One rate limit for all requests of a bucket. There is none until the store says "slow down"; then the rate is
//! halved, at most once a second, and grows again step by step while answers are good. Requests take their turns at
//! uneven distances, so that processes which were slowed down together do not come back together.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use baler_journal::host;
use http::StatusCode;
use object_store::client::{HttpClient, HttpError, HttpRequest, HttpResponse, HttpService};
use tokio::time::Instant;

use super::Meter;

/// Requests a second below which the rate never falls.
const RATE_MIN: f64 = 2.0;
/// Requests a second from which on nothing is limited.
const RATE_MAX: f64 = 5000.0;
/// How long one cut must have been seen before the next.
const CUT_PAUSE: Duration = Duration::from_secs(1);
/// What the rate grows by in a second of good answers: a part of itself, and a little more.
const GROWTH: f64 = 0.1;
const GROWTH_MIN: f64 = 2.0;
/// How far requests that do not wait push back those that do.
const ROOM_MAX: Duration = Duration::from_secs(1);

/// The rate of a bucket.
#[derive(Debug)]
pub(super) struct Throttle {
    pace: Mutex<Pace>,
}

#[derive(Debug)]
struct Pace {
    /// Requests a second; `None` while nothing is limited.
    rate: Option<f64>,
    next_turn: Instant,
    last_cut: Option<Instant>,
    last_growth: Instant,
    /// Requests in this second and in the one before, to know what rate was too much.
    second: Instant,
    sent: f64,
    sent_before: f64,
}

impl Default for Throttle {
    fn default() -> Self {
        let now = Instant::now();
        Self {
            pace: Mutex::new(Pace {
                rate: None,
                next_turn: now,
                last_cut: None,
                last_growth: now,
                second: now,
                sent: 0.0,
                sent_before: 0.0,
            }),
        }
    }
}

impl Throttle {
    fn lock(&self) -> MutexGuard<'_, Pace> {
        self.pace.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// When a request may be sent, if it waits.
    fn turn(&self, waits: bool) -> Instant {
        let jitter = 0.5 + host::fraction();
        self.lock().turn(Instant::now(), jitter, waits)
    }

    fn answered(&self, refused: bool) {
        let now = Instant::now();
        match refused {
            true if baler_core::planted!(StormNotHeeded) => {}
            true => self.lock().cut(now),
            false => self.lock().grow(now),
        }
    }
}

impl Pace {
    fn turn(&mut self, now: Instant, jitter: f64, waits: bool) -> Instant {
        self.count(now);
        let Some(rate) = self.rate else { return now };
        let turn = self.next_turn.max(now);
        // In a long storm those that do not wait would add up to a queue that nobody ever gets to the front of.
        if waits || turn < now + ROOM_MAX {
            self.next_turn = turn + Duration::from_secs_f64(jitter / rate);
        }
        turn
    }

    fn count(&mut self, now: Instant) {
        let passed = now.duration_since(self.second);
        if passed >= Duration::from_secs(1) {
            let just_before = passed < Duration::from_secs(2);
            self.sent_before = if just_before { self.sent } else { 0.0 };
            self.sent = 0.0;
            self.second = now;
        }
        self.sent += 1.0;
    }

    fn cut(&mut self, now: Instant) {
        if self
            .last_cut
            .is_some_and(|cut| now.duration_since(cut) < CUT_PAUSE)
        {
            return;
        }
        let seen = self.sent.max(self.sent_before);
        let rate = self.rate.map_or(seen, |rate| rate.min(seen.max(RATE_MIN)));
        self.rate = Some((rate / 2.0).max(RATE_MIN));
        self.last_cut = Some(now);
        self.last_growth = now;
    }

    fn grow(&mut self, now: Instant) {
        let Some(rate) = self.rate else { return };
        let passed = now.duration_since(self.last_growth).as_secs_f64().min(1.0);
        let rate = rate + passed * (rate * GROWTH).max(GROWTH_MIN);
        self.last_growth = now;
        self.rate = (rate < RATE_MAX).then_some(rate);
    }
}

/// Whether an answer says "slow down".
pub(super) fn says_slow_down(status: StatusCode) -> bool {
    matches!(
        status,
        StatusCode::SERVICE_UNAVAILABLE | StatusCode::TOO_MANY_REQUESTS
    )
}

/// A service that keeps to the rate.
#[derive(Debug)]
pub(super) struct Throttled {
    next: HttpClient,
    throttle: Arc<Throttle>,
    meter: Arc<Meter>,
    /// Requests that do not wait still take a turn, so the others make room for them.
    waits: bool,
}

impl Throttled {
    pub(super) fn new(next: HttpClient, throttle: Arc<Throttle>, meter: Arc<Meter>, waits: bool) -> Self {
        Self {
            next,
            throttle,
            meter,
            waits,
        }
    }
}

#[async_trait]
impl HttpService for Throttled {
    async fn call(&self, request: HttpRequest) -> Result<HttpResponse, HttpError> {
        let turn = self.throttle.turn(self.waits);
        if self.waits {
            tokio::time::sleep_until(turn).await;
        }
        let answer = self.next.execute(request).await?;
        let refused = says_slow_down(answer.status());
        if refused {
            self.meter.throttled();
        }
        self.throttle.answered(refused);
        Ok(answer)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicBool, Ordering};

    use futures::future::join_all;
    use http::Method;

    use super::super::script::request;
    use super::*;

    /// A store that takes 10 ms for each request, and says "slow down" while it is told to.
    #[derive(Debug, Default, Clone)]
    struct Busy(Arc<AtomicBool>);

    #[async_trait]
    impl HttpService for Busy {
        async fn call(&self, _: HttpRequest) -> Result<HttpResponse, HttpError> {
            tokio::time::sleep(Duration::from_millis(10)).await;
            let mut answer = HttpResponse::new(String::new().into());
            if self.0.load(Ordering::SeqCst) {
                *answer.status_mut() = StatusCode::SERVICE_UNAVAILABLE;
            }
            Ok(answer)
        }
    }

    struct Bench {
        busy: Busy,
        throttle: Arc<Throttle>,
        meter: Arc<Meter>,
    }

    impl Bench {
        fn new() -> Self {
            Self {
                busy: Busy::default(),
                throttle: Arc::default(),
                meter: Arc::default(),
            }
        }

        fn service(&self, waits: bool) -> Throttled {
            let wire = HttpClient::new(self.busy.clone());
            Throttled::new(wire, self.throttle.clone(), self.meter.clone(), waits)
        }

        /// How long so many requests take, ten at a time.
        async fn send(&self, requests: usize, waits: bool) -> Duration {
            let (service, begun) = (self.service(waits), Instant::now());
            for _ in 0..requests / 10 {
                let ten = (0..10).map(|_| service.call(request(Method::GET, "http://h/b/k")));
                join_all(ten).await;
            }
            begun.elapsed()
        }
    }

    #[tokio::test(start_paused = true)]
    async fn throttle_slows_down_on_503_and_recovers() {
        let bench = Bench::new();
        let free = bench.send(1000, true).await;
        assert!(
            free < Duration::from_secs(2),
            "nothing is limited at first: {free:?}"
        );

        bench.busy.0.store(true, Ordering::SeqCst);
        bench.send(50, true).await;
        bench.busy.0.store(false, Ordering::SeqCst);
        let slowed = bench.send(1000, true).await;
        assert!(slowed > 2 * free, "{free:?}, then {slowed:?}");
        assert!(bench.meter.usage().throttled >= 10);

        for _ in 0..60 {
            bench.send(1000, true).await;
        }
        let recovered = bench.send(1000, true).await;
        assert!(recovered < slowed / 2, "{slowed:?}, then {recovered:?}");
    }

    #[tokio::test(start_paused = true)]
    async fn a_long_storm_leaves_a_trickle() {
        let bench = Bench::new();
        bench.busy.0.store(true, Ordering::SeqCst);
        bench.send(200, true).await;
        let begun = Instant::now();
        bench.send(100, true).await;
        let rate = 100.0 / begun.elapsed().as_secs_f64();
        assert!((1.0..6.0).contains(&rate), "{rate} requests a second");
    }

    #[tokio::test(start_paused = true)]
    async fn the_journal_does_not_queue_behind_the_others() {
        let bench = Bench::new();
        bench.busy.0.store(true, Ordering::SeqCst);
        bench.send(100, true).await;
        let took = bench.send(10, false).await;
        assert!(took < Duration::from_millis(50), "{took:?}");
    }

    /// Trap: what does not wait takes turns all through a storm, and what waits is stuck for minutes after it.
    #[tokio::test(start_paused = true)]
    async fn after_a_storm_the_journal_leaves_no_queue_behind() {
        let bench = Bench::new();
        bench.busy.0.store(true, Ordering::SeqCst);
        bench.send(50, true).await;
        for _ in 0..60 {
            bench.send(20, false).await;
            tokio::time::sleep(Duration::from_secs(1)).await;
        }
        bench.busy.0.store(false, Ordering::SeqCst);
        let took = bench.send(10, true).await;
        assert!(took < Duration::from_secs(10), "{took:?}");
    }
}
