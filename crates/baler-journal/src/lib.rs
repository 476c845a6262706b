//! Baler journal.
