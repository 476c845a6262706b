//! Small inputs are read whole, in one read, and served from memory until their last row is decoded: on an object store a
//! request costs more than its bytes.

use crate::error::FileError;
use crate::footer::read_exactly;
use crate::io::Input;
use bytes::Bytes;
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// An input that may be held in memory. While it is, nothing is read.
pub(crate) struct HeldInput {
    input: Arc<dyn Input>,
    bytes: Mutex<Option<Bytes>>,
}

impl HeldInput {
    pub(crate) fn new(input: &Arc<dyn Input>) -> Self {
        Self {
            input: Arc::clone(input),
            bytes: Mutex::default(),
        }
    }

    /// Reads all of it, unless it is held already.
    pub(crate) fn hold(&self) -> Result<(), FileError> {
        let mut bytes = self.bytes();
        if bytes.is_none() {
            let length =
                usize::try_from(self.input.len()).map_err(|why| FileError::Read(io::Error::other(why)))?;
            *bytes = Some(read_exactly(self.input.as_ref(), 0, length)?);
        }
        Ok(())
    }

    /// Whoever has a slice of it may go on; the next read goes to the store.
    pub(crate) fn release(&self) {
        *self.bytes() = None;
    }

    /// Whether reads cost nothing.
    pub(crate) fn is_held(&self) -> bool {
        self.bytes().is_some()
    }

    fn bytes(&self) -> MutexGuard<'_, Option<Bytes>> {
        self.bytes.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Input for HeldInput {
    fn name(&self) -> &str {
        self.input.name()
    }
    fn len(&self) -> u64 {
        self.input.len()
    }
    fn read_at(&self, offset: u64, length: usize) -> io::Result<Bytes> {
        let held = self.bytes().clone();
        let Some(held) = held else {
            return self.input.read_at(offset, length);
        };
        let start = usize::try_from(offset).map_err(io::Error::other)?;
        match start.checked_add(length) {
            Some(end) if end <= held.len() => Ok(held.slice(start..end)),
            _ => Err(io::ErrorKind::UnexpectedEof.into()),
        }
    }
}
