//! Takes rows that are not copied into the page in work: as codes or as values, page by page.

use super::Unfit;
use super::bench::Rows;
use super::choose::{LIFTED_ROWS, Shape};
use super::chunk::Disguise;
use super::draft::Draft;
use super::write::Writer;
use crate::pages::dictionary::Values;
use arrow::buffer::NullBuffer;
use std::io;
use std::ops::Range;

impl Writer<'_> {
    /// Whether so many keys that were kept as differences are a page as they lie.
    pub(super) fn lifts(&self, rows: usize) -> bool {
        matches!(self.shape, Shape::Delta) && LIFTED_ROWS.contains(&rows)
    }

    pub(super) fn nulls(&mut self, rows: usize) -> io::Result<()> {
        let mut due = rows;
        while due > 0 {
            let here = due.min(self.draft.room());
            self.draft.add_nulls(here);
            self.flush_if_full()?;
            due -= here;
        }
        Ok(())
    }

    /// Codes take their numbers in the merged dictionary. That these stand for the same values was looked at value by value.
    pub(super) fn renumber(&mut self, numbers: &[u32], rows: &Rows<&[u32]>) -> io::Result<()> {
        let mut renumbered = std::mem::take(&mut self.renumbered);
        renumbered.clear();
        renumbered.extend(rows.held.iter().map(|code| numbers[*code as usize]));
        let taken = self.numbers(&Rows {
            rows: rows.rows,
            validity: rows.validity.clone(),
            held: &renumbered,
        });
        self.renumbered = renumbered;
        taken
    }

    /// Codes as they are, booleans among them.
    pub(super) fn numbers(&mut self, rows: &Rows<&[u32]>) -> io::Result<()> {
        self.read.numbers(rows.held);
        self.flush_unless(true)?;
        self.pieces(rows.rows, rows.validity.as_ref(), |draft, held| {
            draft.codes.extend_from_slice(&rows.held[held]);
        })
    }

    /// Values take the place of their codes.
    pub(super) fn look_up(&mut self, values: &Values, rows: &Rows<&[u32]>) -> io::Result<()> {
        let mut found = std::mem::take(&mut self.looked_up);
        found.clear();
        values.gather(rows.held, &mut found);
        let found = Values::parse(found, self.layout, rows.held.len()).map_err(io::Error::other)?;
        let sealed = self.read.plain(found.bytes(), self.layout, found.len());
        sealed.map_err(io::Error::other)?;
        let taken = self.plain(rows.rows, rows.validity.as_ref(), &found, 0);
        self.looked_up = found.into_bytes();
        taken
    }

    /// A dictionary in disguise: its values are what the rows hold, one after another.
    pub(super) fn disguised(&mut self, disguise: &Disguise, values: &Values) -> Result<(), Unfit> {
        let mut first = 0;
        for (rows, validity) in &disguise.0 {
            let present = rows - validity.as_ref().map_or(0, NullBuffer::null_count);
            let held = values.plain_range(first..first + present);
            self.read.rows(*rows, validity.as_ref());
            let sealed = self.read.plain(held, self.layout, present);
            sealed.map_err(Unfit::damaged)?;
            self.plain(*rows, validity.as_ref(), values, first)
                .map_err(Unfit::Node)?;
            first += present;
        }
        Ok(())
    }

    /// Rows that hold `values` from number `first` on.
    pub(super) fn plain(
        &mut self,
        rows: usize,
        validity: Option<&NullBuffer>,
        values: &Values,
        first: usize,
    ) -> io::Result<()> {
        self.flush_unless(false)?;
        self.pieces(rows, validity, |draft, held| {
            let held = first + held.start..first + held.end;
            draft.plain.extend_from_slice(values.plain_range(held));
        })
    }

    /// Takes rows into the draft, page by page.
    fn pieces(
        &mut self,
        rows: usize,
        validity: Option<&NullBuffer>,
        mut take: impl FnMut(&mut Draft, Range<usize>),
    ) -> io::Result<()> {
        let (mut row, mut held) = (0, 0);
        while row < rows {
            let here = (rows - row).min(self.draft.room());
            let piece = validity.map(|validity| validity.slice(row, here));
            let present = self.draft.add_rows(here, piece.as_ref());
            take(&mut self.draft, held..held + present);
            (row, held) = (row + here, held + present);
            self.flush_if_full()?;
        }
        Ok(())
    }
}
