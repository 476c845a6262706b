//! The seal of what was written, taken from the bytes that the sink will be handed.

use super::bench::all_below;
use super::marks::Marks;
use super::seal::{Seal, Sealing};
use super::write::Origin;
use crate::group::{EncodedColumn, RopeCursor};
use crate::pages::codec::Unpacker;
use crate::pages::dictionary::Values;
use crate::pages::header::PageKind;
use crate::pages::open_page::{OpenPage, open_page, unpack_body};
use crate::pages::plain::Layout;
use crate::pages::raw::{RawPage, next_page, next_split_page};
use crate::pages::{bits, delta, levels, rle};
use parquet::basic::{Compression, Encoding};

/// What the bytes of the output hold; every page must lie where the offset index says, and none may be missing.
pub(crate) fn seal_of_output(column: &EncodedColumn, origins: &[Origin]) -> Result<Seal, String> {
    let metadata = &column.close.metadata;
    let leaf = metadata.column_descr();
    let unpacker = Unpacker::new(metadata.compression()).map_err(|why| why.to_string())?;
    let mut output = Output {
        sealing: Sealing::default(),
        compression: metadata.compression(),
        unpacker: unpacker.ok_or("the codec is not known")?,
        scratch: Vec::new(),
        codes: Vec::new(),
        plain: Vec::new(),
        layout: Layout::of(leaf),
        nullable: leaf.max_def_level() == 1,
    };
    let mut rest = column.bytes.cursor();
    let dictionary = match metadata.dictionary_page_offset() {
        Some(_) => Some(output.dictionary(&mut rest)?),
        None => None,
    };
    let marks = dictionary.as_ref().map_or_else(Marks::of_bits, Marks::of);
    let index = column.close.offset_index.as_ref();
    let locations = index.map_or(&[][..], |index| &index.page_locations);
    if locations.len() != origins.len() || metadata.data_page_offset() != rest.at() as i64 {
        return Err(format!(
            "{} pages are listed, {} were made",
            locations.len(),
            origins.len()
        ));
    }
    for (location, origin) in locations.iter().zip(origins) {
        let start = (rest.at() as i64, output.sealing.rows_so_far() as i64);
        output.page(&mut rest, *origin, &marks)?;
        let length = rest.at() as i64 - start.0;
        if start != (location.offset, location.first_row_index)
            || length != i64::from(location.compressed_page_size)
        {
            return Err("a page does not lie where the index says".into());
        }
    }
    if rest.at() != column.bytes.len() || metadata.num_values() as u64 != output.sealing.rows_so_far() {
        return Err("there is more, or less, than the pages that are listed".into());
    }
    Ok(output.sealing.done())
}

struct Output {
    sealing: Sealing,
    compression: Compression,
    unpacker: Unpacker,
    scratch: Vec<u8>,
    codes: Vec<u32>,
    plain: Vec<u8>,
    layout: Layout,
    nullable: bool,
}

impl Output {
    fn dictionary(&mut self, rest: &mut RopeCursor<'_>) -> Result<Values, String> {
        let page = next_page(rest, self.compression)?;
        let PageKind::Dictionary { values, .. } = page.header.kind else {
            return Err("the first page is no dictionary".into());
        };
        let mut bytes = Vec::new();
        self.unpacker
            .unpack(&page.body, page.header.unpacked, &mut bytes)?;
        Values::parse(bytes, self.layout, values as usize)
    }

    fn page(&mut self, rest: &mut RopeCursor<'_>, origin: Origin, marks: &Marks<'_>) -> Result<(), String> {
        match origin {
            Origin::Retyped => self.retyped(rest),
            Origin::Written => {
                let page = next_page(rest, self.compression)?;
                self.written(&page, marks)
            }
            Origin::Copied { nulls } => {
                let RawPage { header, body, .. } = next_page(rest, self.compression)?;
                self.sealing.kind(&header.kind, header.unpacked, nulls);
                self.sealing.bytes(&body);
                Ok(())
            }
            Origin::Repacked { nulls, was_packed } => {
                let page = next_page(rest, self.compression)?;
                let mut kind = page.header.kind.clone();
                if let PageKind::V2 { is_packed, .. } = &mut kind {
                    *is_packed = was_packed;
                }
                self.sealing.kind(&kind, page.header.unpacked, nulls);
                let (levels, values) = unpack_body(&page, &mut self.unpacker, &mut self.scratch)?;
                self.sealing.bytes(&page.body[..levels]);
                self.sealing.bytes(values);
                Ok(())
            }
        }
    }

    fn retyped(&mut self, rest: &mut RopeCursor<'_>) -> Result<(), String> {
        let (header, found_levels, body) = next_split_page(rest, self.compression)?;
        let PageKind::V2 {
            values,
            nulls,
            encoding: Encoding::PLAIN,
            ..
        } = header.kind
        else {
            return Err("a dictionary did not become a plain page".into());
        };
        self.sealing.bytes(&body);
        self.sealing.number(header.unpacked - found_levels.len());
        self.sealing.number((values - nulls) as usize);
        let validity = match self.nullable {
            true => levels::decode(&found_levels, values as usize)?,
            false => None,
        };
        self.sealing.rows(values as usize, validity.as_ref());
        Ok(())
    }

    fn written(&mut self, page: &RawPage, marks: &Marks<'_>) -> Result<(), String> {
        let open = open_page(page, self.nullable, &mut self.unpacker, &mut self.scratch)?;
        self.sealing.rows(open.rows, open.validity.as_ref());
        let present = open.present();
        self.codes.clear();
        match (open.encoding, self.layout) {
            (Encoding::RLE_DICTIONARY, _) => {
                rle::decode_indices(open.values, present, &mut self.codes)?;
                seal_codes(&mut self.sealing, &self.codes, marks)
            }
            (Encoding::PLAIN, Layout::Bits) => {
                bits::unpack(open.values, 1, present, &mut self.codes);
                seal_codes(&mut self.sealing, &self.codes, &Marks::of_bits())
            }
            (Encoding::PLAIN, layout) => self.sealing.plain(open.values, layout, present),
            (Encoding::DELTA_BINARY_PACKED, Layout::Fixed(width @ 1..=8)) => {
                undelta(&open, width, &mut self.plain)?;
                self.sealing.plain(&self.plain, self.layout, present)
            }
            (other, _) => Err(format!("a page came out in encoding {other}")),
        }
    }
}

fn seal_codes(sealing: &mut Sealing, codes: &[u32], marks: &Marks<'_>) -> Result<(), String> {
    match all_below(codes, marks.len()) {
        true => {
            sealing.codes(codes, marks);
            Ok(())
        }
        false => Err("an index points behind the dictionary".into()),
    }
}

/// Differences as the values that they stand for.
fn undelta(open: &OpenPage<'_>, width: usize, into: &mut Vec<u8>) -> Result<(), String> {
    into.clear();
    into.reserve(open.present() * width);
    delta::decode(open.values, open.present(), |value| {
        into.extend_from_slice(&value.to_le_bytes()[..width]);
    })
}
