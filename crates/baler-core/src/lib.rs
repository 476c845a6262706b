//! Baler core.
