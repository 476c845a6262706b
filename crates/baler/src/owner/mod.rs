//! What the owner of a table may bring of his own beside a format: the catalog that holds the truth about its files, and the
//! policy that chooses which are merged.
//!
//! | trait | who calls it | what it changes |
//! |---|---|---|
//! | [`Catalog`] | `committing`: jobs that are merged, one at a time for a table | the owner's catalog; then the state follows |
//! | [`Policy`] | `proposing`: whenever the state has changed | nothing: what it wants is proposed, and checked |
//!
//! Any process may have them, or several, or none: what is due waits for one that does.

mod catalog;
mod committing;
mod policy;
mod proposing;

pub use catalog::{Catalog, Commit, CommitId, History, Tried};
pub use policy::{Policy, Wanted};

pub(crate) use committing::Committer;
pub(crate) use proposing::Proposer;

use std::collections::BTreeMap;
use std::sync::Arc;

use baler_core::ids::TableName;

/// Catalogs and policies that a process can reach, by table.
#[derive(Clone, Debug, Default)]
pub struct Owners {
    /// Catalogs.
    pub catalogs: BTreeMap<TableName, Arc<dyn Catalog>>,
    /// Policies.
    pub policies: BTreeMap<TableName, Arc<dyn Policy>>,
}
