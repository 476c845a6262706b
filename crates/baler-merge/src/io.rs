//! The outside world as a merge sees it: bytes in, bytes out, and somebody who watches.

use bytes::Bytes;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;

/// An immutable file that can be read at any place, from any thread.
pub trait Input: Send + Sync {
    /// How the file is called in messages.
    fn name(&self) -> &str;
    /// Length in bytes.
    fn len(&self) -> u64;
    /// Whether there is nothing in it.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }
    /// Exactly `length` bytes from `offset`; fewer is an error.
    fn read_at(&self, offset: u64, length: usize) -> io::Result<Bytes>;
}

/// Where outputs go; parts are asked for in ascending order, one at a time.
pub trait OutputSink {
    /// Opens output number `part`.
    fn create(&mut self, part: u32) -> io::Result<Box<dyn Output>>;
}

/// One output being written.
pub trait Output: io::Write + Send {
    /// Called once after the last byte; the file is durable when it returns.
    fn finish(self: Box<Self>) -> io::Result<()>;
}

/// Watches a merge and may stop it.
pub trait Progress: Send + Sync {
    /// So many rows and decoded bytes went through since the last call.
    fn advanced(&self, rows: u64, bytes: u64);
    /// Whether to stop; asked at every batch.
    fn cancelled(&self) -> bool;
}

/// Nobody watches.
#[derive(Debug, Default, Clone, Copy)]
pub struct Unwatched;

impl Progress for Unwatched {
    fn advanced(&self, _rows: u64, _bytes: u64) {}
    fn cancelled(&self) -> bool {
        false
    }
}

/// A file of the local file system.
#[derive(Debug)]
pub struct LocalFile {
    name: String,
    file: File,
    len: u64,
}

impl LocalFile {
    /// Opens `path` for reading; its length is what it is now.
    pub fn open(path: &Path) -> io::Result<Self> {
        let file = File::open(path)?;
        let len = file.metadata()?.len();
        Ok(Self {
            name: path.display().to_string(),
            file,
            len,
        })
    }
}

impl Input for LocalFile {
    fn name(&self) -> &str {
        &self.name
    }
    fn len(&self) -> u64 {
        self.len
    }
    fn read_at(&self, offset: u64, length: usize) -> io::Result<Bytes> {
        let mut buffer = vec![0; length];
        self.file.read_exact_at(&mut buffer, offset)?;
        Ok(buffer.into())
    }
}

/// A file that is already in memory.
#[derive(Debug, Clone)]
pub struct MemoryFile {
    name: String,
    bytes: Bytes,
}

impl MemoryFile {
    /// `bytes` under the name `name`.
    pub fn new(name: impl Into<String>, bytes: impl Into<Bytes>) -> Self {
        Self {
            name: name.into(),
            bytes: bytes.into(),
        }
    }
}

impl Input for MemoryFile {
    fn name(&self) -> &str {
        &self.name
    }
    fn len(&self) -> u64 {
        self.bytes.len() as u64
    }
    fn read_at(&self, offset: u64, length: usize) -> io::Result<Bytes> {
        let start = usize::try_from(offset).map_err(io::Error::other)?;
        match start.checked_add(length) {
            Some(end) if end <= self.bytes.len() => Ok(self.bytes.slice(start..end)),
            _ => Err(io::ErrorKind::UnexpectedEof.into()),
        }
    }
}
