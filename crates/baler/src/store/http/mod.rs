//! What happens to each HTTP request of a bucket, from the client down to the wire, one service a concern:
//!
//! ```text
//! explain → headers → retry → counted → limited → throttled → the wire
//! ```
//!
//! The journal's requests are never retried, and do not queue behind the others: a lease must not be lost because
//! footers wait for their turn.

mod budget;
mod counted;
mod explain;
mod headers;
mod limited;
mod request;
mod retry;
mod throttle;

#[cfg(test)]
mod script;

use std::sync::Arc;

use object_store::ClientOptions;
use object_store::client::{HttpClient, HttpConnector};

pub(super) use budget::Budget;
pub(super) use counted::Meter;
pub(super) use explain::Explained;
pub(super) use headers::AnswerHeaders;

use super::{BucketUrl, Purpose};
use counted::Counted;
use headers::KeepHeaders;
use limited::{Limited, Slots};
use retry::Retried;
use throttle::{Throttle, Throttled};

/// What all requests of a bucket share.
#[derive(Debug)]
pub(super) struct Shared {
    pub(super) meter: Arc<Meter>,
    pub(super) budget: Arc<Budget>,
    throttle: Arc<Throttle>,
    slots: Slots,
    journal_slots: Slots,
}

/// Requests in flight for everything but the journal.
const REQUESTS_MAX: usize = 128;
/// Requests in flight for the journal.
const JOURNAL_REQUESTS_MAX: usize = 16;

impl Default for Shared {
    fn default() -> Self {
        Self {
            meter: Arc::default(),
            budget: Arc::default(),
            throttle: Arc::default(),
            slots: Slots::new(REQUESTS_MAX),
            journal_slots: Slots::new(JOURNAL_REQUESTS_MAX),
        }
    }
}

/// Puts the services for a purpose above the wire.
pub(super) fn stack(url: &BucketUrl, purpose: Purpose, wire: HttpClient, shared: &Shared) -> HttpClient {
    let (meter, throttle) = (shared.meter.clone(), shared.throttle.clone());
    let below = |slots: &Slots, waits| {
        let throttled = Throttled::new(wire, throttle, meter.clone(), waits);
        let limited = Limited::new(HttpClient::new(throttled), slots.clone());
        HttpClient::new(Counted::new(HttpClient::new(limited), meter.clone(), purpose))
    };
    let tried = match purpose {
        Purpose::Journal => below(&shared.journal_slots, false),
        _ => {
            let counted = below(&shared.slots, true);
            HttpClient::new(Retried::new(counted, shared.budget.clone(), shared.meter.clone()))
        }
    };
    let kept = HttpClient::new(KeepHeaders::new(tried));
    HttpClient::new(Explained::new(kept, url))
}

/// Hands the same client to whoever asks.
#[derive(Debug)]
pub(super) struct Ready(pub(super) HttpClient);

impl HttpConnector for Ready {
    fn connect(&self, _: &ClientOptions) -> object_store::Result<HttpClient> {
        Ok(self.0.clone())
    }
}

#[cfg(test)]
mod tests {
    use http::Method;

    use super::script::{Scripted, request};
    use super::*;
    use crate::store::Location;

    #[tokio::test(start_paused = true)]
    async fn nothing_of_the_journal_is_sent_twice() {
        let Ok(Location::Bucket(url)) = "s3://b".parse() else {
            panic!("a bucket")
        };
        for purpose in Purpose::ALL {
            let (wire, shared) = (Scripted::new([(503, ""), (200, "")]), Shared::default());
            let top = stack(&url, purpose, wire.client(), &shared);
            let answer = top
                .execute(request(Method::GET, "http://h/b/k"))
                .await
                .expect("an answer");
            let usage = shared.meter.usage();
            let (status, calls) = if purpose == Purpose::Journal {
                (503, 1)
            } else {
                (200, 2)
            };
            assert_eq!(
                (answer.status().as_u16(), wire.calls()),
                (status, calls),
                "{purpose:?}"
            );
            assert_eq!(
                (usage.requests(), usage.retries),
                (calls as u64, calls as u64 - 1)
            );
            assert_eq!(usage.throttled, 1);
        }
    }
}
