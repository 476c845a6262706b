//! A bucket that fails on purpose; see `faults`.

use async_trait::async_trait;
use futures::{StreamExt, TryStreamExt};
use object_store::path::Path;
use object_store::{
    Error, GetOptions, GetResult, GetResultPayload, PutOptions, PutPayload, PutResult, Result,
};

use super::faults::{Fault, Faults};
use super::layer::{Layer, Next};

/// The concern.
#[derive(Debug)]
pub(super) struct Unreliable(pub(super) Faults);

fn failed(what: &'static str) -> Error {
    Error::Generic {
        store: "chaos",
        source: what.into(),
    }
}

#[async_trait]
impl Layer for Unreliable {
    async fn get(&self, next: &Next, location: &Path, options: GetOptions) -> Result<GetResult> {
        let whole_body = !options.head;
        match self.0.draw(&[Fault::Refused, Fault::Delayed, Fault::Cut]) {
            Some(Fault::Refused) => Err(failed("503 Slow Down, on purpose")),
            Some(Fault::Delayed) => {
                Faults::dawdle().await;
                next.get_opts(location, options).await
            }
            Some(Fault::Cut) if whole_body => next.get_opts(location, options).await.map(cut),
            _ => next.get_opts(location, options).await,
        }
    }

    async fn put(
        &self,
        next: &Next,
        location: &Path,
        payload: PutPayload,
        options: PutOptions,
    ) -> Result<PutResult> {
        match self.0.draw(&[Fault::Refused, Fault::AnswerLost, Fault::Delayed]) {
            Some(Fault::Refused) => Err(failed("503 Slow Down, on purpose")),
            Some(Fault::AnswerLost) => {
                let _nobody_hears_it = next.put_opts(location, payload, options).await;
                Err(failed("the connection broke, on purpose"))
            }
            Some(Fault::Delayed) => {
                Faults::dawdle().await;
                next.put_opts(location, payload, options).await
            }
            _ => next.put_opts(location, payload, options).await,
        }
    }
}

/// The body ends in the middle of what its header promised, and says so by nothing but its end.
fn cut(mut result: GetResult) -> GetResult {
    let half = (result.range.end - result.range.start) / 2;
    if let GetResultPayload::Stream(body) = result.payload {
        let mut left = half;
        let body = body.map_ok(move |bytes| {
            let length = (bytes.len() as u64).min(left);
            left -= length;
            bytes.slice(..usize::try_from(length).unwrap_or(bytes.len()))
        });
        result.payload = GetResultPayload::Stream(body.boxed());
    }
    result
}
