//! Parquet files made by hand, byte by byte, so that they can claim what no writer would.

use parquet::basic::{Encoding, Type};

const I32: u8 = 5;
const I64: u8 = 6;
const BINARY: u8 = 8;
const LIST: u8 = 9;
const STRUCT: u8 = 12;

/// A structure in Thrift's compact protocol, field by field in ascending order.
#[derive(Default)]
pub(crate) struct Thrift {
    bytes: Vec<u8>,
    last: u8,
}

impl Thrift {
    fn field(mut self, field: u8, kind: u8) -> Self {
        self.bytes.push((field - self.last) << 4 | kind);
        self.last = field;
        self
    }

    pub(crate) fn i32(mut self, field: u8, value: i64) -> Self {
        self = self.field(field, I32);
        varint(zigzag(value), &mut self.bytes);
        self
    }

    pub(crate) fn i64(mut self, field: u8, value: i64) -> Self {
        self = self.field(field, I64);
        varint(zigzag(value), &mut self.bytes);
        self
    }

    pub(crate) fn text(mut self, field: u8, text: &str) -> Self {
        self = self.field(field, BINARY);
        varint(text.len() as u64, &mut self.bytes);
        self.bytes.extend(text.as_bytes());
        self
    }

    pub(crate) fn structure(mut self, field: u8, inside: Self) -> Self {
        self = self.field(field, STRUCT);
        self.bytes.extend(inside.end());
        self
    }

    /// A list that claims so many structures, and holds these.
    pub(crate) fn claimed(mut self, field: u8, claimed: u64, structures: Vec<Self>) -> Self {
        self = self.field(field, LIST);
        self.bytes.push(0xF0 | STRUCT);
        varint(claimed, &mut self.bytes);
        let inside = structures.into_iter().flat_map(Self::end);
        self.bytes.extend(inside);
        self
    }

    pub(crate) fn list(self, field: u8, structures: Vec<Self>) -> Self {
        self.claimed(field, structures.len() as u64, structures)
    }

    fn values(mut self, field: u8, kind: u8, values: &[&[u8]]) -> Self {
        self = self.field(field, LIST);
        self.bytes.push((values.len() as u8) << 4 | kind);
        self.bytes.extend(values.concat());
        self
    }

    pub(crate) fn end(mut self) -> Vec<u8> {
        self.bytes.push(0);
        self.bytes
    }
}

pub(crate) fn varint(mut value: u64, into: &mut Vec<u8>) {
    while value >= 0x80 {
        into.push(value as u8 | 0x80);
        value >>= 7;
    }
    into.push(value as u8);
}

fn zigzag(value: i64) -> u64 {
    (value << 1 ^ value >> 63) as u64
}

/// A file with this footer, behind these bytes.
pub(crate) fn with_footer(data: &[u8], footer: &[u8]) -> Vec<u8> {
    let length = u32::try_from(footer.len()).unwrap().to_le_bytes();
    [b"PAR1", data, footer, &length, b"PAR1"].concat()
}

/// A footer whose schema is a list of groups with these numbers of children.
pub(crate) fn groups_of(children: &[i64]) -> Vec<u8> {
    let group = |children: &i64| Thrift::default().text(4, "g").i32(5, *children);
    let schema = children.iter().map(group).collect();
    let footer = Thrift::default().i32(1, 1).list(2, schema);
    footer.i64(3, 0).list(4, vec![]).end()
}

/// One column in one row group.
pub(crate) struct Column {
    pub(crate) kind: Type,
    pub(crate) fixed_bytes: Option<i64>,
    /// Some of its values may be null.
    pub(crate) optional: bool,
    pub(crate) codec: i64,
    pub(crate) rows: i64,
    pub(crate) dictionary: Vec<u8>,
    pub(crate) pages: Vec<u8>,
    /// What is said to be its offset index, behind the pages.
    pub(crate) offset_index: Option<Vec<u8>>,
}

impl Column {
    /// Not packed, of so many rows, in these pages.
    pub(crate) fn of(kind: Type, rows: i64, pages: Vec<u8>) -> Self {
        Self {
            kind,
            fixed_bytes: None,
            optional: false,
            codec: 0,
            rows,
            dictionary: Vec::new(),
            pages,
            offset_index: None,
        }
    }

    /// The fields of a footer with this column.
    pub(crate) fn footer(&self) -> Thrift {
        let mut leaf = Thrift::default().i32(1, self.kind as i64);
        if let Some(length) = self.fixed_bytes {
            leaf = leaf.i32(2, length);
        }
        let leaf = leaf.i32(3, i64::from(self.optional)).text(4, "key");
        let root = Thrift::default().text(4, "schema").i32(5, 1);
        let packed = (self.dictionary.len() + self.pages.len()) as i64;
        let data = 4 + self.dictionary.len() as i64;
        let mut meta = Thrift::default()
            .i32(1, self.kind as i64)
            .values(2, I32, &[&[0]])
            .values(3, BINARY, &[b"\x03key"])
            .i32(4, self.codec)
            .i64(5, self.rows)
            .i64(6, packed)
            .i64(7, packed)
            .i64(9, data);
        if !self.dictionary.is_empty() {
            meta = meta.i64(11, 4);
        }
        let mut chunk = Thrift::default().i64(2, 4).structure(3, meta);
        if let Some(index) = &self.offset_index {
            chunk = chunk.i64(4, 4 + packed).i32(5, index.len() as i64);
        }
        let group = Thrift::default()
            .list(1, vec![chunk])
            .i64(2, packed)
            .i64(3, self.rows);
        let footer = Thrift::default().i32(1, 1).list(2, vec![root, leaf]);
        footer.i64(3, self.rows).list(4, vec![group])
    }

    /// The file.
    pub(crate) fn file(&self) -> Vec<u8> {
        let index = self.offset_index.as_deref().unwrap_or_default();
        let data = [&self.dictionary, &self.pages, index].concat();
        with_footer(&data, &self.footer().end())
    }
}

/// A data page that is not packed.
pub(crate) fn data_page(values: i64, encoding: Encoding, body: &[u8]) -> Vec<u8> {
    data_page_of(values, encoding, body.len() as i64, body)
}

/// The same, claiming to unpack to so many bytes.
pub(crate) fn data_page_of(values: i64, encoding: Encoding, unpacked: i64, body: &[u8]) -> Vec<u8> {
    let rle = i64::from(Encoding::RLE as i32);
    let inside = Thrift::default()
        .i32(1, values)
        .i32(2, i64::from(encoding as i32))
        .i32(3, rle)
        .i32(4, rle);
    let header = Thrift::default()
        .i32(1, 0)
        .i32(2, unpacked)
        .i32(3, body.len() as i64);
    [&header.structure(5, inside).end(), body].concat()
}

/// A dictionary that is not packed.
pub(crate) fn dictionary_page(values: i64, body: &[u8]) -> Vec<u8> {
    let inside = Thrift::default().i32(1, values).i32(2, 0);
    let length = body.len() as i64;
    let header = Thrift::default().i32(1, 2).i32(2, length).i32(3, length);
    [&header.structure(7, inside).end(), body].concat()
}

/// Numbers in DELTA_BINARY_PACKED that are all the same, claimed to be so many: in a block of as many, of no width.
pub(crate) fn same_deltas(claimed: u64, value: i64) -> Vec<u8> {
    let mut bytes = Vec::new();
    varint(128 * claimed.div_ceil(128).max(1), &mut bytes);
    varint(1, &mut bytes);
    varint(claimed, &mut bytes);
    varint(zigzag(value), &mut bytes);
    // The least difference is none, and so is the width of what is above it.
    bytes.extend([0, 0]);
    bytes
}
