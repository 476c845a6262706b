//! Unpacks a data page of a flat column into what is null and what the values are, still encoded.

use super::codec::Unpacker;
use super::header::PageKind;
use super::levels;
use super::raw::RawPage;
use arrow::buffer::NullBuffer;
use parquet::basic::Encoding;

/// An unpacked data page.
pub(crate) struct OpenPage<'a> {
    pub(crate) encoding: Encoding,
    pub(crate) rows: usize,
    /// Which rows have a value; nothing if all have.
    pub(crate) validity: Option<NullBuffer>,
    /// The encoded values, as many as rows have one.
    pub(crate) values: &'a [u8],
}

impl OpenPage<'_> {
    /// Values that are there.
    pub(crate) fn present(&self) -> usize {
        self.rows - self.validity.as_ref().map_or(0, NullBuffer::null_count)
    }
}

/// Unpacks `page` into `scratch`. `nullable` columns have definition levels.
pub(crate) fn open_page<'a>(
    page: &RawPage,
    nullable: bool,
    unpacker: &mut Unpacker,
    scratch: &'a mut Vec<u8>,
) -> Result<OpenPage<'a>, String> {
    let unpacked = page.header.unpacked;
    let rows = page.rows();
    match &page.header.kind {
        PageKind::Dictionary { .. } => Err("a dictionary lies where data should".into()),
        PageKind::V1 {
            encoding,
            level_encoding,
            ..
        } => {
            unpacker.unpack(&page.body, unpacked, scratch)?;
            let mut values: &'a [u8] = scratch;
            let mut validity = None;
            if nullable {
                if *level_encoding != Encoding::RLE {
                    return Err(format!("levels in encoding {level_encoding:?}"));
                }
                let (length, rest) = values.split_first_chunk().ok_or("a page ends in its levels")?;
                let (found, rest) = rest
                    .split_at_checked(u32::from_le_bytes(*length) as usize)
                    .ok_or("a page ends in its levels")?;
                validity = levels::decode(found, rows)?;
                values = rest;
            }
            Ok(OpenPage {
                encoding: *encoding,
                rows,
                validity,
                values,
            })
        }
        PageKind::V2 {
            encoding,
            nulls,
            level_bytes,
            repetition_bytes,
            ..
        } => {
            let found = page.body.get(..*level_bytes).filter(|_| *repetition_bytes == 0);
            let found = found.ok_or("a page ends in its levels")?;
            let validity = match nullable {
                true => levels::decode(found, rows)?,
                false => None,
            };
            if validity.as_ref().map_or(0, NullBuffer::null_count) != *nulls as usize {
                return Err("a page counts its nulls wrong".into());
            }
            let (_, values) = unpack_body(page, unpacker, scratch)?;
            Ok(OpenPage {
                encoding: *encoding,
                rows,
                validity,
                values,
            })
        }
    }
}

/// Unpacks what is packed of a page into `scratch`: all of it, or in pages of the second kind all but the levels, which are so
/// many bytes at the beginning of its body.
pub(crate) fn unpack_body<'a>(
    page: &RawPage,
    unpacker: &mut Unpacker,
    scratch: &'a mut Vec<u8>,
) -> Result<(usize, &'a [u8]), String> {
    let PageKind::V2 {
        level_bytes,
        is_packed,
        ..
    } = page.header.kind
    else {
        unpacker.unpack(&page.body, page.header.unpacked, scratch)?;
        return Ok((0, scratch));
    };
    const CUT: &str = "a page ends in its levels";
    let packed = page.body.get(level_bytes..).ok_or(CUT)?;
    let length = page.header.unpacked.checked_sub(level_bytes).ok_or(CUT)?;
    // A page of nulls has no values to pack, and some writers pack nothing into nothing.
    match (is_packed && !packed.is_empty(), packed.len() == length) {
        (true, _) => unpacker.unpack(packed, length, scratch)?,
        (false, true) => {
            scratch.clear();
            scratch.extend_from_slice(packed);
        }
        (false, false) => return Err("a page that is not packed claims two lengths".into()),
    }
    Ok((level_bytes, scratch))
}
