//! Files as merges see them: bytes in, bytes out. Both block, and so are used on threads that may.

use std::io;

use bytes::Bytes;

/// One version of a file, which can be read at any place, from any thread.
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

/// One output being written.
pub trait Output: io::Write + Send {
    /// Called once after the last byte; the file is durable when it returns.
    fn finish(self: Box<Self>) -> io::Result<()>;
}
