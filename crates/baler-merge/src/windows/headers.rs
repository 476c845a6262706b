//! Page headers, read one at a time and checked before the decoder sees them.

use super::Shared;
use crate::limits::PAGE_HEADER_BYTES_MAX;
use crate::pages::parse_header::parse_header;
use bytes::Bytes;
use parquet::errors::{ParquetError, Result as ParquetResult};
use std::io::{self, Read};
use std::sync::Arc;

/// Enough for any header without huge statistics; a longer one is fetched again at twice the length.
const HEADER_BYTES: usize = 4 << 10;

/// Reads a page header, after all that it claims was checked. The decoder asks for one of these also where it needs no header, so
/// nothing is fetched or checked before the first byte is read.
pub(crate) struct PageHeaders {
    shared: Arc<Shared>,
    start: u64,
    header: Option<(Bytes, usize)>,
}

impl PageHeaders {
    pub(super) fn at(shared: Arc<Shared>, start: u64) -> Self {
        Self {
            shared,
            start,
            header: None,
        }
    }
}

impl Shared {
    /// The header of the page at `start`, and nothing behind it.
    fn checked_header(&self, start: u64) -> ParquetResult<Bytes> {
        let chunk = &self.chunks[self.chunk_at(start)?];
        let mut wanted = HEADER_BYTES;
        loop {
            let bytes = self.fetch(start, wanted)?;
            match parse_header(&bytes) {
                Ok((header, length)) => {
                    let checked = chunk.check_page(start, &header, length);
                    checked.map_err(ParquetError::General)?;
                    if chunk.claims.is_looked_into(&header) {
                        chunk.lock().page = Some((start + length as u64, header));
                    }
                    return Ok(bytes.slice(..length));
                }
                Err(_) if bytes.len() == wanted && wanted < PAGE_HEADER_BYTES_MAX => wanted *= 2,
                Err(_) if wanted >= PAGE_HEADER_BYTES_MAX => {
                    let why = format!("a page header is longer than {PAGE_HEADER_BYTES_MAX} bytes");
                    return Err(ParquetError::General(why));
                }
                Err(why) => return Err(ParquetError::General(why)),
            }
        }
    }
}

impl Read for PageHeaders {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let (bytes, at) = match &mut self.header {
            Some(header) => header,
            none => {
                let header = self.shared.checked_header(self.start);
                none.insert((header.map_err(io::Error::other)?, 0))
            }
        };
        let length = into.len().min(bytes.len() - *at);
        into[..length].copy_from_slice(&bytes[*at..*at + length]);
        *at += length;
        Ok(length)
    }
}
