//! Writing an object while the merge goes on: a small one by one PUT, a larger one in parts, a few of them under way at
//! once. Nothing is seen of it before it is whole.

use std::io::{self, Write};
use std::sync::Arc;

use baler_core::file::FilePath;
use baler_journal::host;
use baler_journal::store::words_of;
use object_store::path::Path;
use object_store::{ObjectStore, ObjectStoreExt, WriteMultipart};
use tokio::runtime::Handle;

use super::{BucketDepot, BucketError};
use crate::depot::Output;
use crate::store::{Kind, Purpose};

/// One part of an upload; an output that is smaller goes in one PUT. Stores take at most 10,000 parts.
const PART_BYTES: usize = 8 << 20;

/// Parts under way at once.
const PARTS_AT_ONCE: usize = 2;

/// Memory of an output while it is written: the part that is filled, and those under way.
pub(in crate::depot) const HELD_BYTES: u64 = (PART_BYTES * (PARTS_AT_ONCE + 1)) as u64;

/// What an output of this length takes: one PUT, or its parts with their beginning and their end.
pub(in crate::depot) fn requests_to_write(bytes: u64) -> (Kind, u64) {
    match bytes <= PART_BYTES as u64 {
        true => (Kind::Put, 1),
        false => (Kind::Multipart, bytes.div_ceil(PART_BYTES as u64) + 2),
    }
}

pub(super) fn create(depot: &BucketDepot, path: &FilePath) -> Result<Box<dyn Output>, BucketError> {
    Ok(Box::new(BucketOutput {
        objects: depot.objects(Purpose::Output),
        runtime: depot.runtime.clone(),
        location: depot.writable(path)?,
        part_bytes: host::scaled(PART_BYTES),
        writing: Writing::Small(Vec::new()),
    }))
}

struct BucketOutput {
    objects: Arc<dyn ObjectStore>,
    runtime: Handle,
    location: Path,
    part_bytes: usize,
    writing: Writing,
}

enum Writing {
    /// Everything so far.
    Small(Vec<u8>),
    /// What is not in here is on its way.
    Parts(WriteMultipart),
    /// After an error nobody knows what is there.
    Failed,
}

impl Write for BucketOutput {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if let Writing::Small(so_far) = &mut self.writing {
            if so_far.len() + bytes.len() <= self.part_bytes {
                so_far.extend_from_slice(bytes);
                return Ok(bytes.len());
            }
            self.begin_parts()?;
        }
        let Writing::Parts(upload) = &mut self.writing else {
            return Err(io::Error::other("an earlier write to it failed"));
        };
        let ready = host::block_on(&self.runtime, upload.wait_for_capacity(PARTS_AT_ONCE));
        if let Err(error) = ready {
            self.give_up();
            return Err(failed(&error));
        }
        // Parts are sent by tasks of the runtime.
        let _inside = self.runtime.enter();
        upload.write(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl BucketOutput {
    fn begin_parts(&mut self) -> io::Result<()> {
        let Writing::Small(so_far) = std::mem::replace(&mut self.writing, Writing::Failed) else {
            return Ok(());
        };
        let begun = host::block_on(&self.runtime, self.objects.put_multipart(&self.location));
        let begun = begun.map_err(|error| failed(&error))?;
        let mut upload = WriteMultipart::new_with_chunk_size(begun, self.part_bytes);
        let _inside = self.runtime.enter();
        upload.write(&so_far);
        self.writing = Writing::Parts(upload);
        Ok(())
    }

    /// Parts that were sent cost money until they are aborted. Where this fails too, the sweep of the attempt does it.
    fn give_up(&mut self) {
        if let Writing::Parts(upload) = std::mem::replace(&mut self.writing, Writing::Failed) {
            self.runtime.spawn(host::own(upload.abort()));
        }
    }
}

impl Output for BucketOutput {
    fn finish(mut self: Box<Self>) -> io::Result<()> {
        match std::mem::replace(&mut self.writing, Writing::Failed) {
            // The name is this attempt's own, so writing it twice is the same as once.
            Writing::Small(bytes) => {
                let put = self.objects.put(&self.location, bytes.into());
                host::block_on(&self.runtime, put).map_err(|error| failed(&error))?;
            }
            Writing::Parts(upload) => {
                host::block_on(&self.runtime, upload.finish()).map_err(|error| failed(&error))?;
            }
            Writing::Failed => return Err(io::Error::other("an earlier write to it failed")),
        }
        Ok(())
    }
}

/// Why a write failed, in words that may be written down.
fn failed(error: &object_store::Error) -> io::Error {
    io::Error::other(words_of(error))
}

impl Drop for BucketOutput {
    fn drop(&mut self) {
        self.give_up();
    }
}
