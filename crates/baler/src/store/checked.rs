//! Compares the length of each body with what its headers promised. A body that ends early must never pass for an
//! object that is short.

use std::ops::Range;

use async_trait::async_trait;
use bytes::Bytes;
use futures::StreamExt;
use futures::stream::{self, BoxStream};
use object_store::path::Path;
use object_store::{Error, GetOptions, GetResult, GetResultPayload, Result};

use super::layer::{Layer, Next};

/// The concern.
#[derive(Debug)]
pub(super) struct Checked;

#[derive(Debug, thiserror::Error)]
#[error("{path}: {came} of {promised} bytes came")]
struct WrongLength {
    path: String,
    came: u64,
    promised: u64,
}

#[async_trait]
impl Layer for Checked {
    async fn get(&self, next: &Next, location: &Path, options: GetOptions) -> Result<GetResult> {
        let is_head = options.head;
        let mut result = next.get_opts(location, options).await?;
        if let (false, GetResultPayload::Stream(body)) = (is_head, result.payload) {
            result.payload = GetResultPayload::Stream(checked(location, body, result.range.clone()));
        } else {
            result.payload = GetResultPayload::Stream(stream::empty().boxed());
        }
        Ok(result)
    }
}

fn checked(
    location: &Path,
    body: BoxStream<'static, Result<Bytes>>,
    range: Range<u64>,
) -> BoxStream<'static, Result<Bytes>> {
    let (path, promised) = (location.to_string(), range.end - range.start);
    let wrong = move |came| Error::Generic {
        store: "checked",
        source: Box::new(WrongLength {
            path: path.clone(),
            came,
            promised,
        }),
    };
    let state = Some((body, 0u64, wrong));
    // Whoever collects an empty body asks once more after its end.
    stream::unfold(state, move |state| async move {
        let (mut body, came, wrong) = state?;
        match body.next().await {
            Some(Ok(bytes)) => {
                let came = came + bytes.len() as u64;
                match came > promised {
                    true => Some((Err(wrong(came)), None)),
                    false => Some((Ok(bytes), Some((body, came, wrong)))),
                }
            }
            Some(Err(error)) => Some((Err(error), None)),
            None if came < promised => Some((Err(wrong(came)), None)),
            None => None,
        }
    })
    .fuse()
    .boxed()
}
