//! The seal of rows that were written anew, taken from their pages: each is read back as it was encoded, before it is packed.

use super::bench::all_below;
use super::seal::{Seal, Sealing};
use crate::pages::plain::Layout;
use crate::pages::{bits, delta, levels, rle};
use parquet::basic::Encoding;

/// Reads pages back in the order in which they are written.
pub(super) struct ReadBack {
    sealing: Sealing,
    layout: Layout,
    /// How many there are in the dictionary that codes point into.
    dictionary_values: usize,
    codes: Vec<u32>,
    plain: Vec<u8>,
    /// Why the rows are not proved.
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

impl ReadBack {
    pub(super) fn new(layout: Layout, dictionary_values: usize) -> Self {
        Self {
            sealing: Sealing::default(),
            layout,
            dictionary_values,
            codes: Vec::new(),
            plain: Vec::new(),
            failed: None,
        }
    }

    pub(super) fn page(&mut self, page: &Encoded<'_>) {
        if let Err(why) = self.seal(page) {
            self.refuse(&why);
        }
    }

    /// The column must not be taken for proved.
    pub(super) fn refuse(&mut self, why: &str) {
        self.failed.get_or_insert_with(|| why.to_owned());
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
                if !all_below(&self.codes, self.dictionary_values) {
                    return Err("an index points behind the dictionary".into());
                }
                self.sealing.numbers(&self.codes);
                Ok(())
            }
            (Encoding::PLAIN, Layout::Bits) => {
                bits::unpack(page.values, 1, present, &mut self.codes);
                self.sealing.numbers(&self.codes);
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
