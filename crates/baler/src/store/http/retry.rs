//! Sends requests again that failed for reasons which pass: with growing pauses and jitter, and within the budget.
//! Conditional writes are never sent again.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use baler_journal::host;
use http::StatusCode;
use http::header::RETRY_AFTER;
use object_store::client::{HttpClient, HttpError, HttpErrorKind, HttpRequest, HttpResponse, HttpService};

use super::request::{self, Again};
use super::{Budget, Meter, throttle};
use crate::store::Kind;

/// How often a request is sent at most.
const TRIES_MAX: u32 = 8;
const PAUSE_FIRST: Duration = Duration::from_millis(100);
const PAUSE_MAX: Duration = Duration::from_secs(10);
/// The longest pause that a store may ask for.
const RETRY_AFTER_MAX: Duration = Duration::from_secs(30);

/// A service that tries again.
#[derive(Debug)]
pub(super) struct Retried {
    next: HttpClient,
    budget: Arc<Budget>,
    meter: Arc<Meter>,
}

impl Retried {
    pub(super) fn new(next: HttpClient, budget: Arc<Budget>, meter: Arc<Meter>) -> Self {
        Self { next, budget, meter }
    }
}

#[async_trait]
impl HttpService for Retried {
    async fn call(&self, request: HttpRequest) -> Result<HttpResponse, HttpError> {
        self.budget.earn();
        let again = request::again(&request);
        for tried in 1..TRIES_MAX {
            let answer = self.try_once(request.clone()).await;
            if !may_repeat(again, &answer) || !self.budget.spend() {
                return answer;
            }
            tokio::time::sleep(pause(tried, &answer)).await;
            self.meter.retried();
        }
        self.try_once(request).await
    }
}

impl Retried {
    /// A page of a listing is read to its end here: nothing above could ask for the rest of it.
    async fn try_once(&self, request: HttpRequest) -> Result<HttpResponse, HttpError> {
        let is_page = request::kind(&request) == Kind::List;
        let answer = self.next.execute(request).await?;
        if !is_page {
            return Ok(answer);
        }
        let (parts, body) = answer.into_parts();
        Ok(HttpResponse::from_parts(parts, body.bytes().await?.into()))
    }
}

fn may_repeat(again: Again, answer: &Result<HttpResponse, HttpError>) -> bool {
    match again {
        Again::Always => is_passing(answer),
        Again::IfRefused => is_refusal(answer),
        Again::Never => false,
    }
}

fn is_passing(answer: &Result<HttpResponse, HttpError>) -> bool {
    match answer {
        Ok(answer) => {
            let status = answer.status();
            let lasting = status == StatusCode::NOT_IMPLEMENTED;
            status.is_server_error() && !lasting
                || matches!(
                    status,
                    StatusCode::TOO_MANY_REQUESTS | StatusCode::REQUEST_TIMEOUT
                )
        }
        // What reqwest cannot name is often a connection that broke.
        Err(error) => error.kind() != HttpErrorKind::Decode,
    }
}

fn is_refusal(answer: &Result<HttpResponse, HttpError>) -> bool {
    match answer {
        Ok(answer) => throttle::says_slow_down(answer.status()),
        Err(error) => error.kind() == HttpErrorKind::Connect,
    }
}

fn pause(tried: u32, answer: &Result<HttpResponse, HttpError>) -> Duration {
    let longest = PAUSE_FIRST.saturating_mul(1 << (tried - 1)).min(PAUSE_MAX);
    let pause = longest.mul_f64(0.5 + host::fraction() / 2.0);
    pause.max(asked_pause(answer).unwrap_or_default())
}

fn asked_pause(answer: &Result<HttpResponse, HttpError>) -> Option<Duration> {
    let seconds = answer.as_ref().ok()?.headers().get(RETRY_AFTER)?;
    let seconds = seconds.to_str().ok()?.trim().parse().ok()?;
    Some(Duration::from_secs(seconds).min(RETRY_AFTER_MAX))
}

#[cfg(test)]
mod tests {
    use futures::future::join_all;
    use http::Method;
    use tokio::time::Instant;

    use super::super::script::{Scripted, request};
    use super::*;

    fn retried(wire: &Scripted) -> (Retried, Arc<Meter>) {
        let meter = Arc::new(Meter::default());
        let service = Retried::new(wire.client(), Arc::default(), meter.clone());
        (service, meter)
    }

    #[tokio::test(start_paused = true)]
    async fn a_passing_failure_is_tried_again() {
        let wire = Scripted::new([(500, ""), (503, ""), (429, ""), (200, "here")]);
        let (service, meter) = retried(&wire);
        let answer = service
            .call(request(Method::GET, "http://h/b/k"))
            .await
            .expect("an answer");
        assert_eq!(answer.status(), StatusCode::OK);
        assert_eq!((wire.calls(), meter.usage().retries), (4, 3));
    }

    #[tokio::test(start_paused = true)]
    async fn a_page_of_a_listing_that_breaks_off_is_asked_for_again() {
        let wire = Scripted::new([(200, Scripted::BROKEN), (200, "the page")]);
        let (service, _) = retried(&wire);
        let page = request(Method::GET, "http://h/b?list-type=2");
        let answer = service.call(page).await.expect("an answer");
        assert_eq!(answer.into_body().bytes().await.expect("a page"), "the page");
        assert_eq!(wire.calls(), 2);
    }

    #[tokio::test(start_paused = true)]
    async fn a_lasting_failure_is_told_at_once() {
        for status in [400, 403, 404, 409, 412, 501] {
            let wire = Scripted::new([(status, "")]);
            let (service, _) = retried(&wire);
            let answer = service
                .call(request(Method::GET, "http://h/b/k"))
                .await
                .expect("an answer");
            assert_eq!((answer.status().as_u16(), wire.calls()), (status, 1));
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_conditional_put_is_never_sent_twice() {
        for header in ["if-none-match", "if-match", "x-goog-if-generation-match"] {
            for failure in [
                Err(HttpErrorKind::Connect),
                Err(HttpErrorKind::Interrupted),
                Ok(503),
            ] {
                let wire = Scripted::failing(failure);
                let (service, _) = retried(&wire);
                let mut put = request(Method::PUT, "http://h/b/k");
                put.headers_mut()
                    .insert(header, http::HeaderValue::from_static("*"));
                let answer = service.call(put).await;
                assert!(answer.is_err() || answer.is_ok_and(|answer| answer.status() == 503));
                assert_eq!(wire.calls(), 1, "{header} {failure:?}");
            }
        }
    }

    #[tokio::test(start_paused = true)]
    async fn completing_an_upload_is_repeated_only_after_a_clear_refusal() {
        for (failure, calls) in [(Ok(503), 8), (Ok(500), 1), (Err(HttpErrorKind::Interrupted), 1)] {
            let wire = Scripted::failing(failure);
            let (service, _) = retried(&wire);
            let _failed = service
                .call(request(Method::POST, "http://h/b/k?uploadId=u"))
                .await;
            assert_eq!(wire.calls(), calls, "{failure:?}");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_storm_is_not_multiplied() {
        let wire = Scripted::failing(Ok(503));
        let (service, meter) = retried(&wire);
        let storm = (0..1000).map(|_| service.call(request(Method::GET, "http://h/b/k")));
        let answers = join_all(storm).await;
        assert!(
            answers
                .iter()
                .all(|answer| answer.as_ref().is_ok_and(|answer| answer.status() == 503))
        );
        assert_eq!(wire.calls() as u64, 1000 + meter.usage().retries);
        assert!(
            meter.usage().retries <= 300,
            "{} retries for 1000 requests",
            meter.usage().retries
        );
    }

    #[tokio::test(start_paused = true)]
    async fn the_pause_that_a_store_asks_for_is_kept() {
        let wire = Scripted::new([(503, ""), (200, "")]).with_header(RETRY_AFTER, "7");
        let (service, _) = retried(&wire);
        let begun = Instant::now();
        service
            .call(request(Method::GET, "http://h/b/k"))
            .await
            .expect("an answer");
        assert!(begun.elapsed() >= Duration::from_secs(7));
    }
}
