//! Counts requests and bytes.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use async_trait::async_trait;
use http_body_util::BodyExt;
use object_store::client::{HttpClient, HttpError, HttpRequest, HttpResponse, HttpResponseBody, HttpService};

use super::request;
use crate::store::{Kind, Purpose, Usage};

/// What a bucket took so far.
#[derive(Debug, Default)]
pub(in crate::store) struct Meter {
    usage: Mutex<Usage>,
}

impl Meter {
    /// So far.
    pub(in crate::store) fn usage(&self) -> Usage {
        self.lock().clone()
    }

    /// Somebody else asked this much more on this one's behalf.
    pub(in crate::store) fn add(&self, more: &Usage) {
        self.lock().add(more);
    }

    pub(super) fn throttled(&self) {
        self.lock().throttled += 1;
    }

    /// A request is sent again.
    pub(in crate::store) fn retried(&self) {
        self.lock().retries += 1;
    }

    fn sent(&self, purpose: Purpose, kind: Kind, bytes: usize) {
        let mut usage = self.lock();
        let traffic = usage.purposes.entry(purpose).or_default();
        *traffic.requests.entry(kind).or_default() += 1;
        traffic.bytes_out += bytes as u64;
    }

    fn received(&self, purpose: Purpose, bytes: usize) {
        self.lock().purposes.entry(purpose).or_default().bytes_in += bytes as u64;
    }

    fn lock(&self) -> MutexGuard<'_, Usage> {
        self.usage.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A service whose requests are counted.
#[derive(Debug)]
pub(super) struct Counted {
    next: HttpClient,
    meter: Arc<Meter>,
    purpose: Purpose,
}

impl Counted {
    pub(super) fn new(next: HttpClient, meter: Arc<Meter>, purpose: Purpose) -> Self {
        Self { next, meter, purpose }
    }
}

#[async_trait]
impl HttpService for Counted {
    async fn call(&self, request: HttpRequest) -> Result<HttpResponse, HttpError> {
        let bytes = request.body().content_length();
        self.meter.sent(self.purpose, request::kind(&request), bytes);
        let (parts, body) = self.next.execute(request).await?.into_parts();
        let (meter, purpose) = (self.meter.clone(), self.purpose);
        let counted = body.map_frame(move |frame| {
            meter.received(purpose, frame.data_ref().map_or(0, |data| data.len()));
            frame
        });
        Ok(HttpResponse::from_parts(parts, HttpResponseBody::new(counted)))
    }
}

#[cfg(test)]
mod tests {
    use http::Method;

    use super::super::script::{Scripted, request};
    use super::*;

    #[tokio::test]
    async fn requests_and_bytes_add_up_by_purpose_and_kind() {
        let wire = Scripted::new([(200, "four"), (404, "gone!"), (200, "")]);
        let meter = Arc::new(Meter::default());
        let input = Counted::new(wire.client(), meter.clone(), Purpose::Input);
        let output = Counted::new(wire.client(), meter.clone(), Purpose::Output);
        for _ in 0..2 {
            let answer = input
                .call(request(Method::GET, "http://h/b/k"))
                .await
                .expect("an answer");
            answer.into_body().bytes().await.expect("a body");
        }
        let mut put = request(Method::PUT, "http://h/b/k");
        *put.body_mut() = "seventy".to_owned().into();
        output.call(put).await.expect("an answer");

        let usage = meter.usage();
        assert_eq!(
            (
                usage.of(Purpose::Input).bytes_in,
                usage.of(Purpose::Input).bytes_out
            ),
            (9, 0)
        );
        assert_eq!(usage.of(Purpose::Output).bytes_out, 7);
        assert_eq!(usage.of(Purpose::Input).requests[&Kind::Get], 2);
        assert_eq!(usage.of(Purpose::Output).requests[&Kind::Put], 1);
        assert_eq!(usage.requests(), 3);
        let shown = serde_json::to_value(&usage).expect("JSON");
        assert_eq!(shown["purposes"]["input"]["requests"]["get"], 2);
    }
}
