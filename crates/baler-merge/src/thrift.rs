//! Walks Thrift compact structures without building anything, so that a file's claims are known before a parser acts on them.
//!
//! The schema of a Parquet footer is a flat list in which every group says how many children follow. A parser that trusts
//! these numbers recurses as deep, and allocates as much, as the file says; this walk keeps a counter for each open group instead.

use crate::limits::{
    CHUNKS_MAX, KEY_VALUE_BYTES_MAX, KEY_VALUES_MAX, ROW_GROUPS_MAX, SCHEMA_DEPTH_MAX, SCHEMA_ELEMENTS_MAX,
    THRIFT_DEPTH_MAX,
};

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

/// Fields of a footer.
const SCHEMA: i64 = 2;
const ROW_GROUPS: i64 = 4;
const KEY_VALUES: i64 = 5;

/// Fields of a footer that only encrypted files have: the algorithm, and the key that signed the footer.
const ENCRYPTION: [i64; 2] = [8, 9];

/// What a footer is found to be.
pub(crate) struct FooterShape<'a> {
    /// Some columns are encrypted.
    pub(crate) encrypted: bool,
    /// The schema as it lies there.
    pub(crate) schema: &'a [u8],
}

/// Checks a footer's structure, the depth and size of its schema, and the length of every list that a parser makes room for.
pub(crate) fn check_footer(footer: &[u8]) -> Walked<FooterShape<'_>> {
    let mut walker = Walker::new(footer);
    let mut field = 0;
    let (mut schema, mut encrypted) = (None, false);
    let (mut leaves, mut groups) = (0, 0);
    while let Some(kind) = walker.next_field(&mut field)? {
        encrypted |= ENCRYPTION.contains(&field);
        match (field, kind) {
            (SCHEMA, LIST) => {
                let from = walker.rest;
                leaves = walker.check_schema()?;
                if schema.replace(&from[..from.len() - walker.rest.len()]).is_some() {
                    return Err("the footer has two schemas".into());
                }
            }
            (ROW_GROUPS, LIST) => groups += walker.check_list("row groups", ROW_GROUPS_MAX)?,
            (KEY_VALUES, LIST) => walker.check_key_values()?,
            _ => walker.skip(kind, 0)?,
        }
    }
    let chunks = leaves.saturating_mul(groups);
    if chunks > CHUNKS_MAX {
        return Err(format!(
            "{leaves} columns in {groups} row groups are {chunks} column chunks, more than {CHUNKS_MAX}"
        ));
    }
    match schema {
        Some(schema) => Ok(FooterShape { encrypted, schema }),
        None => Err("the footer has no schema".into()),
    }
}

/// The least that the place of a page takes in an offset index: three numbers and an end.
const PLACE_BYTES_MIN: usize = 7;

/// Checks that an offset index has as many places as it says, before room is made for them.
pub(crate) fn check_offset_index(index: &[u8]) -> Walked<()> {
    let mut walker = Walker::new(index);
    let mut field = 0;
    while let Some(kind) = walker.next_field(&mut field)? {
        if (field, kind) == (1, LIST) {
            let (_, places) = walker.clone().list_header()?;
            let most = walker.rest.len() / PLACE_BYTES_MIN;
            if places > most {
                return Err(format!(
                    "a page index claims {places} pages, more than the {most} that it has room for"
                ));
            }
        }
        walker.skip(kind, 0)?;
    }
    Ok(())
}

/// Walks over a structure, field by field.
#[derive(Clone)]
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

    /// Skips a list of so many elements at most, and counts them.
    fn check_list(&mut self, of: &str, count_max: usize) -> Walked<usize> {
        let (kind, count) = self.list_header()?;
        if count > count_max {
            return Err(format!("it has {count} {of}, more than {count_max}"));
        }
        (0..count).try_for_each(|_| self.skip_element(kind, 1))?;
        Ok(count)
    }

    fn check_key_values(&mut self) -> Walked<()> {
        let before = self.rest.len();
        self.check_list("pairs of metadata", KEY_VALUES_MAX)?;
        match before - self.rest.len() {
            bytes if bytes > KEY_VALUE_BYTES_MAX => Err(format!(
                "its metadata takes {bytes} bytes, more than {KEY_VALUE_BYTES_MAX}"
            )),
            _ => Ok(()),
        }
    }

    /// Answers with the number of columns.
    fn check_schema(&mut self) -> Walked<usize> {
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
        let mut leaves = 0;
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
            match children {
                0 => leaves += 1,
                _ => open.push(children),
            }
            if open.len() > SCHEMA_DEPTH_MAX {
                return Err(format!("the schema is nested more than {SCHEMA_DEPTH_MAX} deep"));
            }
        }
        match open.iter().all(|due| *due == 0) {
            true => Ok(leaves),
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
