//! The pages of a column chunk as they lie in the file, after every claim of their headers was checked. Nothing is unpacked.

use super::header::{PageHeader, PageKind};
use super::parse_header::parse_header;
use crate::windows::{check_ratio, ratio_max};
use bytes::Bytes;
use parquet::basic::Compression;

/// A page as it lies in the file.
#[derive(Debug, Clone)]
pub(crate) struct RawPage {
    pub(crate) header: PageHeader,
    /// What follows the header.
    pub(crate) body: Bytes,
    /// Of header and body together.
    pub(crate) length: usize,
}

impl RawPage {
    /// Rows of a data page of a flat column.
    pub(crate) fn rows(&self) -> usize {
        match self.header.kind {
            PageKind::V1 { values, .. } | PageKind::V2 { values, .. } => values as usize,
            PageKind::Dictionary { .. } => 0,
        }
    }
}

/// The pages of a chunk.
#[derive(Debug, Clone, Default)]
pub(crate) struct RawChunk {
    pub(crate) dictionary: Option<RawPage>,
    pub(crate) pages: Vec<RawPage>,
}

/// Cuts the bytes of a chunk into its pages. They must fill it, and hold so many values, which in flat columns are rows.
pub(crate) fn raw_chunk(
    bytes: &Bytes,
    compression: Compression,
    values: u64,
    flat: bool,
) -> Result<RawChunk, String> {
    let (mut chunk, mut at, mut due) = (RawChunk::default(), 0, values);
    while at < bytes.len() {
        let page = raw_page(&bytes.slice(at..), compression)?;
        at += page.length;
        match page.header.kind {
            PageKind::Dictionary { .. } if chunk.dictionary.is_some() || !chunk.pages.is_empty() => {
                return Err("a dictionary is not at the beginning of its column".into());
            }
            PageKind::Dictionary { .. } => chunk.dictionary = Some(page),
            PageKind::V2 {
                values, rows, nulls, ..
            } if (flat && rows != values) || nulls > values => {
                return Err(format!(
                    "a page has {values} values for {rows} rows, {nulls} of them null"
                ));
            }
            _ => {
                due = due
                    .checked_sub(page.rows() as u64)
                    .ok_or("a column holds more than its footer says")?;
                chunk.pages.push(page);
            }
        }
    }
    match due {
        0 => Ok(chunk),
        _ => Err(format!("a column ends {due} values before its footer says")),
    }
}

/// The page at the beginning of `bytes`.
pub(crate) fn raw_page(bytes: &Bytes, compression: Compression) -> Result<RawPage, String> {
    let (header, start) = parse_header(bytes)?;
    let end = start + header.packed;
    if end > bytes.len() {
        return Err(format!(
            "a page claims {} bytes, more than its column has left",
            header.packed
        ));
    }
    check_ratio(
        header.packed as u64,
        header.unpacked as u64,
        ratio_max(compression),
    )?;
    let body = bytes.slice(start..end);
    match header.crc.is_none_or(|crc| crc == crc32fast::hash(&body)) {
        true => Ok(RawPage {
            header,
            body,
            length: end,
        }),
        false => Err("a page's bytes do not match its checksum".into()),
    }
}
