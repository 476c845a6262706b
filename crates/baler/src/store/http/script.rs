//! A wire whose answers are scripted. For tests.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use bytes::Bytes;
use http::{HeaderName, HeaderValue, Method};
use http_body_util::{BodyExt, Full};
use object_store::client::{
    HttpClient, HttpError, HttpErrorKind, HttpRequest, HttpRequestBody, HttpResponse, HttpResponseBody,
    HttpService,
};

/// Answers in order; the last one for ever.
#[derive(Clone, Debug)]
pub(super) struct Scripted(Arc<Mutex<Script>>);

#[derive(Debug)]
struct Script {
    answers: VecDeque<Result<(u16, &'static str), HttpErrorKind>>,
    headers: Vec<(HeaderName, &'static str)>,
    calls: usize,
}

pub(super) fn request(method: Method, uri: &str) -> HttpRequest {
    let builder = http::Request::builder().method(method).uri(uri);
    builder.body(HttpRequestBody::empty()).expect("a request")
}

impl Scripted {
    /// A body that breaks off.
    pub(super) const BROKEN: &'static str = "broken";

    pub(super) fn new(answers: impl IntoIterator<Item = (u16, &'static str)>) -> Self {
        Self::with_answers(answers.into_iter().map(Ok).collect())
    }

    pub(super) fn failing(failure: Result<u16, HttpErrorKind>) -> Self {
        Self::with_answers([failure.map(|status| (status, ""))].into())
    }

    fn with_answers(answers: VecDeque<Result<(u16, &'static str), HttpErrorKind>>) -> Self {
        let (headers, calls) = (Vec::new(), 0);
        Self(Arc::new(Mutex::new(Script {
            answers,
            headers,
            calls,
        })))
    }

    pub(super) fn with_header(self, name: HeaderName, value: &'static str) -> Self {
        self.0.lock().expect("a script").headers.push((name, value));
        self
    }

    pub(super) fn client(&self) -> HttpClient {
        HttpClient::new(self.clone())
    }

    pub(super) fn calls(&self) -> usize {
        self.0.lock().expect("a script").calls
    }
}

/// Some bytes, and then an error in place of the end.
fn broken_body() -> HttpResponseBody {
    let some = Full::new(Bytes::from_static(b"some")).map_err(|never: Infallible| match never {});
    let broken = HttpError::new(HttpErrorKind::Interrupted, std::io::Error::other("scripted"));
    HttpResponseBody::new(some.with_trailers(async move { Some(Err(broken)) }))
}

#[async_trait]
impl HttpService for Scripted {
    async fn call(&self, _: HttpRequest) -> Result<HttpResponse, HttpError> {
        let mut script = self.0.lock().expect("a script");
        script.calls += 1;
        let answer = match script.answers.len() {
            0 | 1 => script.answers.front().copied(),
            _ => script.answers.pop_front(),
        };
        let (status, body) = answer
            .expect("a scripted answer")
            .map_err(|kind| HttpError::new(kind, std::io::Error::other("scripted")))?;
        let mut answer = http::Response::builder().status(status);
        for (name, value) in &script.headers {
            answer = answer.header(name, HeaderValue::from_static(value));
        }
        let body = match body {
            Self::BROKEN => broken_body(),
            body => body.to_owned().into(),
        };
        Ok(answer.body(body).expect("an answer"))
    }
}
