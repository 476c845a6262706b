//! Reads a page header and believes none of it: sizes and counts are checked by whoever acts on them.

use super::header::{DICTIONARY_PAGE, PageHeader, PageKind, PageStatistics, V1_PAGE, V2_PAGE, encoding_of};
use crate::thrift::{BINARY, BOOL_FALSE, BOOL_TRUE, I32, I64, STRUCT, Walked, Walker};
use parquet::basic::Encoding;

/// The header at the beginning of `bytes`, and its length.
pub(crate) fn parse_header(bytes: &[u8]) -> Walked<(PageHeader, usize)> {
    let mut walker = Walker::new(bytes);
    let (mut field, mut page_type, mut unpacked, mut packed) = (0, None, None, None);
    let (mut crc, mut body) = (None, None);
    while let Some(kind) = walker.next_field(&mut field)? {
        match (field, kind) {
            (1, I32) => page_type = Some(walker.zigzag()?),
            (2, I32) => unpacked = usize::try_from(walker.zigzag()?).ok(),
            (3, I32) => packed = usize::try_from(walker.zigzag()?).ok(),
            (4, I32) => crc = Some(walker.zigzag()? as u32),
            (5 | 7 | 8, STRUCT) => body = Some(Body::read(&mut walker)?),
            _ => walker.skip(kind, 0)?,
        }
    }
    let length = bytes.len() - walker.rest().len();
    let (Some(unpacked), Some(packed)) = (unpacked, packed) else {
        return Err("a page header lacks its sizes".into());
    };
    let body = body.ok_or("a page header lacks its kind")?;
    let kind = match page_type.and_then(|number| i32::try_from(number).ok()) {
        Some(DICTIONARY_PAGE) => body.dictionary()?,
        Some(V1_PAGE) => body.v1()?,
        Some(V2_PAGE) => body.v2()?,
        _ => return Err("a page is of an unknown kind".into()),
    };
    Ok((
        PageHeader {
            unpacked,
            packed,
            crc,
            kind,
        },
        length,
    ))
}

/// The numbered fields of any of the three kinds, which differ in what the numbers mean.
#[derive(Default)]
struct Body {
    numbers: [Option<i64>; 7],
    is_packed: Option<bool>,
    statistics: PageStatistics,
}

impl Body {
    fn read(walker: &mut Walker<'_>) -> Walked<Self> {
        let (mut field, mut body) = (0, Self::default());
        while let Some(kind) = walker.next_field(&mut field)? {
            match (field, kind) {
                (1..=6, I32) => body.numbers[field as usize] = Some(walker.zigzag()?),
                (7, BOOL_TRUE | BOOL_FALSE) => body.is_packed = Some(kind == BOOL_TRUE),
                (5 | 8, STRUCT) => body.statistics = statistics(walker)?,
                _ => walker.skip(kind, 0)?,
            }
        }
        Ok(body)
    }

    fn number(&self, field: usize) -> Walked<i64> {
        self.numbers[field].ok_or_else(|| "a page header lacks a number".into())
    }

    fn count(&self, field: usize) -> Walked<u32> {
        let number = self.number(field)?;
        u32::try_from(number).map_err(|_| format!("a page header counts {number}"))
    }

    fn encoding(&self, field: usize) -> Walked<Encoding> {
        let number = self.number(field)?;
        encoding_of(number).ok_or_else(|| format!("a page has an unknown encoding, {number}"))
    }

    fn dictionary(self) -> Walked<PageKind> {
        Ok(PageKind::Dictionary {
            values: self.count(1)?,
            encoding: self.encoding(2)?,
        })
    }

    fn v1(self) -> Walked<PageKind> {
        Ok(PageKind::V1 {
            values: self.count(1)?,
            encoding: self.encoding(2)?,
            level_encoding: self.encoding(3)?,
            statistics: self.statistics,
        })
    }

    fn v2(self) -> Walked<PageKind> {
        Ok(PageKind::V2 {
            values: self.count(1)?,
            nulls: self.count(2)?,
            rows: self.count(3)?,
            encoding: self.encoding(4)?,
            level_bytes: self.count(5)? as usize,
            repetition_bytes: self.count(6)? as usize,
            is_packed: self.is_packed.unwrap_or(true),
            statistics: self.statistics,
        })
    }
}

/// Of the bounds only those whose order is defined.
fn statistics(walker: &mut Walker<'_>) -> Walked<PageStatistics> {
    let (mut field, mut found) = (0, PageStatistics::default());
    while let Some(kind) = walker.next_field(&mut field)? {
        match (field, kind) {
            (3, I64) => found.nulls = u64::try_from(walker.zigzag()?).ok(),
            (5, BINARY) => found.max = Some(walker.binary()?.to_vec()),
            (6, BINARY) => found.min = Some(walker.binary()?.to_vec()),
            (9, I64) => found.nans = u64::try_from(walker.zigzag()?).ok(),
            _ => walker.skip(kind, 0)?,
        }
    }
    Ok(found)
}
