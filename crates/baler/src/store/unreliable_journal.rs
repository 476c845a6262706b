//! The journal of a folder that fails on purpose; see `faults`. Files themselves are read and written without a store.

use std::sync::Arc;

use async_trait::async_trait;
use baler_journal::store::{Object, ObjectMeta, Store, StoreError};
use bytes::Bytes;
use futures::stream::BoxStream;

use super::faults::{Fault, Faults};

/// A store around a journal's.
#[derive(Debug)]
pub(crate) struct UnreliableJournal {
    pub(crate) next: Arc<dyn Store>,
    pub(crate) faults: Faults,
}

fn failed(path: &str, reason: &str) -> StoreError {
    StoreError::Unknown {
        path: path.to_owned(),
        reason: reason.to_owned(),
    }
}

#[async_trait]
impl Store for UnreliableJournal {
    fn endpoint(&self) -> String {
        self.next.endpoint()
    }

    async fn get(&self, path: &str) -> Result<Object, StoreError> {
        match self.faults.draw(&[Fault::Refused, Fault::Delayed, Fault::Cut]) {
            Some(Fault::Refused) => return Err(failed(path, "503 Slow Down, on purpose")),
            Some(Fault::Delayed) => Faults::dawdle().await,
            Some(Fault::Cut) => {
                let Object { meta, bytes } = self.next.get(path).await?;
                let bytes = bytes.slice(..bytes.len() / 2);
                return Ok(Object { meta, bytes });
            }
            _ => {}
        }
        self.next.get(path).await
    }

    async fn head(&self, path: &str) -> Result<ObjectMeta, StoreError> {
        self.next.head(path).await
    }

    async fn create(&self, path: &str, body: Bytes) -> Result<(), StoreError> {
        match self
            .faults
            .draw(&[Fault::Refused, Fault::AnswerLost, Fault::Delayed])
        {
            Some(Fault::Refused) => return Err(failed(path, "503 Slow Down, on purpose")),
            Some(Fault::AnswerLost) => {
                let _nobody_hears_it = self.next.create(path, body).await;
                return Err(failed(path, "the connection broke, on purpose"));
            }
            Some(Fault::Delayed) => Faults::dawdle().await,
            _ => {}
        }
        self.next.create(path, body).await
    }

    fn list(&self, folder: &str, after: &str) -> BoxStream<'static, Result<ObjectMeta, StoreError>> {
        self.next.list(folder, after)
    }

    async fn delete(&self, path: &str) -> Result<(), StoreError> {
        self.next.delete(path).await
    }

    async fn settle(&self, folder: &str) -> Result<(), StoreError> {
        self.next.settle(folder).await
    }
}
