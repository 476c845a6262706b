//! The named steps between which a process may die. Each is a moment at which something was done and not yet told, or told and
//! not yet done. In builds for tests a process ends at the first step that `BALER_DIE_AT` names, without a word, as a power cut
//! would end it; in others this does nothing.

/// A moment at which a process may die.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// An entry is about to be offered for its slot.
    BeforeAppend,
    /// An entry is in its slot, and nobody has been told.
    AfterAppend,
    /// A lease was granted, and nothing is merged yet.
    AfterGrant,
    /// The outputs are durable, and the journal does not know.
    OutputsWritten,
    /// The journal knows the outputs, and none is published.
    AfterFinish,
    /// One output is under its final name, and not yet all.
    MidPublish,
    /// All outputs are under their final names, and the commit is not written.
    Published,
    /// The commit is written, and every replaced file is still in sight.
    Committed,
    /// Replaced files were renamed aside, and the journal does not know.
    SetAside,
    /// A deletion list is in the journal, and nothing is deleted.
    DueDeclared,
    /// What was due is deleted, and the journal does not know.
    Deleted,
    /// A snapshot is written, and not read back.
    SnapshotWritten,
    /// A block of entries has its boundary, and all its entries.
    BoundaryCreated,
    /// A block of entries is half deleted.
    MidRetire,
    /// A repair has closed the old journal, and begun nothing.
    RepairClosed,
    /// A repair has copied the old journal.
    RepairCopied,
    /// A repair has claimed the slot of the new journal, and its snapshot is not written.
    RepairClaimed,
}

impl Step {
    /// All of them, in the order of the work.
    pub const ALL: [Self; 17] = [
        Self::BeforeAppend,
        Self::AfterAppend,
        Self::AfterGrant,
        Self::OutputsWritten,
        Self::AfterFinish,
        Self::MidPublish,
        Self::Published,
        Self::Committed,
        Self::SetAside,
        Self::DueDeclared,
        Self::Deleted,
        Self::SnapshotWritten,
        Self::BoundaryCreated,
        Self::MidRetire,
        Self::RepairClosed,
        Self::RepairCopied,
        Self::RepairClaimed,
    ];

    /// As `BALER_DIE_AT` spells it.
    pub fn name(self) -> &'static str {
        match self {
            Self::BeforeAppend => "before-append",
            Self::AfterAppend => "after-append",
            Self::AfterGrant => "after-grant",
            Self::OutputsWritten => "outputs-written",
            Self::AfterFinish => "after-finish",
            Self::MidPublish => "mid-publish",
            Self::Published => "published",
            Self::Committed => "committed",
            Self::SetAside => "set-aside",
            Self::DueDeclared => "due-declared",
            Self::Deleted => "deleted",
            Self::SnapshotWritten => "snapshot-written",
            Self::BoundaryCreated => "boundary-created",
            Self::MidRetire => "mid-retire",
            Self::RepairClosed => "repair-closed",
            Self::RepairCopied => "repair-copied",
            Self::RepairClaimed => "repair-claimed",
        }
    }

    /// The process has come this far.
    #[cfg(debug_assertions)]
    pub fn reached(self) {
        if std::env::var("BALER_DIE_AT").is_ok_and(|name| name == self.name()) {
            std::process::abort();
        }
    }

    /// The process has come this far.
    #[cfg(not(debug_assertions))]
    pub fn reached(self) {}
}
