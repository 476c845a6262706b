//! Pages of strings whose lengths are told apart from their bytes. A decoder makes room for as many lengths as the page claims, and a
//! string may repeat all of the one before it; so both are added up before the decoder sees the page.

use super::delta;
use super::header::PageKind;
use super::open_page::unpack_body;
use super::raw::RawPage;
use crate::limits::PAGE_BYTES_MAX;
use crate::pages::codec::Unpacker;
use parquet::basic::{Compression, Encoding};
use parquet::schema::types::ColumnDescriptor;

/// Whether lengths stand in pages of this encoding.
pub(crate) fn has_lengths(encoding: Encoding) -> bool {
    matches!(
        encoding,
        Encoding::DELTA_LENGTH_BYTE_ARRAY | Encoding::DELTA_BYTE_ARRAY
    )
}

/// Refuses a page that claims more strings than it has values, or whose strings take more than a page may. Pages of codecs that are
/// left to the decoder pass.
pub(crate) fn check_lengths(
    page: &RawPage,
    compression: Compression,
    column: &ColumnDescriptor,
) -> Result<(), String> {
    let Some(mut unpacker) = Unpacker::new(compression).map_err(|why| why.to_string())? else {
        return Ok(());
    };
    let mut scratch = Vec::new();
    let (_, unpacked) = unpack_body(page, &mut unpacker, &mut scratch)?;
    let (values, level_encoding) = match page.header.kind {
        PageKind::Dictionary { .. } => return Ok(()),
        PageKind::V1 {
            values,
            level_encoding,
            ..
        } => (values, Some(level_encoding)),
        PageKind::V2 { values, .. } => (values, None),
    };
    let has_levels = column.max_def_level() > 0 || column.max_rep_level() > 0;
    let strings = match level_encoding {
        Some(Encoding::RLE) => behind_levels(unpacked, column)?,
        Some(other) if has_levels => return Err(format!("its levels are in encoding {other}")),
        _ => unpacked,
    };
    // A page of nulls may end with its levels.
    match strings.is_empty() {
        true => Ok(()),
        false => check_strings(strings, page.header.kind.encoding(), values.into()),
    }
}

/// What follows the levels of a page of the first kind.
fn behind_levels<'a>(page: &'a [u8], column: &ColumnDescriptor) -> Result<&'a [u8], String> {
    let mut rest = page;
    for _ in [column.max_rep_level(), column.max_def_level()]
        .into_iter()
        .filter(|level| *level > 0)
    {
        let (length, levels) = rest.split_first_chunk().ok_or("a page ends in its levels")?;
        let length = u32::from_le_bytes(*length) as usize;
        rest = levels.get(length..).ok_or("a page ends in its levels")?;
    }
    Ok(rest)
}

fn check_strings(bytes: &[u8], encoding: Encoding, values: u64) -> Result<(), String> {
    let count = counted(bytes, values)?;
    if encoding == Encoding::DELTA_LENGTH_BYTE_ARRAY {
        return Ok(());
    }
    // Lengths are 32-bit numbers; one below zero is refused by what it adds up to, or by the decoder.
    let mut shared: Vec<u32> = Vec::with_capacity(count);
    let suffixes = delta::decode(bytes, count, |length| shared.push(length as u32))?;
    if counted(suffixes, values)? != count {
        return Err("a page has not as many beginnings as ends of strings".into());
    }
    let (mut all, mut last, mut shared) = (0u64, 0u64, shared.into_iter());
    delta::decode(suffixes, count, |added| {
        let kept = shared.next().map_or(0, u64::from).min(last);
        last = kept + u64::from(added as u32);
        all = all.saturating_add(last);
    })?;
    match all > PAGE_BYTES_MAX {
        true => Err(format!(
            "the strings of a page take {all} bytes, more than {PAGE_BYTES_MAX}"
        )),
        false => Ok(()),
    }
}

fn counted(bytes: &[u8], values: u64) -> Result<usize, String> {
    match delta::count_of(bytes)? {
        count if count <= values => Ok(count as usize),
        count => Err(format!("a page claims {count} strings and has {values} values")),
    }
}
