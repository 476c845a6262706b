//! Opens pages for stitching, one at a time, in room that is used again.

use super::Unfit;
use super::chunk::ReadChunk;
use super::counting::Counting;
use super::kept::Kept;
use crate::pages::codec::{Unpacker, Unpackers};
use crate::pages::dictionary::Values;
use crate::pages::open_page::{OpenPage, open_page};
use crate::pages::plain::Layout;
use crate::pages::raw::RawPage;
use crate::pages::{bits, rle};
use arrow::buffer::NullBuffer;
use parquet::basic::{Compression, Encoding};

/// What is kept from one page to the next.
#[derive(Default)]
pub(crate) struct Workbench {
    unpackers: Unpackers,
    scratch: Vec<u8>,
    codes: Vec<u32>,
    /// Room for the values of a dictionary.
    room: Vec<u8>,
    counting: Counting,
}

/// Rows, and what those of them hold that are not null.
pub(crate) struct Rows<T> {
    pub(crate) rows: usize,
    pub(crate) validity: Option<NullBuffer>,
    pub(crate) held: T,
}

impl Workbench {
    /// Fails for codecs that are left to the decoder of whole columns.
    pub(crate) fn unpacker(&mut self, compression: Compression) -> Result<&mut Unpacker, Unfit> {
        self.tools(compression).map(|(unpacker, _)| unpacker)
    }

    /// An unpacker, and room to unpack into.
    pub(crate) fn tools(&mut self, compression: Compression) -> Result<(&mut Unpacker, &mut Vec<u8>), Unfit> {
        match self.unpackers.of(compression).map_err(Unfit::Node)? {
            Some(unpacker) => Ok((unpacker, &mut self.scratch)),
            None => Err(Unfit::Decode(format!("it is packed as {compression}"))),
        }
    }

    /// The values of a chunk's dictionary, unpacked now if they were not yet.
    pub(crate) fn dictionary<'c>(
        &mut self,
        chunk: &'c mut ReadChunk,
        layout: Layout,
    ) -> Result<Option<&'c Values>, Unfit> {
        let Some(dictionary) = &mut chunk.dictionary else {
            return Ok(None);
        };
        let mut room = std::mem::take(&mut self.room);
        let unpacker = self.unpacker(chunk.compression)?;
        dictionary.unpack(layout, unpacker, &mut room).map(Some)
    }

    /// Lets go of the values of a chunk's dictionary.
    pub(crate) fn forget(&mut self, chunk: &mut ReadChunk) {
        if let Some(dictionary) = &mut chunk.dictionary {
            self.room = dictionary.forget();
        }
    }

    /// Integers that were kept.
    pub(crate) fn kept(&mut self, kept: &Kept) -> Result<Values, Unfit> {
        let mut room = std::mem::take(&mut self.room);
        let odd = |why: String| Unfit::Node(std::io::Error::other(why));
        kept.unpack(&mut room).map_err(odd)?;
        Values::parse(room, kept.layout(), kept.rows).map_err(odd)
    }

    /// Takes back the room of values that are not needed any more.
    pub(crate) fn take_back(&mut self, values: Values) {
        self.room = values.into_bytes();
    }

    pub(crate) fn open(&mut self, chunk: &ReadChunk, page: &RawPage) -> Result<OpenPage<'_>, Unfit> {
        let (unpacker, scratch) = self.tools(chunk.compression)?;
        open_page(page, chunk.nullable, unpacker, scratch).map_err(Unfit::damaged)
    }

    /// The indices of a page, all of them inside the dictionary.
    pub(crate) fn indices(&mut self, chunk: &ReadChunk, page: &RawPage) -> Result<Rows<&[u32]>, Unfit> {
        let values = chunk.dictionary.as_ref().map_or(0, |dictionary| dictionary.count);
        let mut codes = std::mem::take(&mut self.codes);
        codes.clear();
        let open = self.open(chunk, page)?;
        rle::decode_indices(open.values, open.present(), &mut codes).map_err(Unfit::damaged)?;
        let (rows, validity) = (open.rows, open.validity);
        if !all_below(&codes, values) {
            return Err(Unfit::damaged("an index points behind the dictionary"));
        }
        self.codes = codes;
        Ok(Rows {
            rows,
            validity,
            held: &self.codes,
        })
    }

    /// The rows of a page of indices that count up from `first`; nothing if they do not.
    pub(crate) fn counting(
        &mut self,
        chunk: &ReadChunk,
        page: &RawPage,
        first: u32,
    ) -> Result<Option<Rows<u32>>, Unfit> {
        if self.counting.knows(chunk, page, first) {
            return Ok(Some(Rows {
                rows: page.rows(),
                validity: None,
                held: page.rows() as u32,
            }));
        }
        let found = self.indices(chunk, page)?;
        if !found.held.iter().zip(first..).all(|(code, due)| *code == due) {
            return Ok(None);
        }
        let rows = Rows {
            rows: found.rows,
            held: found.held.len() as u32,
            validity: found.validity,
        };
        if rows.validity.is_none() {
            self.counting.remember(chunk, page, first);
        }
        Ok(Some(rows))
    }

    /// The booleans of a page, as 0 and 1.
    pub(crate) fn bits(&mut self, chunk: &ReadChunk, page: &RawPage) -> Result<Rows<&[u32]>, Unfit> {
        let mut codes = std::mem::take(&mut self.codes);
        codes.clear();
        let open = self.open(chunk, page)?;
        let present = open.present();
        match open.encoding {
            Encoding::PLAIN if open.values.len() * 8 < present => {
                return Err(Unfit::damaged("a page of booleans ends in the middle"));
            }
            Encoding::PLAIN => bits::unpack(open.values, 1, present, &mut codes),
            _ => {
                let values = open.values.get(4..).unwrap_or_default();
                rle::decode(values, 1, present, &mut codes).map_err(Unfit::damaged)?;
            }
        }
        let (rows, validity) = (open.rows, open.validity);
        if !all_below(&codes, 2) {
            return Err(Unfit::damaged("a boolean is neither true nor false"));
        }
        self.codes = codes;
        Ok(Rows {
            rows,
            validity,
            held: &self.codes,
        })
    }

    /// The values of a plain page.
    pub(crate) fn plain(
        &mut self,
        chunk: &ReadChunk,
        page: &RawPage,
        layout: Layout,
    ) -> Result<Rows<Values>, Unfit> {
        let open = self.open(chunk, page)?;
        let values = Values::parse(open.values.to_vec(), layout, open.present()).map_err(Unfit::damaged)?;
        Ok(Rows {
            rows: open.rows,
            validity: open.validity,
            held: values,
        })
    }
}

/// Whether all codes are numbers of so many values. There is no early end: to look at all of them at once is cheaper.
pub(super) fn all_below(codes: &[u32], values: usize) -> bool {
    let last = u32::try_from(values).unwrap_or(u32::MAX);
    codes.iter().fold(true, |all, code| all & (*code < last))
}
