//! Filling a slot. The only clear answer is success: after any other the slot is read back, because a lost answer, a
//! retry inside a client or a store that says 409 for "busy" all look like somebody else's success.

use baler_core::planted;
use baler_core::time::StoreTime;

use super::{ObjectLog, names};
use crate::backoff;
use crate::entry::Proposal;
use crate::error::JournalError;
use crate::journal::{Appended, Journal};
use crate::limits::TRIES_MAX;
use crate::steps::Step;
use crate::store::StoreError;

/// What a read of the slot says.
enum Slot {
    Ours { modified: Option<StoreTime> },
    Others,
    Nothing,
}

impl ObjectLog {
    /// Offers the proposal until its slot is known to hold something, or a few times at most.
    pub(super) async fn offer(&self, proposal: &Proposal) -> Result<Appended, JournalError> {
        let (needs, level) = (proposal.level, self.level);
        if needs > level {
            return Err(JournalError::NeedsUpgrade { needs, level });
        }
        let path = names::entry(proposal.sequence);
        let mut may_have_landed = false;
        for try_number in 0..TRIES_MAX {
            if try_number > 0 {
                backoff::pause(try_number - 1).await;
            }
            self.counters.offers.add_one();
            Step::BeforeAppend.reached();
            let error = match self.store.create(&path, proposal.bytes.clone()).await {
                Ok(()) => {
                    Step::AfterAppend.reached();
                    return self.committed(proposal, None, may_have_landed).await;
                }
                Err(StoreError::Unknown { .. }) if planted!(NoReadBack) => {
                    return Ok(Appended::Committed { modified: None });
                }
                Err(error) => error,
            };
            let refused = is_refusal(&error);
            tracing::debug!(%error, sequence = proposal.sequence.0, "an append got no clear answer; reading back");
            match self.read_back(proposal).await {
                Ok(Slot::Ours { modified }) => return self.found_ours(proposal, modified).await,
                Ok(Slot::Others) => {
                    self.counters.conflicts.add_one();
                    return Ok(Appended::Conflict);
                }
                Ok(Slot::Nothing) if self.is_retired(proposal.sequence).await.unwrap_or(false) => {
                    return Ok(Appended::Retired {
                        maybe_ours: may_have_landed || !refused,
                    });
                }
                Ok(Slot::Nothing) if !may_have_landed && refused => return Err(error.into()),
                Ok(Slot::Nothing) => {}
                // Damage and other versions are final; a store that cannot be read is not.
                Err(failed @ JournalError::Store(_)) => tracing::debug!(%failed, "reading back failed"),
                Err(error) => return Err(error),
            }
            may_have_landed |= !refused;
        }
        self.counters.unknown.add_one();
        Ok(Appended::Unknown)
    }

    async fn read_back(&self, proposal: &Proposal) -> Result<Slot, JournalError> {
        self.counters.read_backs.add_one();
        Ok(match self.fetch_entry(proposal.sequence).await? {
            None => Slot::Nothing,
            Some(entry) if entry.nonce == proposal.nonce => Slot::Ours {
                modified: entry.modified,
            },
            Some(entry) => {
                *self.winner() = Some(entry);
                Slot::Others
            }
        })
    }

    /// Seen in the slot, which in a directory does not yet mean that it would survive a power cut.
    async fn found_ours(
        &self,
        proposal: &Proposal,
        modified: Option<StoreTime>,
    ) -> Result<Appended, JournalError> {
        match self.settle().await {
            Ok(()) => self.committed(proposal, modified, true).await,
            Err(error) => {
                tracing::warn!(%error, "an entry is written but not known to be durable");
                Ok(Appended::Unknown)
            }
        }
    }

    /// The slot holds the proposal. If the block is retired, the slot had been filled and deleted before: this is a
    /// stalled writer's belated entry, of which nobody must learn.
    async fn committed(
        &self,
        proposal: &Proposal,
        modified: Option<StoreTime>,
        maybe_ours: bool,
    ) -> Result<Appended, JournalError> {
        let (retired, modified) = match modified {
            Some(_) => (self.is_retired(proposal.sequence).await, modified),
            None => {
                let (retired, modified) = futures::join!(
                    self.is_retired(proposal.sequence),
                    self.modified(proposal.sequence)
                );
                (retired, modified.unwrap_or(None))
            }
        };
        match retired {
            Ok(retired) if !retired || planted!(NoBoundaryCheck) => {
                self.counters.commits.add_one();
                Ok(Appended::Committed { modified })
            }
            Ok(_) => {
                let _swept_with_its_block_otherwise =
                    self.store.delete(&names::entry(proposal.sequence)).await;
                Ok(Appended::Retired { maybe_ours })
            }
            Err(error) => {
                tracing::debug!(%error, "whether the slot is retired could not be asked");
                self.counters.unknown.add_one();
                Ok(Appended::Unknown)
            }
        }
    }
}

/// The store said no before it did anything.
fn is_refusal(error: &StoreError) -> bool {
    matches!(
        error,
        StoreError::Denied { .. }
            | StoreError::ReadOnly { .. }
            | StoreError::Full { .. }
            | StoreError::Unsupported { .. }
            | StoreError::NotFound { .. }
    )
}
