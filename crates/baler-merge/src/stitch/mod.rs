//! Stitching: row groups that follow one another become one, without decoding values.
//!
//! ```text
//! chunk of each source ─▶ read ─▶ choose ─▶ write ──▶ encoded pages ──▶ packed ──▶ EncodedColumn
//!                                             │              │                          │
//!                                             └▶ seal ═══ read_back ═══ equal? ═══ seal_output
//! ```
//!
//! Pages that stand for themselves are copied packed. Dictionaries are merged once and indices rewritten; where the merged one
//! would be too large, values are written plain from the dictionaries. A dictionary whose values are used once each, in order, is a
//! plain page in disguise, and is turned into one as it lies. Tiny plain pages are joined.
//!
//! Keys that were looked at are not unpacked again: `kept` has them, with a hash of what was read. Columns are made on all threads,
//! in a `line` from which they are written in order.
//!
//! Proof by bytes: the seal of a column covers every copied page's bytes, and for rewritten ones every row's value, in order. It is
//! taken from the sources, and again from what was made: from the bytes that the sink is handed where pages were copied, and from
//! pages read back before they were packed where rows were written anew.

pub(crate) mod bench;
pub(crate) mod choose;
pub(crate) mod chunk;
pub(crate) mod copy;
mod counting;
mod draft;
pub(crate) mod evidence;
pub(crate) mod facts;
mod flush;
pub(crate) mod group;
mod kept;
mod key_pages;
mod lift;
mod line;
pub(crate) mod pass;
pub(crate) mod read;
mod read_back;
pub(crate) mod reencode;
mod rows;
pub(crate) mod seal;
mod seal_output;
pub(crate) mod source;
pub(crate) mod survey;
pub(crate) mod write;

use crate::error::{FileError, MergeError};
use crate::group::EncodedColumn;
use crate::spec::Codec;
use bench::Workbench;
use choose::choose;
use parquet::schema::types::ColumnDescPtr;
use read::read_chunk;
use seal::Seals;
use seal_output::seal_of_output;
use source::SourceGroup;
use std::io;
use write::{Written, write_column};

/// Why a column was not stitched.
#[derive(Debug)]
pub(crate) enum Unfit {
    /// It has to be decoded, for this reason.
    Decode(String),
    /// The source is at fault, or its store.
    File(FileError),
    /// This machine is.
    Node(io::Error),
}

impl Unfit {
    pub(crate) fn damaged(why: impl std::fmt::Display) -> Self {
        Unfit::File(FileError::Refused(format!("its data is damaged: {why}")))
    }

    /// The same of the merge that has the source as this input.
    fn of_input<T>(self, input: usize) -> Result<Result<T, String>, MergeError> {
        match self {
            Unfit::Decode(reason) => Ok(Err(reason)),
            Unfit::File(error) => Err(error.of_input(input)),
            Unfit::Node(source) => Err(writing(source)),
        }
    }
}

/// The same of the chunk of this number.
type AtChunk = (usize, Unfit);

/// Stitches one leaf column. `Ok(Err(reason))`: it has to be decoded.
pub(crate) fn stitch_leaf(
    sources: &[SourceGroup<'_>],
    number: usize,
    leaf: &ColumnDescPtr,
    codec: Codec,
) -> Result<Result<Written, String>, MergeError> {
    if leaf.max_rep_level() > 0 || leaf.max_def_level() > 1 {
        return Ok(Err("it is nested".into()));
    }
    match stitched(sources, number, leaf, codec) {
        Ok(stitched) => Ok(Ok(stitched)),
        Err((chunk, unfit)) => unfit.of_input(sources.get(chunk).map_or(0, |source| source.input)),
    }
}

fn stitched(
    sources: &[SourceGroup<'_>],
    number: usize,
    leaf: &ColumnDescPtr,
    codec: Codec,
) -> Result<Written, AtChunk> {
    let mut with = Workbench::default();
    let mut chunks = Vec::with_capacity(sources.len());
    for (at, source) in sources.iter().enumerate() {
        let chunk = read_chunk(source, number, leaf, &mut with);
        chunks.push(chunk.map_err(|unfit| (at, unfit))?);
    }
    let layouts = choose(&mut chunks, leaf, codec, &mut with)?;
    write_column(&mut chunks, &layouts, leaf, codec, &mut with)
}

impl Written {
    /// The column, if its bytes hold what the sources hold, and both seals. The bytes that were looked at are those that are
    /// returned.
    pub(crate) fn proved(self) -> Result<(EncodedColumn, Seals), MergeError> {
        let Written {
            column,
            origins,
            dictionary,
            read,
            made,
        } = self;
        #[cfg(debug_assertions)]
        let column = crate::hook::damaged_column(column);
        let name = column.close.metadata.column_path().string();
        let refuse = |why: String| MergeError::Proof(format!("stitching column {name}: {why}"));
        let pages = seal_of_output(&column, &origins, dictionary).map_err(refuse)?;
        let found = made.and_then(|made| pages.with_rows_of(made)).map_err(refuse)?;
        if found != read {
            return Err(refuse(format!("{found} came out, {read} went in")));
        }
        Ok((column, read.beside(found, &name)))
    }
}

fn writing(source: io::Error) -> MergeError {
    MergeError::Node {
        doing: "encoding an output",
        source,
    }
}

#[cfg(test)]
mod tests;
