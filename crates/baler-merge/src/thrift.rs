//! Walks Thrift compact structures without building anything, so that a file's claims are known before a parser acts on them.
//!
//! The schema of a Parquet footer is a flat list in which every group says how many children follow. A parser that trusts
//! these numbers recurses as deep, and allocates as much, as the file says; this walk keeps a counter for each open group instead.

use crate::limits::{SCHEMA_DEPTH_MAX, SCHEMA_ELEMENTS_MAX, THRIFT_DEPTH_MAX};

pub(crate) const BOOL_TRUE: u8 = 1;
pub(crate) const BOOL_FALSE: u8 = 2;
const BYTE: u8 = 3;
const I16: u8 = 4;
pub(crate) const I32: u8 = 5;
pub(crate) const I64: u8 = 6;
const DOUBLE: u8 = 7;
pub(crate) const BINARY: u8 = 8;
const LIST: u8 = 9;
const SET: u8 = 10;
const MAP: u8 = 11;
pub(crate) const STRUCT: u8 = 12;
const UUID: u8 = 13;

/// What was found, or what is odd.
pub(crate) type Walked<T> = Result<T, String>;

/// Fields of a footer that only encrypted files have: the algorithm, and the key that signed the footer.
const ENCRYPTION: [i64; 2] = [8, 9];

/// What a footer is found to be.
pub(crate) struct FooterShape<'a> {
    /// Some columns are encrypted.
    pub(crate) encrypted: bool,
    /// The schema as it lies there.
    pub(crate) schema: &'a [u8],
}

/// Checks a footer's structure and the depth and size of its schema.
pub(crate) fn check_footer(footer: &[u8]) -> Walked<FooterShape<'_>> {
    let mut walker = Walker::new(footer);
    let mut field = 0;
    let (mut schema, mut encrypted) = (None, false);
    while let Some(kind) = walker.next_field(&mut field)? {
        encrypted |= ENCRYPTION.contains(&field);
        if field != 2 || kind != LIST {
            walker.skip(kind, 0)?;
            continue;
        }
        let from = walker.rest;
        walker.check_schema()?;
        if schema.replace(&from[..from.len() - walker.rest.len()]).is_some() {
            return Err("the footer has two schemas".into());
        }
    }
    match schema {
        Some(schema) => Ok(FooterShape { encrypted, schema }),
        None => Err("the footer has no schema".into()),
    }
}

/// Packed and unpacked size that a page header claims. The slice may end before the header does.
pub(crate) fn page_sizes(header: &[u8]) -> Walked<PageSizes> {
    let mut walker = Walker::new(header);
    let (mut field, mut unpacked, mut packed) = (0, None, None);
    while unpacked.is_none() || packed.is_none() {
        match walker.next_field(&mut field)? {
            Some(I32) if field == 2 => unpacked = Some(walker.zigzag()?),
            Some(I32) if field == 3 => packed = Some(walker.zigzag()?),
            Some(kind) => walker.skip(kind, 0)?,
            None => break,
        }
    }
    match (unpacked.map(u64::try_from), packed.map(u64::try_from)) {
        (Some(Ok(unpacked)), Some(Ok(packed))) => Ok(PageSizes {
            unpacked,
            packed,
            header: (header.len() - walker.rest.len()) as u64,
        }),
        _ => Err("a page header lacks its sizes".into()),
    }
}

/// What a page header claims.
#[derive(Debug, Clone, Copy)]
pub(crate) struct PageSizes {
    pub(crate) unpacked: u64,
    pub(crate) packed: u64,
    /// Bytes of the header up to where both sizes were known; it is at least this long.
    pub(crate) header: u64,
}

/// Walks over a structure, field by field.
pub(crate) struct Walker<'a> {
    rest: &'a [u8],
}

impl<'a> Walker<'a> {
    pub(crate) fn new(bytes: &'a [u8]) -> Self {
        Self { rest: bytes }
    }

    /// What was not walked over yet.
    pub(crate) fn rest(&self) -> &'a [u8] {
        self.rest
    }

    /// A string or a blob.
    pub(crate) fn binary(&mut self) -> Walked<&'a [u8]> {
        let length = usize::try_from(self.varint()?).map_err(|_| "a string is too long")?;
        let bytes = self.rest.get(..length).ok_or("it ends in the middle")?;
        self.advance(length)?;
        Ok(bytes)
    }

    fn check_schema(&mut self) -> Walked<()> {
        let (kind, count) = self.list_header()?;
        if kind != STRUCT || count == 0 {
            return Err("the footer's schema is not a list of columns".into());
        }
        if count > SCHEMA_ELEMENTS_MAX {
            return Err(format!(
                "the schema has {count} columns and groups, more than {SCHEMA_ELEMENTS_MAX}"
            ));
        }
        // For each open group the number of its children still to come.
        let mut open: Vec<usize> = Vec::new();
        for seen in 1..=count {
            while open.last() == Some(&0) {
                open.pop();
            }
            match open.last_mut() {
                Some(due) => *due -= 1,
                None if seen > 1 => return Err("the schema has columns outside its root".into()),
                None => {}
            }
            let children = self.schema_element()?;
            if children > count - seen {
                return Err(format!(
                    "a schema group claims {children} children, {} follow",
                    count - seen
                ));
            }
            if children > 0 {
                open.push(children);
            }
            if open.len() > SCHEMA_DEPTH_MAX {
                return Err(format!("the schema is nested more than {SCHEMA_DEPTH_MAX} deep"));
            }
        }
        match open.iter().all(|due| *due == 0) {
            true => Ok(()),
            false => Err("the schema ends before its groups do".into()),
        }
    }

    /// Skips one schema element and gives its number of children.
    fn schema_element(&mut self) -> Walked<usize> {
        let (mut field, mut children) = (0, 0);
        while let Some(kind) = self.next_field(&mut field)? {
            match (field, kind) {
                (5, I32) => {
                    let claimed = self.zigzag()?;
                    children = usize::try_from(claimed)
                        .map_err(|_| format!("a schema group claims {claimed} children"))?;
                }
                _ => self.skip(kind, 0)?,
            }
        }
        Ok(children)
    }

    /// Moves to the next field of a structure and gives its type, or nothing at the end.
    pub(crate) fn next_field(&mut self, field: &mut i64) -> Walked<Option<u8>> {
        let head = self.byte()?;
        if head == 0 {
            return Ok(None);
        }
        *field = match head >> 4 {
            0 => self.zigzag()?,
            step => field
                .checked_add(i64::from(step))
                .ok_or("a field number overflows")?,
        };
        Ok(Some(head & 0x0f))
    }

    pub(crate) fn skip(&mut self, kind: u8, depth: usize) -> Walked<()> {
        if depth > THRIFT_DEPTH_MAX {
            return Err(format!("the footer is nested more than {THRIFT_DEPTH_MAX} deep"));
        }
        match kind {
            BOOL_TRUE | BOOL_FALSE => Ok(()),
            BYTE => self.advance(1),
            I16 | I32 | I64 => self.varint().map(|_| ()),
            DOUBLE => self.advance(8),
            UUID => self.advance(16),
            BINARY => self.binary().map(|_| ()),
            LIST | SET => {
                let (kind, count) = self.list_header()?;
                (0..count).try_for_each(|_| self.skip_element(kind, depth + 1))
            }
            MAP => self.skip_map(depth),
            STRUCT => {
                let mut field = 0;
                while let Some(kind) = self.next_field(&mut field)? {
                    self.skip(kind, depth + 1)?;
                }
                Ok(())
            }
            other => Err(format!("the footer holds a value of unknown type {other}")),
        }
    }

    fn skip_map(&mut self, depth: usize) -> Walked<()> {
        let count = self.varint()?;
        if count == 0 {
            return Ok(());
        }
        let kinds = self.byte()?;
        let count = self.plausible(count)?;
        for _ in 0..count {
            self.skip_element(kinds >> 4, depth + 1)?;
            self.skip_element(kinds & 0x0f, depth + 1)?;
        }
        Ok(())
    }

    /// Inside a container a boolean takes a byte; as a field it lies in the type.
    fn skip_element(&mut self, kind: u8, depth: usize) -> Walked<()> {
        match kind {
            BOOL_TRUE | BOOL_FALSE => self.advance(1),
            _ => self.skip(kind, depth),
        }
    }

    fn list_header(&mut self) -> Walked<(u8, usize)> {
        let head = self.byte()?;
        let count = match head >> 4 {
            15 => self.varint()?,
            short => u64::from(short),
        };
        Ok((head & 0x0f, self.plausible(count)?))
    }

    /// Every element takes at least a byte, so a count beyond what is left is a lie.
    fn plausible(&self, count: u64) -> Walked<usize> {
        usize::try_from(count)
            .ok()
            .filter(|count| *count <= self.rest.len())
            .ok_or_else(|| format!("a list claims {count} elements in {} bytes", self.rest.len()))
    }

    pub(crate) fn zigzag(&mut self) -> Walked<i64> {
        let raw = self.varint()?;
        Ok(((raw >> 1) as i64) ^ -((raw & 1) as i64))
    }

    fn varint(&mut self) -> Walked<u64> {
        let mut value = 0u64;
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            value |= u64::from(byte & 0x7f) << shift;
            if byte & 0x80 == 0 {
                return Ok(value);
            }
        }
        Err("a number is longer than 64 bits".into())
    }

    fn byte(&mut self) -> Walked<u8> {
        let (first, rest) = self.rest.split_first().ok_or("it ends in the middle")?;
        self.rest = rest;
        Ok(*first)
    }

    fn advance(&mut self, length: usize) -> Walked<()> {
        self.rest = self.rest.get(length..).ok_or("it ends in the middle")?;
        Ok(())
    }
}
