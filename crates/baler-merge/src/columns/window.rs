//! A window in work: its columns, its order and its drops are jobs of their own; a row group comes of them.

use super::cutting::Cut;
use super::encode::{Chunk, ColumnDone, Encoder};
use super::sums::Sums;
use super::watch::{Ends, Watch};
use crate::crew::{Crew, Handle};
use crate::digest::Digest;
use crate::error::MergeError;
use crate::report::Dropped;
use std::sync::Arc;

/// The jobs of a window.
pub(crate) struct InWork {
    pub(crate) rows: usize,
    /// By number; nothing for those that rows are ordered by.
    columns: Vec<Option<Handle<Result<ColumnDone, MergeError>>>>,
    /// Those, with their numbers.
    keys: Option<(Vec<usize>, Handle<Keys>)>,
    drops: Option<Handle<Result<Vec<Dropped>, MergeError>>>,
    sums: Arc<Sums>,
}

type Keys = Result<(Vec<ColumnDone>, Option<Ends>), MergeError>;

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
        #[cfg(debug_assertions)]
        let cut = Cut {
            picks: crate::hook::damaged_picks(cut.picks),
            ..cut
        };
        let rows = cut.picks.rows;
        let cut = Arc::new(cut);
        let sums = Arc::new(Sums::over(&cut.picks.pieces, encoder.hash, &encoder.spare));
        let drops = (!cut.gone.is_empty()).then(|| {
            let cut = Arc::clone(&cut);
            crew.ask(move || {
                let gone = cut.gone.iter();
                gone.map(|gone| gone.counted(encoder.shelf, &cut.picks.spans))
                    .collect()
            })
        });
        let mut writers = match rows {
            0 => Vec::new(),
            _ => encoder.writers()?,
        };
        let keys = watch.filter(|_| rows > 0).map(|watch| {
            let columns = watch.columns().to_vec();
            let writers = columns.iter().map(|column| std::mem::take(&mut writers[*column]));
            let writers = writers.collect();
            let (cut, sums) = (Arc::clone(&cut), Arc::clone(&sums));
            let handle = crew.ask(move || encoder.key_columns(watch, &cut.picks, writers, &sums));
            (columns, handle)
        });
        let is_key = |column: &usize| keys.as_ref().is_some_and(|(keys, _)| keys.contains(column));
        let columns = writers.into_iter().enumerate().map(|(column, writers)| {
            if is_key(&column) {
                return None;
            }
            let (cut, sums) = (Arc::clone(&cut), Arc::clone(&sums));
            Some(crew.ask(move || encoder.column(column, &cut.picks, writers, &sums)))
        });
        Ok(Self {
            rows,
            columns: columns.collect(),
            keys,
            drops,
            sums,
        })
    }

    /// Waits for all of it, with some work of one's own to do meanwhile.
    pub(crate) fn finish(
        self,
        crew: &Crew<'_>,
        mut own_work: impl FnMut() -> Result<bool, MergeError>,
    ) -> Result<Done, MergeError> {
        let mut columns: Vec<Option<ColumnDone>> = Vec::with_capacity(self.columns.len());
        for column in self.columns {
            columns.push(match column {
                Some(column) => Some(crew.wait_busy(column, &mut own_work)??),
                None => None,
            });
        }
        let mut ends = None;
        if let Some((numbers, handle)) = self.keys {
            let (done, seen) = crew.wait_busy(handle, &mut own_work)??;
            for (number, done) in numbers.into_iter().zip(done) {
                columns[number] = Some(done);
            }
            ends = seen;
        }
        let drops = match self.drops {
            Some(drops) => crew.wait_busy(drops, &mut own_work)??,
            None => Vec::new(),
        };
        Ok(Done {
            rows: self.rows,
            columns: columns.into_iter().flatten().collect(),
            digest: self.sums.seal(),
            ends,
            drops,
        })
    }
}
