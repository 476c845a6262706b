//! Baler merge.
