//! A journal that is damaged: what is wrong with it, what can still be believed, and how it goes on.
//!
//! ```text
//! Survey (everything, piece by piece) ─▶ diagnose: what is wrong, and what that means
//!                                     └▶ recover: the last state that can be believed ─▶ close the old blocks ─▶ begin anew
//! ```
//!
//! A mended journal goes on in the same row of slots, behind boundaries. Every block that the old one may have touched is closed
//! first, for ever, exactly as if it were retired: whoever still writes there is told that he is far behind, looks for the latest
//! snapshot, and finds another journal's id. So nothing of the old one is taken for an entry of the new one, and nothing has to be
//! deleted.

mod diagnosis;
mod recovery;
mod renewal;
mod survey;

pub use diagnosis::{Diagnosis, Problem, diagnose};
pub use recovery::{Recovery, recover};
pub use renewal::{Closed, begin_anew, close_old};
pub use survey::{Boundary, Piece, Snapshot, Survey};
