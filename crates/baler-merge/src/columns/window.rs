//! A window in work: its columns, its order and its drops are jobs of their own; a row group comes of them.

use super::cutting::Cut;
use super::encode::{Chunk, ColumnDone, Encoder};
use super::watch::{Ends, Watch};
use crate::crew::{Crew, Handle};
use crate::digest::Digest;
use crate::error::MergeError;
use crate::report::Dropped;
use crate::row_hash::seal;
use std::sync::{Arc, Mutex, PoisonError};

/// The jobs of a window.
pub(crate) struct InWork {
    pub(crate) rows: usize,
    columns: Vec<Handle<Result<ColumnDone, MergeError>>>,
    ends: Option<Handle<Result<Option<Ends>, MergeError>>>,
    drops: Option<Handle<Result<Vec<Dropped>, MergeError>>>,
    sums: Arc<Mutex<Vec<u128>>>,
}

/// What came of a window.
pub(crate) struct Done {
    pub(crate) rows: usize,
    pub(crate) columns: Vec<ColumnDone>,
    pub(crate) digest: Digest,
    /// If an order is claimed.
    pub(crate) ends: Option<Ends>,
    pub(crate) drops: Vec<Dropped>,
}

impl Done {
    /// Bytes of its pages before they were packed.
    pub(crate) fn bytes(&self) -> u64 {
        let chunks = self.columns.iter().flat_map(|column| &column.chunks);
        let unpacked = chunks.map(Chunk::unpacked_bytes);
        unpacked.sum::<i64>().unsigned_abs()
    }
}

impl InWork {
    /// Asks the crew for all that the window needs.
    pub(crate) fn begin<'a>(
        crew: &Crew<'a>,
        encoder: &'a Encoder<'a>,
        watch: Option<&'a Watch<'a>>,
        cut: Cut,
    ) -> Result<Self, MergeError> {
        let rows = cut.picks.rows;
        let cut = Arc::new(cut);
        let sums = Arc::new(Mutex::new(vec![0u128; rows]));
        let drops = (!cut.gone.is_empty()).then(|| {
            let cut = Arc::clone(&cut);
            crew.ask(move || {
                let gone = cut.gone.iter();
                gone.map(|gone| gone.counted(encoder.shelf, &cut.picks.spans))
                    .collect()
            })
        });
        let ends = watch.filter(|_| rows > 0).map(|watch| {
            let cut = Arc::clone(&cut);
            crew.ask(move || watch.check(&cut.picks))
        });
        let writers = match rows {
            0 => Vec::new(),
            _ => encoder.writers()?,
        };
        let columns = writers.into_iter().enumerate().map(|(column, writers)| {
            let (cut, sums) = (Arc::clone(&cut), Arc::clone(&sums));
            crew.ask(move || encoder.column(column, &cut.picks, writers, &sums))
        });
        Ok(Self {
            rows,
            columns: columns.collect(),
            ends,
            drops,
            sums,
        })
    }

    /// Waits for all of it.
    pub(crate) fn finish(self, crew: &Crew<'_>) -> Result<Done, MergeError> {
        let columns = self.columns.into_iter().map(|column| crew.wait(column));
        let columns = columns.collect::<Result<Vec<_>, _>>()?;
        let ends = match self.ends {
            Some(ends) => crew.wait(ends)?,
            None => None,
        };
        let drops = match self.drops {
            Some(drops) => crew.wait(drops)?,
            None => Vec::new(),
        };
        let mut sums = self.sums.lock().unwrap_or_else(PoisonError::into_inner);
        Ok(Done {
            rows: self.rows,
            columns,
            digest: seal(&mut sums),
            ends,
            drops,
        })
    }
}
