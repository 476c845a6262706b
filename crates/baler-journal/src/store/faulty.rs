//! A store whose next answers are scripted: everything that real stores and networks do to a caller. For tests.

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard};

use async_trait::async_trait;
use bytes::Bytes;
use futures::StreamExt;
use futures::stream::{self, BoxStream};
use tokio::sync::Semaphore;

use super::{Object, ObjectMeta, Store, StoreError};

/// What a store is asked to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operation {
    /// `get`.
    Get,
    /// `head`.
    Head,
    /// `create`.
    Create,
    /// `list`.
    List,
    /// `delete`.
    Delete,
    /// `settle`.
    Settle,
}

/// Something that goes wrong with one call.
#[derive(Clone, Debug)]
pub enum Fault {
    /// The error is returned and nothing is done.
    FailBefore(StoreError),
    /// It is done, and the answer is lost.
    LoseResponse,
    /// The answer is "unknown"; it is done when `land_late` is called.
    ApplyLate,
    /// `create` says that the name is taken, which it is not.
    FalseExists,
    /// `create` is done, and says that the name is taken: a retry inside the client met its own object.
    MeetItself,
    /// `get` returns only so many bytes.
    ShortRead(usize),
    /// `get` returns the bytes with one of them changed.
    FlipByte(usize),
    /// The call waits at the gate before it is done.
    Hold(Gate),
}

/// A door that calls wait at until it is opened.
#[derive(Clone, Debug)]
pub struct Gate {
    passes: Arc<Semaphore>,
    arrivals: Arc<Semaphore>,
}

impl Default for Gate {
    fn default() -> Self {
        Self {
            passes: Arc::new(Semaphore::new(0)),
            arrivals: Arc::new(Semaphore::new(0)),
        }
    }
}

impl Gate {
    /// Lets everybody through, now and later.
    pub fn open(&self) {
        self.passes.add_permits(Semaphore::MAX_PERMITS / 2);
    }

    /// Waits until a call has arrived.
    pub async fn arrived(&self) {
        if let Ok(arrival) = self.arrivals.acquire().await {
            arrival.forget();
        }
    }

    async fn pass(&self) {
        self.arrivals.add_permits(1);
        let _passed = self.passes.acquire().await;
    }
}

/// A call that was made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Call {
    /// What was asked.
    pub operation: Operation,
    /// Of which object or folder.
    pub path: String,
}

/// A store around a store, with scripted faults.
pub struct FaultyStore {
    store: Arc<dyn Store>,
    script: Mutex<Vec<Planned>>,
    late: Mutex<Vec<(String, Bytes)>>,
    calls: Mutex<Vec<Call>>,
}

#[derive(Debug)]
struct Planned {
    operation: Operation,
    path_part: String,
    fault: Fault,
}

impl fmt::Debug for FaultyStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FaultyStore")
            .field("script", &self.script)
            .finish_non_exhaustive()
    }
}

impl FaultyStore {
    /// Around a store; without faults at first.
    pub fn new(store: Arc<dyn Store>) -> Self {
        Self {
            store,
            script: Mutex::default(),
            late: Mutex::default(),
            calls: Mutex::default(),
        }
    }

    /// The next such call on a path that contains `path_part` goes wrong. Faults for the same call happen in the
    /// order they were planned.
    pub fn plan(&self, operation: Operation, path_part: &str, fault: Fault) {
        lock(&self.script).push(Planned {
            operation,
            path_part: path_part.to_owned(),
            fault,
        });
    }

    /// The same, so many times.
    pub fn plan_times(&self, times: usize, operation: Operation, path_part: &str, fault: &Fault) {
        for _ in 0..times {
            self.plan(operation, path_part, fault.clone());
        }
    }

    /// Faults that were planned and have not happened yet.
    pub fn faults_left(&self) -> usize {
        lock(&self.script).len()
    }

    /// Does what was to be done late; tells which names were free.
    pub async fn land_late(&self) -> Vec<bool> {
        let late = std::mem::take(&mut *lock(&self.late));
        let mut landed = Vec::new();
        for (path, body) in late {
            landed.push(self.store.create(&path, body).await.is_ok());
        }
        landed
    }

    /// The calls made since this was last asked.
    pub fn take_calls(&self) -> Vec<Call> {
        std::mem::take(&mut *lock(&self.calls))
    }

    async fn next_fault(&self, operation: Operation, path: &str) -> Option<Fault> {
        lock(&self.calls).push(Call {
            operation,
            path: path.to_owned(),
        });
        let fault = self.take_fault(operation, path)?;
        if let Fault::Hold(gate) = &fault {
            gate.pass().await;
            return None;
        }
        Some(fault)
    }

    fn take_fault(&self, operation: Operation, path: &str) -> Option<Fault> {
        let mut script = lock(&self.script);
        let hit = |planned: &Planned| planned.operation == operation && path.contains(&planned.path_part);
        let at = script.iter().position(hit)?;
        Some(script.remove(at).fault)
    }
}

#[async_trait]
impl Store for FaultyStore {
    fn endpoint(&self) -> String {
        self.store.endpoint()
    }

    async fn get(&self, path: &str) -> Result<Object, StoreError> {
        let fault = self.next_fault(Operation::Get, path).await;
        if let Some(Fault::FailBefore(error)) = fault {
            return Err(error);
        }
        let mut object = self.store.get(path).await?;
        match fault {
            Some(Fault::LoseResponse | Fault::ApplyLate) => return Err(lost(path)),
            Some(Fault::ShortRead(bytes)) => object.bytes.truncate(bytes),
            Some(Fault::FlipByte(at)) => object.bytes = flip(&object.bytes, at),
            _ => {}
        }
        Ok(object)
    }

    async fn head(&self, path: &str) -> Result<ObjectMeta, StoreError> {
        match self.next_fault(Operation::Head, path).await {
            Some(Fault::FailBefore(error)) => Err(error),
            Some(Fault::LoseResponse) => Err(lost(path)),
            _ => self.store.head(path).await,
        }
    }

    async fn create(&self, path: &str, body: Bytes) -> Result<(), StoreError> {
        match self.next_fault(Operation::Create, path).await {
            Some(Fault::FailBefore(error)) => Err(error),
            Some(Fault::FalseExists) => Err(StoreError::AlreadyExists {
                path: path.to_owned(),
            }),
            Some(Fault::ApplyLate) => {
                lock(&self.late).push((path.to_owned(), body));
                Err(lost(path))
            }
            Some(Fault::MeetItself) => {
                self.store.create(path, body).await?;
                Err(StoreError::AlreadyExists {
                    path: path.to_owned(),
                })
            }
            Some(Fault::LoseResponse) => {
                let _lost_answer = self.store.create(path, body).await;
                Err(lost(path))
            }
            _ => self.store.create(path, body).await,
        }
    }

    fn list(&self, folder: &str, after: &str) -> BoxStream<'static, Result<ObjectMeta, StoreError>> {
        lock(&self.calls).push(Call {
            operation: Operation::List,
            path: folder.to_owned(),
        });
        match self.take_fault(Operation::List, folder) {
            Some(Fault::FailBefore(error)) => stream::iter([Err(error)]).boxed(),
            _ => self.store.list(folder, after),
        }
    }

    async fn delete(&self, path: &str) -> Result<(), StoreError> {
        match self.next_fault(Operation::Delete, path).await {
            Some(Fault::FailBefore(error)) => Err(error),
            Some(Fault::LoseResponse) => {
                let _lost_answer = self.store.delete(path).await;
                Err(lost(path))
            }
            _ => self.store.delete(path).await,
        }
    }

    async fn settle(&self, folder: &str) -> Result<(), StoreError> {
        match self.next_fault(Operation::Settle, folder).await {
            Some(Fault::FailBefore(error)) => Err(error),
            _ => self.store.settle(folder).await,
        }
    }
}

fn lost(path: &str) -> StoreError {
    StoreError::Unknown {
        path: path.to_owned(),
        reason: "the answer was lost".to_owned(),
    }
}

fn flip(bytes: &Bytes, at: usize) -> Bytes {
    let mut bytes = bytes.to_vec();
    if let Some(byte) = bytes.get_mut(at) {
        *byte ^= 0x40;
    }
    bytes.into()
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}
