//! The seal of whole pages, taken from the bytes that the sink will be handed. Pages whose rows were written anew were sealed before
//! they were packed; here they must be the very pages that were made then.

use super::seal::{Seal, Sealing};
use super::write::Origin;
use crate::group::{EncodedColumn, RopeCursor};
use crate::pages::codec::Unpacker;
use crate::pages::header::PageKind;
use crate::pages::open_page::{open_page, unpack_body};
use crate::pages::plain::Layout;
use crate::pages::raw::{RawPage, next_page, next_split_page, pass_page};
use crate::pages::{delta, levels};
use parquet::basic::{Compression, Encoding};
use xxhash_rust::xxh3::xxh3_128;

/// What the bytes of the output hold; every page must lie where the offset index says, and none may be missing. `dictionary` is the
/// hash of the values that the dictionary must have.
pub(crate) fn seal_of_output(
    column: &EncodedColumn,
    origins: &[Origin],
    dictionary: Option<u128>,
) -> Result<Seal, String> {
    let metadata = &column.close.metadata;
    let leaf = metadata.column_descr();
    let unpacker = Unpacker::new(metadata.compression()).map_err(|why| why.to_string())?;
    let mut output = Output {
        sealing: Sealing::default(),
        compression: metadata.compression(),
        unpacker: unpacker.ok_or("the codec is not known")?,
        scratch: Vec::new(),
        plain: Vec::new(),
        layout: Layout::of(leaf),
        nullable: leaf.max_def_level() == 1,
    };
    let mut rest = column.bytes.cursor();
    let found = match metadata.dictionary_page_offset() {
        Some(_) => Some(output.dictionary(&mut rest)?),
        None => None,
    };
    if found != dictionary {
        return Err("its dictionary is not the one that its codes were made for".into());
    }
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
        output.page(&mut rest, *origin)?;
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
    plain: Vec<u8>,
    layout: Layout,
    nullable: bool,
}

impl Output {
    /// The hash of its values.
    fn dictionary(&mut self, rest: &mut RopeCursor<'_>) -> Result<u128, String> {
        let page = next_page(rest, self.compression)?;
        let PageKind::Dictionary { .. } = page.header.kind else {
            return Err("the first page is no dictionary".into());
        };
        let unpacked = page.header.unpacked;
        self.unpacker.unpack(&page.body, unpacked, &mut self.scratch)?;
        Ok(xxh3_128(&self.scratch))
    }

    fn page(&mut self, rest: &mut RopeCursor<'_>, origin: Origin) -> Result<(), String> {
        match origin {
            Origin::Retyped => self.retyped(rest),
            Origin::Kept => self.kept(rest),
            Origin::Written { nulls, head } => {
                let (found, header) = pass_page(rest, self.compression)?;
                self.sealing.pass(header.kind.rows(), nulls);
                match found == head {
                    true => Ok(()),
                    false => Err("a page is not the one that was made for its place".into()),
                }
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
        let (unpacked, present) = (header.unpacked - found_levels.len(), values - nulls);
        self.sealing.lifted(&body, unpacked, present as usize);
        let validity = match self.nullable {
            true => levels::decode(&found_levels, values as usize)?,
            false => None,
        };
        self.sealing.lifted_rows(values as usize, validity.as_ref());
        Ok(())
    }

    fn kept(&mut self, rest: &mut RopeCursor<'_>) -> Result<(), String> {
        let page = next_page(rest, self.compression)?;
        let open = open_page(&page, self.nullable, &mut self.unpacker, &mut self.scratch)?;
        let (Encoding::DELTA_BINARY_PACKED, Layout::Fixed(width)) = (open.encoding, self.layout) else {
            return Err("keys did not become a page of differences".into());
        };
        let present = open.present();
        delta::decode_plain(open.values, present, width, &mut self.plain)?;
        let hash = xxh3_128(&self.plain).to_le_bytes();
        self.sealing.lifted(&hash, self.plain.len(), present);
        self.sealing.lifted_rows(open.rows, open.validity.as_ref());
        Ok(())
    }
}
