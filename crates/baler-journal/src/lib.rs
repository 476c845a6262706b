//! Baler journal.
pub mod store;
