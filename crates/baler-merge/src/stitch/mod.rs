//! Stitching: row groups that follow one another become one, without decoding values.
//!
//! ```text
//! chunk of each source ─▶ read ─▶ choose ─▶ write ─▶ EncodedColumn
//!                           │        │                    │
//!                           └────────┴─▶ seal ═══ equal? ═╧═ seal of what is handed to the sink
//! ```
//!
//! Pages that stand for themselves are copied packed. Dictionaries are merged once and indices rewritten; where the merged one
//! would be too large, values are written plain from the dictionaries. A dictionary whose values are used once each, in order, is a
//! plain page in disguise, and is turned into one as it lies. Tiny plain pages are joined.
//!
//! Proof by bytes: the seal of a column covers every copied page's bytes, and for rewritten ones every row's value, in order. It is
//! taken from the sources, and again from the bytes that the sink is handed.

pub(crate) mod choose;
pub(crate) mod copy;
pub(crate) mod evidence;
pub(crate) mod facts;
pub(crate) mod group;
pub(crate) mod pass;
pub(crate) mod read;
pub(crate) mod reencode;
pub(crate) mod seal;
pub(crate) mod source;
pub(crate) mod survey;
pub(crate) mod write;

use crate::error::{FileError, MergeError};
use crate::group::EncodedColumn;
use crate::spec::Codec;
use choose::{Layouts, choose};
use parquet::schema::types::ColumnDescPtr;
use read::{Workbench, read_chunk};
use seal::{Seal, Seals, seal_of_output, seal_of_sources};
use source::SourceGroup;
use std::io;
use write::{Origin, write_column};

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

/// A column that was stitched and is not proved yet.
pub(crate) struct Stitched {
    pub(crate) column: EncodedColumn,
    /// Where each data page came from.
    pub(crate) origins: Vec<Origin>,
    seal: Seal,
}

/// Stitches one leaf column. `Ok(Err(reason))`: it has to be decoded.
pub(crate) fn stitch_leaf(
    sources: &[SourceGroup<'_>],
    number: usize,
    leaf: &ColumnDescPtr,
    codec: Codec,
) -> Result<Result<Stitched, String>, MergeError> {
    if leaf.max_rep_level() > 0 || leaf.max_def_level() > 1 {
        return Ok(Err("it is nested".into()));
    }
    let mut chunks = Vec::with_capacity(sources.len());
    let mut with = Workbench::default();
    for source in sources {
        match read_chunk(source, number, leaf, &mut with) {
            Ok(chunk) => chunks.push(chunk),
            Err(unfit) => return unfit.of_input(source.input),
        }
    }
    let Layouts { shape, retyped } = match choose(&mut chunks, leaf, codec, &mut with.unpackers) {
        Ok(layouts) => layouts,
        // What is damaged was found in a dictionary of one of them; which one, decoding will tell.
        Err(Unfit::File(FileError::Refused(reason))) => return Ok(Err(reason)),
        Err(unfit) => return unfit.of_input(0),
    };
    let seal = seal_of_sources(&chunks, &retyped, codec).map_err(MergeError::Proof)?;
    let (column, origins) = write_column(&chunks, &shape, &retyped, leaf, codec).map_err(writing)?;
    Ok(Ok(Stitched {
        column,
        origins,
        seal,
    }))
}

impl Stitched {
    /// The column, if its bytes hold what the sources hold, and both seals. The bytes that were looked at are those that are
    /// returned.
    pub(crate) fn proved(self) -> Result<(EncodedColumn, Seals), MergeError> {
        let bytes = self.column.bytes.to_bytes();
        let name = self.column.close.metadata.column_path().string();
        let refuse = |why: String| MergeError::Proof(format!("stitching column {name}: {why}"));
        let found = seal_of_output(&bytes, &self.column.close, &self.origins).map_err(refuse)?;
        if found != self.seal {
            return Err(refuse(format!("{found} came out, {} went in", self.seal)));
        }
        let seals = self.seal.beside(found, &name);
        let column = EncodedColumn {
            bytes: bytes.into(),
            close: self.column.close,
        };
        Ok((column, seals))
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
