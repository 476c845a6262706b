//! Baler as a library.
