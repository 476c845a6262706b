//! Bounds the requests in flight. A slot is given back when the answer begins: a merge may read a body slowly while
//! it waits for another object, and would wait for ever if open bodies held the slots.

use std::sync::Arc;

use async_trait::async_trait;
use object_store::client::{HttpClient, HttpError, HttpRequest, HttpResponse, HttpService};
use tokio::sync::Semaphore;

/// The requests that may be in flight.
#[derive(Clone, Debug)]
pub(super) struct Slots(Arc<Semaphore>);

impl Slots {
    pub(super) fn new(requests: usize) -> Self {
        Self(Arc::new(Semaphore::new(requests)))
    }
}

/// A service with so many requests at a time.
#[derive(Debug)]
pub(super) struct Limited {
    next: HttpClient,
    slots: Slots,
}

impl Limited {
    pub(super) fn new(next: HttpClient, slots: Slots) -> Self {
        Self { next, slots }
    }
}

#[async_trait]
impl HttpService for Limited {
    async fn call(&self, request: HttpRequest) -> Result<HttpResponse, HttpError> {
        let _slot = self.slots.0.acquire().await.expect("nobody closes the slots");
        self.next.execute(request).await
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::time::Duration;

    use futures::future::join_all;
    use http::Method;

    use super::super::script::request;
    use super::*;

    #[derive(Debug, Default)]
    struct Slow {
        now: AtomicUsize,
        most: Arc<AtomicUsize>,
    }

    #[async_trait]
    impl HttpService for Slow {
        async fn call(&self, _: HttpRequest) -> Result<HttpResponse, HttpError> {
            let now = self.now.fetch_add(1, Ordering::SeqCst) + 1;
            self.most.fetch_max(now, Ordering::SeqCst);
            tokio::time::sleep(Duration::from_millis(30)).await;
            self.now.fetch_sub(1, Ordering::SeqCst);
            Ok(HttpResponse::new(String::new().into()))
        }
    }

    #[tokio::test(start_paused = true)]
    async fn no_more_requests_than_slots_are_in_flight() {
        let slow = Slow::default();
        let most = slow.most.clone();
        let limited = Limited::new(HttpClient::new(slow), Slots::new(3));
        let calls = (0..20).map(|_| limited.call(request(Method::GET, "http://h/b/k")));
        let open: Vec<_> = join_all(calls).await;
        assert_eq!(most.load(Ordering::SeqCst), 3);
        assert_eq!(open.len(), 20, "answers that nobody has read hold no slot");
    }
}
