//! Keeps what a HEAD answered, for what the `object_store` crate does not read from it (storage class, tags).

use async_trait::async_trait;
use http::{HeaderMap, Method};
use object_store::client::{HttpClient, HttpError, HttpRequest, HttpResponse, HttpService};

/// The headers of the answer to a HEAD: an extension of its result.
#[derive(Clone, Debug)]
pub(in crate::store) struct AnswerHeaders(pub(in crate::store) HeaderMap);

/// A service that keeps them.
#[derive(Debug)]
pub(super) struct KeepHeaders {
    next: HttpClient,
}

impl KeepHeaders {
    pub(super) fn new(next: HttpClient) -> Self {
        Self { next }
    }
}

#[async_trait]
impl HttpService for KeepHeaders {
    async fn call(&self, request: HttpRequest) -> Result<HttpResponse, HttpError> {
        let is_head = request.method() == Method::HEAD;
        let mut answer = self.next.execute(request).await?;
        if is_head {
            let kept = AnswerHeaders(answer.headers().clone());
            answer.extensions_mut().insert(kept);
        }
        Ok(answer)
    }
}
