//! The seal of a column: an order-dependent hash of what its pages hold, taken from sources and output apart.
//!
//! ```text
//! copied page    its bytes and what its header says
//! retyped page   the bytes of its values, and which rows are null
//! repacked page  its bytes unpacked, and what its header says
//! other rows     a hash of each value, 0 for null
//! ```

use super::read::{Part, ReadChunk};
use super::write::Origin;
use crate::digest::Digest;
use crate::pages::codec::{Unpacker, same_codec};
use crate::pages::dictionary::Values;
use crate::pages::header::{PageKind, PageStatistics};
use crate::pages::open_page::{OpenPage, open_page};
use crate::pages::plain::Layout;
use crate::pages::raw::{RawPage, raw_page};
use crate::pages::{bits, delta, rle};
use crate::spec::Codec;
use arrow::buffer::NullBuffer;
use bytes::Bytes;
use parquet::basic::Encoding;
use parquet::column::writer::ColumnCloseResult;
use std::fmt;
use xxhash_rust::xxh3::{Xxh3, xxh3_64, xxh3_128};

/// What a column holds, in one number, and how many rows that are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Seal {
    hash: u128,
    rows: u64,
    nulls: u64,
}

impl fmt::Display for Seal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} rows, {} of them null, sealed {:032x}",
            self.rows, self.nulls, self.hash
        )
    }
}

/// Seals of what was read and of what was written, each summed up over columns and row groups.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Seals {
    pub(crate) read: Digest,
    pub(crate) written: Digest,
}

impl Seals {
    pub(crate) fn of(read: u128, written: u128) -> Self {
        Self {
            read: Digest::from_bytes(read.to_le_bytes()),
            written: Digest::from_bytes(written.to_le_bytes()),
        }
    }
}

impl std::ops::AddAssign for Seals {
    fn add_assign(&mut self, other: Seals) {
        self.read += other.read;
        self.written += other.written;
    }
}

impl Seal {
    /// What this and the other side add to the sums. The column's name is in it, so that columns cannot change places.
    pub(crate) fn beside(self, written: Seal, column: &str) -> Seals {
        let named = |seal: Seal| {
            let mut bytes = column.as_bytes().to_vec();
            bytes.extend(seal.hash.to_le_bytes());
            bytes.extend(seal.rows.to_le_bytes());
            xxh3_128(&bytes)
        };
        Seals::of(named(self), named(written))
    }
}

/// The hash of a value; never that of a null. Values of eight bytes are most frequent, and are mixed so that no two that differ in
/// more than what makes room for null have the same.
#[inline]
pub(crate) fn hash_of(value: &[u8]) -> u64 {
    match value.as_array() {
        Some(bytes) => mixed(u64::from_le_bytes(*bytes)) | 1,
        None => xxh3_64(value) | 1,
    }
}

#[inline]
fn mixed(word: u64) -> u64 {
    let word = (word ^ word >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let word = (word ^ word >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
    word ^ word >> 31
}

const NULL: u64 = 0;
const BUFFER_BYTES: usize = 32 << 10;

#[derive(Default)]
struct Sealing {
    hasher: Box<Xxh3>,
    buffer: Vec<u8>,
    rows: u64,
    nulls: u64,
}

impl Sealing {
    fn word(&mut self, word: u64) {
        self.buffer.extend_from_slice(&word.to_le_bytes());
        if self.buffer.len() >= BUFFER_BYTES {
            self.hasher.update(&self.buffer);
            self.buffer.clear();
        }
    }

    fn rows(&mut self, rows: usize, validity: Option<&NullBuffer>, mut hashes: impl Iterator<Item = u64>) {
        self.rows += rows as u64;
        match validity {
            None => hashes.for_each(|hash| self.word(hash)),
            Some(validity) => {
                self.nulls += validity.null_count() as u64;
                for valid in validity {
                    let hash = if valid { hashes.next() } else { Some(NULL) };
                    self.word(hash.unwrap_or(NULL));
                }
            }
        }
    }

    fn nulls(&mut self, rows: usize) {
        self.rows += rows as u64;
        self.nulls += rows as u64;
        (0..rows).for_each(|_| self.word(NULL));
    }

    fn bytes(&mut self, bytes: &[u8]) {
        let hash = xxh3_128(bytes);
        self.word(hash as u64);
        self.word((hash >> 64) as u64);
    }

    fn kind(&mut self, kind: &PageKind, unpacked: usize, nulls: usize) {
        let mut kind = kind.clone();
        if let PageKind::V1 { statistics, .. } | PageKind::V2 { statistics, .. } = &mut kind {
            *statistics = PageStatistics::default();
        }
        if let PageKind::V1 { values, .. } | PageKind::V2 { values, .. } = kind {
            self.rows += u64::from(values);
        }
        self.nulls += nulls as u64;
        self.bytes(format!("{kind:?} {unpacked}").as_bytes());
    }

    fn validity(&mut self, rows: usize, validity: Option<&NullBuffer>) {
        self.rows(rows, validity, std::iter::repeat_n(1, rows));
    }

    fn done(mut self) -> Seal {
        self.hasher.update(&self.buffer);
        Seal {
            hash: self.hasher.digest128(),
            rows: self.rows,
            nulls: self.nulls,
        }
    }
}

/// What the sources hold.
pub(crate) fn seal_of_sources(chunks: &[ReadChunk], retyped: &[bool], codec: Codec) -> Result<Seal, String> {
    let mut sealing = Sealing::default();
    for (chunk, retyped) in chunks.iter().zip(retyped) {
        match &chunk.dictionary {
            Some(dictionary) if *retyped => {
                sealing.bytes(&dictionary.page.body);
                sealing.word(dictionary.page.header.unpacked as u64);
                sealing.word(dictionary.count as u64);
                for part in &chunk.parts {
                    if let Part::Codes(rows) = part {
                        sealing.validity(rows.rows, rows.validity.as_ref());
                    }
                }
            }
            _ => seal_parts(&mut sealing, chunk, codec)?,
        }
    }
    Ok(sealing.done())
}

fn seal_parts(sealing: &mut Sealing, chunk: &ReadChunk, codec: Codec) -> Result<(), String> {
    let hashes: Vec<u64> = match &chunk.dictionary {
        Some(dictionary) => dictionary.values()?.iter().map(hash_of).collect(),
        None => BOOLEANS.map(hash_of).to_vec(),
    };
    let copied = same_codec(chunk.compression, codec);
    for part in &chunk.parts {
        match part {
            Part::Nulls(rows) => sealing.nulls(*rows),
            Part::Codes(rows) => {
                let found = rows.held.iter().map(|code| hashes[*code as usize]);
                sealing.rows(rows.rows, rows.validity.as_ref(), found);
            }
            Part::Plain(rows) => {
                sealing.rows(rows.rows, rows.validity.as_ref(), rows.held.iter().map(hash_of));
            }
            Part::Page(page, facts) => {
                sealing.kind(&page.header.kind, page.header.unpacked, facts.nulls);
                match copied {
                    true => sealing.bytes(&page.body),
                    false => seal_unpacked(sealing, page, &mut Opener::new(chunk.compression)?)?,
                }
            }
        }
    }
    Ok(())
}

const BOOLEANS: [&[u8]; 2] = [&[0], &[1]];

/// An unpacker and what it unpacks into.
struct Opener {
    unpacker: Unpacker,
    scratch: Vec<u8>,
}

impl Opener {
    fn new(compression: parquet::basic::Compression) -> Result<Self, String> {
        let unpacker = Unpacker::new(compression).map_err(|why| why.to_string())?;
        Ok(Self {
            unpacker: unpacker.ok_or("the codec is not known")?,
            scratch: Vec::new(),
        })
    }
}

/// A page that was packed anew holds the same bytes, and whether it is packed may differ.
fn seal_unpacked(sealing: &mut Sealing, page: &RawPage, with: &mut Opener) -> Result<(), String> {
    match page.header.kind {
        PageKind::V2 { level_bytes, .. } => {
            let levels = page.body.get(..level_bytes).ok_or("a page ends in its levels")?;
            sealing.bytes(levels);
            let nullable = level_bytes > 0;
            let open = open_page(page, nullable, &mut with.unpacker, &mut with.scratch)?;
            sealing.bytes(open.values);
        }
        _ => {
            with.unpacker
                .unpack(&page.body, page.header.unpacked, &mut with.scratch)?;
            sealing.bytes(&with.scratch);
        }
    }
    Ok(())
}

/// What the bytes of the output hold; every page must lie where the offset index says, and none may be missing.
pub(crate) fn seal_of_output(
    bytes: &Bytes,
    close: &ColumnCloseResult,
    origins: &[Origin],
) -> Result<Seal, String> {
    let metadata = &close.metadata;
    let leaf = metadata.column_descr();
    let mut output = Output {
        sealing: Sealing::default(),
        with: Opener::new(metadata.compression())?,
        layout: Layout::of(leaf),
        nullable: leaf.max_def_level() == 1,
        hashes: BOOLEANS.map(hash_of).to_vec(),
    };
    let mut at = 0;
    if metadata.dictionary_page_offset().is_some() {
        let page = raw_page(bytes, metadata.compression())?;
        output.dictionary(&page)?;
        at = page.length;
    }
    let locations = close
        .offset_index
        .as_ref()
        .map_or(&[][..], |index| &index.page_locations);
    if locations.len() != origins.len() || metadata.data_page_offset() != at as i64 {
        return Err(format!(
            "{} pages are listed, {} were made",
            locations.len(),
            origins.len()
        ));
    }
    for (location, origin) in locations.iter().zip(origins) {
        let page = raw_page(&bytes.slice(at..), metadata.compression())?;
        let listed = (
            location.offset,
            location.compressed_page_size,
            location.first_row_index,
        );
        if listed != (at as i64, page.length as i32, output.sealing.rows as i64) {
            return Err("a page does not lie where the index says".into());
        }
        output.page(&page, *origin)?;
        at += page.length;
    }
    if at != bytes.len() || metadata.num_values() as u64 != output.sealing.rows {
        return Err("there is more, or less, than the pages that are listed".into());
    }
    Ok(output.sealing.done())
}

struct Output {
    sealing: Sealing,
    with: Opener,
    layout: Layout,
    nullable: bool,
    hashes: Vec<u64>,
}

impl Output {
    fn dictionary(&mut self, page: &RawPage) -> Result<(), String> {
        let PageKind::Dictionary { values, .. } = page.header.kind else {
            return Err("the first page is no dictionary".into());
        };
        let mut bytes = Vec::new();
        self.with
            .unpacker
            .unpack(&page.body, page.header.unpacked, &mut bytes)?;
        let values = Values::parse(bytes, self.layout, values as usize)?;
        self.hashes = values.iter().map(hash_of).collect();
        Ok(())
    }

    fn page(&mut self, page: &RawPage, origin: Origin) -> Result<(), String> {
        let header = &page.header;
        match origin {
            Origin::Copied { nulls } => {
                self.sealing.kind(&header.kind, header.unpacked, nulls);
                self.sealing.bytes(&page.body);
                Ok(())
            }
            Origin::Repacked { nulls, was_packed } => {
                let mut kind = header.kind.clone();
                if let PageKind::V2 { is_packed, .. } = &mut kind {
                    *is_packed = was_packed;
                }
                self.sealing.kind(&kind, header.unpacked, nulls);
                seal_unpacked(&mut self.sealing, page, &mut self.with)
            }
            Origin::Retyped => self.retyped(page),
            Origin::Written => self.written(page),
        }
    }

    fn retyped(&mut self, page: &RawPage) -> Result<(), String> {
        let PageKind::V2 {
            values,
            nulls,
            encoding: Encoding::PLAIN,
            level_bytes,
            ..
        } = page.header.kind
        else {
            return Err("a dictionary did not become a plain page".into());
        };
        let body = page.body.get(level_bytes..).ok_or("a page ends in its levels")?;
        self.sealing.bytes(body);
        self.sealing.word((page.header.unpacked - level_bytes) as u64);
        self.sealing.word(u64::from(values - nulls));
        let validity = match self.nullable {
            true => crate::pages::levels::decode(&page.body[..level_bytes], values as usize)?,
            false => None,
        };
        self.sealing.validity(values as usize, validity.as_ref());
        Ok(())
    }

    fn written(&mut self, page: &RawPage) -> Result<(), String> {
        let open = open_page(
            page,
            self.nullable,
            &mut self.with.unpacker,
            &mut self.with.scratch,
        )?;
        let hashes = hashes_of(&open, self.layout, &self.hashes)?;
        self.sealing
            .rows(open.rows, open.validity.as_ref(), hashes.into_iter());
        Ok(())
    }
}

/// A hash for each value of a page.
fn hashes_of(open: &OpenPage<'_>, layout: Layout, known: &[u64]) -> Result<Vec<u64>, String> {
    let present = open.present();
    let looked_up = |codes: &[u32]| {
        let hashes = codes.iter().map(|code| known.get(*code as usize).copied());
        hashes
            .collect::<Option<Vec<u64>>>()
            .ok_or("an index points behind the dictionary")
    };
    let mut codes = Vec::with_capacity(present);
    Ok(match (open.encoding, layout) {
        (Encoding::RLE_DICTIONARY, _) => {
            rle::decode_indices(open.values, present, &mut codes)?;
            looked_up(&codes)?
        }
        (Encoding::PLAIN, Layout::Bits) => {
            bits::unpack(open.values, 1, present, &mut codes);
            looked_up(&codes)?
        }
        (Encoding::PLAIN, Layout::Fixed(width)) if width > 0 => {
            let values = open.values.chunks_exact(width);
            match values.len() == present && values.remainder().is_empty() {
                true => values.map(hash_of).collect(),
                false => return Err("values do not fill their page".into()),
            }
        }
        (Encoding::PLAIN, _) => {
            let values = Values::parse(open.values.to_vec(), layout, present)?;
            values.iter().map(hash_of).collect()
        }
        (Encoding::DELTA_BINARY_PACKED, Layout::Fixed(width)) if width <= 8 => {
            let mut hashes = Vec::with_capacity(present);
            delta::decode(open.values, present, |value| {
                hashes.push(hash_of(&value.to_le_bytes()[..width]))
            })?;
            hashes
        }
        (other, _) => return Err(format!("a page came out in encoding {other}")),
    })
}
