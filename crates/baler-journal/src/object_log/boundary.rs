//! Letting go of old entries. A slot that was deleted could be filled again by a writer that slept through it all; so
//! before the first delete in a block its boundary is created, for ever, and whoever filled or read a slot looks for
//! it afterwards.

use baler_core::ids::Sequence;
use bytes::Bytes;

use super::{ObjectLog, names};
use crate::error::JournalError;
use crate::steps::Step;
use crate::store::StoreError;

impl ObjectLog {
    /// One GET of a known name, never a list.
    pub(super) async fn block_is_retired(&self, block: u64) -> Result<bool, JournalError> {
        self.counters.boundary_checks.add_one();
        Ok(self.fetch(&names::boundary(block)).await?.is_some())
    }

    /// The last block that ends at or before this entry.
    pub(super) fn last_block(&self, until: Sequence) -> Option<u64> {
        ((until.0 + 1) / self.block).checked_sub(1)
    }

    /// Blocks are retired in order, so that the boundary of one speaks for all before it.
    pub(super) async fn retire_blocks(&self, until: Sequence) -> Result<(), JournalError> {
        let Some(last) = self.last_block(until) else {
            return Ok(());
        };
        let boundaries = self.numbers(names::BOUNDARY, "").await?;
        let first = boundaries.last().map_or(0, |block| block + 1);
        for block in first..=last {
            self.raise_boundary(block, until).await?;
            Step::BoundaryCreated.reached();
        }
        // Also what a retirement that was cut short, or a stalled writer, left in older blocks.
        let end = (last + 1) * self.block;
        let retired = self.numbers(names::JOURNAL, "").await?;
        for sequence in retired.into_iter().filter(|sequence| *sequence < end) {
            self.store.delete(&names::entry(Sequence(sequence))).await?;
            self.counters.deletes.add_one();
            Step::MidRetire.reached();
        }
        Ok(())
    }

    /// After this returns, the boundary stands; nothing may be deleted otherwise.
    async fn raise_boundary(&self, block: u64, snapshot: Sequence) -> Result<(), JournalError> {
        let path = names::boundary(block);
        let body = format!("{{\"block\":{block},\"snapshot\":{snapshot}}}\n");
        match self.store.create(&path, Bytes::from(body)).await {
            Ok(()) => return Ok(()),
            Err(error) => tracing::debug!(%error, block, "a boundary got no clear answer; reading back"),
        }
        if !self.block_is_retired(block).await? {
            let reason = "the boundary was not created".to_owned();
            return Err(StoreError::Unknown { path, reason }.into());
        }
        Ok(self.store.settle(&names::folder(names::BOUNDARY)).await?)
    }
}
