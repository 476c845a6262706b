//! What can go wrong with a journal, by what the caller should do.

use baler_core::ids::{JournalId, Sequence};

use crate::limits::FORMAT;
use crate::store::StoreError;

/// Why a journal or a replica could not do as asked. Unless it says otherwise, nothing was written.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum JournalError {
    /// The store failed or refused.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// What is stored is not what was written. Never taken for an empty or absent object.
    #[error(
        "{what} is damaged: {why}; nothing was changed; `baler journal check` says what that means, and `baler journal repair` rebuilds what it can"
    )]
    Damaged {
        /// The object, as in "journal entry 42".
        what: String,
        /// How it was noticed.
        why: String,
    },
    /// Another version wrote it.
    #[error(
        "{what} was written by a newer Baler (format {found}); this one reads up to {FORMAT}: install the newer version"
    )]
    NewerFormat {
        /// The object.
        what: String,
        /// Its format.
        found: u32,
    },
    /// Another version wrote it, without saying so.
    #[error("{what} holds something that this Baler does not know ({why}): install the newer version")]
    NewerContent {
        /// The object.
        what: String,
        /// What was not understood.
        why: String,
    },
    /// What was decided is nothing that older versions know, and the root lets these in.
    #[error(
        "this needs format level {needs}, and the root was at level {level} when it was opened: `baler upgrade` raises it, then start again"
    )]
    NeedsUpgrade {
        /// The lowest level at which it may be written.
        needs: u32,
        /// The root's.
        level: u32,
    },
    /// The replica was opened for reading.
    #[error("the journal was opened for reading only")]
    ReadOnly,
    /// There is no journal yet.
    #[error("there is no Baler root here; `baler compact` makes one")]
    NotCreated,
    /// Others were faster, again and again. Nothing was written.
    #[error("others wrote to the journal first, {0} times in a row; try again")]
    Contended(u32),
    /// The batch was offered, and it will never be known from the slot whether it was taken.
    #[error("whether entry {0} was written is unknown; look at the present state before trying again")]
    OutcomeUnknown(Sequence),
    /// A decision is larger than an entry may be.
    #[error("a decision of {bytes} bytes is larger than an entry may be ({max}); ask for less at once")]
    TooLarge {
        /// Its size.
        bytes: usize,
        /// The limit.
        max: usize,
    },
    /// The store lets two writers win.
    #[error("this store is not safe for Baler: {0}; use one with working conditional writes")]
    UnsafeStore(String),
    /// The journal was mended, and goes on as another.
    #[error(
        "the journal was repaired meanwhile and is now {now}: what {before} granted counts no more; start again"
    )]
    Replaced {
        /// The one that this replica followed.
        before: JournalId,
        /// The one that lies there.
        now: JournalId,
    },
    /// The replica has ended.
    #[error("the replica has stopped; open it again")]
    Stopped,
}

impl JournalError {
    /// Damage of an entry.
    pub(crate) fn damaged_entry(sequence: Sequence, why: impl Into<String>) -> Self {
        Self::Damaged {
            what: entry_name(sequence),
            why: why.into(),
        }
    }
}

pub(crate) fn entry_name(sequence: Sequence) -> String {
    format!("journal entry {sequence}")
}
