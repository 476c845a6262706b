//! The seal of rows that were written anew, taken from their pages: each is read back as it was encoded, before it is packed.

use super::bench::all_below;
use super::marks::Marks;
use super::seal::{Seal, Sealing};
use crate::pages::dictionary::Values;
use crate::pages::plain::Layout;
use crate::pages::{bits, delta, levels, rle};
use parquet::basic::Encoding;

/// Reads pages back in the order in which they are written.
pub(super) struct ReadBack<'a> {
    sealing: Sealing,
    layout: Layout,
    /// Of the dictionary that codes point into.
    marks: Option<Marks<'a>>,
    codes: Vec<u32>,
    plain: Vec<u8>,
    /// Why a page could not be read.
    failed: Option<String>,
}

/// A page that is encoded and not packed.
pub(super) struct Encoded<'a> {
    pub(super) encoding: Encoding,
    pub(super) rows: usize,
    /// Definition levels; columns that cannot be null have none.
    pub(super) levels: Option<&'a [u8]>,
    pub(super) values: &'a [u8],
}

impl<'a> ReadBack<'a> {
    pub(super) fn new(layout: Layout, dictionary: Option<&'a Values>) -> Self {
        Self {
            sealing: Sealing::default(),
            layout,
            marks: dictionary.map(Marks::of),
            codes: Vec::new(),
            plain: Vec::new(),
            failed: None,
        }
    }

    pub(super) fn page(&mut self, page: &Encoded<'_>) {
        if let Err(why) = self.seal(page) {
            self.failed.get_or_insert(why);
        }
    }

    /// Rows of a page that is taken as it lies.
    pub(super) fn pass(&mut self, rows: usize, nulls: usize) {
        self.sealing.pass(rows, nulls);
    }

    pub(super) fn done(self) -> Result<Seal, String> {
        self.failed.map_or_else(|| Ok(self.sealing.done()), Err)
    }

    fn seal(&mut self, page: &Encoded<'_>) -> Result<(), String> {
        let validity = match page.levels {
            Some(found) => levels::decode(found, page.rows)?,
            None => None,
        };
        self.sealing.rows(page.rows, validity.as_ref());
        let present = page.rows - validity.map_or(0, |validity| validity.null_count());
        self.codes.clear();
        match (page.encoding, self.layout) {
            (Encoding::RLE_DICTIONARY, _) => {
                rle::decode_indices(page.values, present, &mut self.codes)?;
                let marks = self.marks.as_ref().ok_or("there are codes and no dictionary")?;
                if !all_below(&self.codes, marks.len()) {
                    return Err("an index points behind the dictionary".into());
                }
                self.sealing.codes(&self.codes, marks);
                Ok(())
            }
            (Encoding::PLAIN, Layout::Bits) => {
                bits::unpack(page.values, 1, present, &mut self.codes);
                self.sealing.codes(&self.codes, &Marks::of_bits());
                Ok(())
            }
            (Encoding::PLAIN, layout) => self.sealing.plain(page.values, layout, present),
            (Encoding::DELTA_BINARY_PACKED, Layout::Fixed(width @ (4 | 8))) => {
                delta::decode_plain(page.values, present, width, &mut self.plain)?;
                self.sealing.plain(&self.plain, self.layout, present)
            }
            (other, _) => Err(format!("a page came out in encoding {other}")),
        }
    }
}
