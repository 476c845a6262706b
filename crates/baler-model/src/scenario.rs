//! What a world begins with, and how much may go wrong in it.

use crate::mutants::Mutant;

/// A world to be looked at whole.
#[derive(Clone, Debug)]
pub struct Scenario {
    /// What it is called on the page of figures.
    pub name: &'static str,
    /// Whether the table is native; else it is a plain one on a store, whose outputs are published.
    pub native: bool,
    /// Partitions with two files each: so many jobs can be worked on at once.
    pub partitions: u8,
    /// Files that are added later, to the first partition: each makes one more commit possible.
    pub late_files: u8,
    /// Whether somebody pins a version, reads it and lets it go.
    pub reader: bool,
    /// Commits that must be possible.
    pub commits: usize,
    /// What may go wrong.
    pub purse: Purse,
    /// What is wrong with the product, on purpose.
    pub mutant: Option<Mutant>,
}

/// How often something may go wrong, in all.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Purse {
    /// A process dies at any step. What it had sent to the journal may still land.
    pub crashes: u8,
    /// A client hears no answer and asks again, while the first request may still be under way.
    pub lost: u8,
    /// A lease or a watcher that lives is taken for dead, or passed on.
    pub suspicions: u8,
    /// Somebody outside overwrites an input.
    pub overwrites: u8,
}
