//! Planted bugs. A simulator that finds nothing proves nothing, so each of these is switched on in turn, and must be found.
//!
//! They exist only with the feature `mutants`, which nothing but `cargo xtask mutants` asks for: without it `planted!` is the constant
//! `false`, and the product holds no trace of them. One is chosen for the whole process, at run time.

/// Whether this bug is planted. At each place it is one word in a condition.
#[cfg(not(feature = "mutants"))]
#[macro_export]
macro_rules! planted {
    ($mutant:ident) => {
        false
    };
}

/// Whether this bug is planted. At each place it is one word in a condition.
#[cfg(feature = "mutants")]
#[macro_export]
macro_rules! planted {
    ($mutant:ident) => {
        $crate::mutants::is_chosen($crate::mutants::Mutant::$mutant)
    };
}

#[cfg(feature = "mutants")]
mod list;

#[cfg(feature = "mutants")]
pub use list::{Mutant, VARIABLE, choose, chosen_outside, is_chosen};
