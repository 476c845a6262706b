//! The pages of a column chunk as they lie in the file, after every claim of their headers was checked. Nothing is unpacked.

use super::chunk_writer::Head;
use super::header::{PageHeader, PageKind};
use super::parse_header::parse_header;
use crate::group::RopeCursor;
use crate::page_claims::{check_count, check_ratio, ratio_max};
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
        self.header.kind.rows()
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
    let body = bytes.slice(start..end);
    check(&header, &[&body], compression)?;
    Ok(RawPage {
        header,
        body,
        length: end,
    })
}

/// The next page of a column that was made here.
pub(crate) fn next_page(rest: &mut RopeCursor<'_>, compression: Compression) -> Result<RawPage, String> {
    let (header, start) = parse_header(rest.piece())?;
    let length = start + header.packed;
    rest.take(start)?;
    let body = rest.take(header.packed)?;
    check(&header, &[&body], compression)?;
    Ok(RawPage { header, body, length })
}

/// Passes by the next page of a column that was made here: what stands for it, and its header.
pub(crate) fn pass_page(
    rest: &mut RopeCursor<'_>,
    compression: Compression,
) -> Result<(Head, PageHeader), String> {
    let (_, start) = parse_header(rest.piece())?;
    let head = Head::of(&rest.piece()[..start]);
    let (header, ..) = next_split_page(rest, compression)?;
    Ok((head, header))
}

/// The next page of a column that was made here: its header, its levels and the rest, which may lie apart.
pub(crate) fn next_split_page(
    rest: &mut RopeCursor<'_>,
    compression: Compression,
) -> Result<(PageHeader, Bytes, Bytes), String> {
    let (header, start) = parse_header(rest.piece())?;
    let level_bytes = match header.kind {
        PageKind::V2 { level_bytes, .. } => level_bytes.min(header.packed),
        _ => 0,
    };
    rest.take(start)?;
    let levels = rest.take(level_bytes)?;
    let body = rest.take(header.packed - level_bytes)?;
    check(&header, &[&levels, &body], compression)?;
    Ok((header, levels, body))
}

/// Whether the pieces of a page are what its header claims.
fn check(header: &PageHeader, body: &[&Bytes], compression: Compression) -> Result<(), String> {
    let (packed, unpacked) = (header.packed as u64, header.unpacked as u64);
    check_ratio(packed, unpacked, ratio_max(compression))?;
    check_count(header.kind.rows() as u64)?;
    let Some(claimed) = header.crc else { return Ok(()) };
    let mut crc = crc32fast::Hasher::new();
    body.iter().for_each(|piece| crc.update(piece));
    match crc.finalize() == claimed {
        true => Ok(()),
        false => Err("a page's bytes do not match its checksum".into()),
    }
}
