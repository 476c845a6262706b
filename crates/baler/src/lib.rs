//! Baler as a library.

pub mod folder;
