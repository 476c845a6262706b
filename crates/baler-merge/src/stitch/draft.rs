//! The page in work: rows are gathered in it until there are enough for a page.

use crate::limits::PAGE_ROWS;
use crate::pages::levels;
use arrow::array::BooleanBufferBuilder;
use arrow::buffer::NullBuffer;

/// Rows of a page to be, as codes or as values, not both.
pub(crate) struct Draft {
    pub(crate) rows: usize,
    pub(crate) nulls: usize,
    /// For columns that may be null.
    validity: Option<BooleanBufferBuilder>,
    pub(crate) codes: Vec<u32>,
    pub(crate) plain: Vec<u8>,
}

impl Draft {
    pub(crate) fn new(nullable: bool) -> Self {
        Self {
            rows: 0,
            nulls: 0,
            validity: nullable.then(|| BooleanBufferBuilder::new(PAGE_ROWS)),
            codes: Vec::new(),
            plain: Vec::new(),
        }
    }

    /// Rows that it has room for.
    pub(crate) fn room(&self) -> usize {
        PAGE_ROWS.saturating_sub(self.rows)
    }

    /// Counts rows in, and says how many of them have a value.
    pub(crate) fn add_rows(&mut self, rows: usize, validity: Option<&NullBuffer>) -> usize {
        let nulls = validity.map_or(0, NullBuffer::null_count);
        if let Some(held) = &mut self.validity {
            match validity {
                Some(validity) => held.append_buffer(validity.inner()),
                None => held.append_n(rows, true),
            }
        }
        self.rows += rows;
        self.nulls += nulls;
        rows - nulls
    }

    pub(crate) fn add_nulls(&mut self, rows: usize) {
        if let Some(held) = &mut self.validity {
            held.append_n(rows, false);
        }
        self.rows += rows;
        self.nulls += rows;
    }

    /// The definition levels of the rows, for columns that may be null.
    pub(crate) fn levels(&mut self) -> Option<Vec<u8>> {
        let (rows, nulls) = (self.rows, self.nulls);
        let validity = self.validity.as_mut()?;
        Some(match nulls == 0 || nulls == rows {
            true => levels::encode_equal(rows, nulls == 0),
            false => levels::encode(&validity.finish()),
        })
    }

    /// Begins the next page in the same room.
    pub(crate) fn clear(&mut self) {
        (self.rows, self.nulls) = (0, 0);
        if let Some(validity) = &mut self.validity {
            validity.truncate(0);
        }
        self.codes.clear();
        self.plain.clear();
    }
}
