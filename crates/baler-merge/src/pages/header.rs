//! What stands before a page: its sizes, its checksum and how it is encoded, in Thrift's compact protocol.

use parquet::basic::Encoding;

/// The header of a page.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct PageHeader {
    /// Length of the page once unpacked.
    pub(crate) unpacked: usize,
    /// Length of the page as it lies in the file.
    pub(crate) packed: usize,
    /// CRC-32 of the page as it lies in the file.
    pub(crate) crc: Option<u32>,
    pub(crate) kind: PageKind,
}

/// What a page holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum PageKind {
    /// The values that indices point to.
    Dictionary { values: u32, encoding: Encoding },
    /// Levels and values, packed together.
    V1 {
        values: u32,
        encoding: Encoding,
        level_encoding: Encoding,
        statistics: PageStatistics,
    },
    /// Levels as they are, then values, packed or not.
    V2 {
        values: u32,
        nulls: u32,
        rows: u32,
        encoding: Encoding,
        level_bytes: usize,
        repetition_bytes: usize,
        is_packed: bool,
        statistics: PageStatistics,
    },
}

/// What a header tells of the values; read, never written, because the column index tells it too.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct PageStatistics {
    pub(crate) nulls: Option<u64>,
    pub(crate) nans: Option<u64>,
    pub(crate) min: Option<Vec<u8>>,
    pub(crate) max: Option<Vec<u8>>,
}

pub(crate) const V1_PAGE: i32 = 0;
pub(crate) const DICTIONARY_PAGE: i32 = 2;
pub(crate) const V2_PAGE: i32 = 3;

impl PageHeader {
    /// The bytes of the header.
    pub(crate) fn encode(&self) -> Vec<u8> {
        let mut into = Fields::default();
        let page_type = match self.kind {
            PageKind::V1 { .. } => V1_PAGE,
            PageKind::Dictionary { .. } => DICTIONARY_PAGE,
            PageKind::V2 { .. } => V2_PAGE,
        };
        into.int(1, page_type);
        into.int(2, self.unpacked as i32);
        into.int(3, self.packed as i32);
        if let Some(crc) = self.crc {
            into.int(4, crc as i32);
        }
        match &self.kind {
            PageKind::V1 {
                values,
                encoding,
                level_encoding,
                ..
            } => into.structure(5, |inside| {
                inside.int(1, *values as i32);
                inside.int(2, *encoding as i32);
                inside.int(3, *level_encoding as i32);
                inside.int(4, Encoding::RLE as i32);
            }),
            PageKind::Dictionary { values, encoding } => into.structure(7, |inside| {
                inside.int(1, *values as i32);
                inside.int(2, *encoding as i32);
            }),
            PageKind::V2 {
                values,
                nulls,
                rows,
                encoding,
                level_bytes,
                repetition_bytes,
                is_packed,
                ..
            } => into.structure(8, |inside| {
                inside.int(1, *values as i32);
                inside.int(2, *nulls as i32);
                inside.int(3, *rows as i32);
                inside.int(4, *encoding as i32);
                inside.int(5, *level_bytes as i32);
                inside.int(6, *repetition_bytes as i32);
                inside.bool(7, *is_packed);
            }),
        }
        into.end()
    }
}

impl PageKind {
    /// How the values are encoded.
    pub(crate) fn encoding(&self) -> Encoding {
        match self {
            PageKind::Dictionary { encoding, .. }
            | PageKind::V1 { encoding, .. }
            | PageKind::V2 { encoding, .. } => *encoding,
        }
    }

    /// The same, with nothing told of the values.
    pub(crate) fn without_statistics(&self) -> Self {
        let mut kind = self.clone();
        if let PageKind::V1 { statistics, .. } | PageKind::V2 { statistics, .. } = &mut kind {
            *statistics = PageStatistics::default();
        }
        kind
    }

    /// Rows of a data page of a flat column.
    pub(crate) fn rows(&self) -> usize {
        match self {
            PageKind::V1 { values, .. } | PageKind::V2 { values, .. } => *values as usize,
            PageKind::Dictionary { .. } => 0,
        }
    }
}

/// The encoding of this number, if there is one.
pub(crate) fn encoding_of(number: i64) -> Option<Encoding> {
    #[expect(deprecated, reason = "old files have it")]
    let known = [
        Encoding::PLAIN,
        Encoding::PLAIN_DICTIONARY,
        Encoding::RLE,
        Encoding::BIT_PACKED,
        Encoding::DELTA_BINARY_PACKED,
        Encoding::DELTA_LENGTH_BYTE_ARRAY,
        Encoding::DELTA_BYTE_ARRAY,
        Encoding::RLE_DICTIONARY,
        Encoding::BYTE_STREAM_SPLIT,
        Encoding::ALP,
    ];
    known
        .into_iter()
        .find(|encoding| i64::from(*encoding as i32) == number)
}

/// The fields of a structure, in ascending order.
#[derive(Default)]
struct Fields {
    bytes: Vec<u8>,
    last: u8,
}

const TRUE: u8 = 1;
const FALSE: u8 = 2;
const I32: u8 = 5;
const STRUCT: u8 = 12;

impl Fields {
    fn begin(&mut self, field: u8, kind: u8) {
        self.bytes.push((field - self.last) << 4 | kind);
        self.last = field;
    }

    fn int(&mut self, field: u8, value: i32) {
        self.begin(field, I32);
        push_varint(&mut self.bytes, u64::from((value << 1 ^ value >> 31) as u32));
    }

    fn bool(&mut self, field: u8, value: bool) {
        self.begin(field, if value { TRUE } else { FALSE });
    }

    fn structure(&mut self, field: u8, fill: impl FnOnce(&mut Fields)) {
        self.begin(field, STRUCT);
        let mut inside = Fields::default();
        fill(&mut inside);
        self.bytes.extend(inside.end());
    }

    fn end(mut self) -> Vec<u8> {
        self.bytes.push(0);
        self.bytes
    }
}

/// A number in groups of seven bits, the lowest first.
pub(crate) fn push_varint(into: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        into.push(value as u8 | 0x80);
        value >>= 7;
    }
    into.push(value as u8);
}
