//! Receipts: for each committed job one object that says what it read, wrote and dropped, how that was proved, who tried,
//! and what it took. They are written after the commit, by whoever comes by: the state remembers which are still to be.
//!
//! ```text
//!  JobCommitted ─▶ state.committed ─▶ write_due ─▶ _baler/receipts/<journal>/<job>-<table>.json
//!                        ▲                 │
//!                        └─ ReceiptsWritten ┘        delete_old: the oldest, and those of dropped tables
//!  JobUndone ──▶ mark_undone ─▶ _baler/receipts/<journal>/<job>-<table>.undone
//! ```

mod document;
#[cfg(debug_assertions)]
mod hook;
mod keeping;
mod proof;
mod reading;
mod undone;
mod writing;

pub use document::{
    Attempted, Moment, RangeProof, Receipt, ReceiptInput, ReceiptOutput, StretchProof, VERSION,
};
pub use keeping::keep_writing;
pub use reading::{Receipts, Wanted};
pub use undone::mark_undone;
pub use writing::{delete_old, write_due};
