//! Planted bugs. A simulator that finds nothing proves nothing, so each of these is switched on in turn, and must be found.
//!
//! Debug builds hold them, asleep, so that every build that tests are run on can be asked whether its tests notice. A release
//! build has none: there `planted!` is the constant `false`, unless the feature `mutants` is on, which nothing but `cargo xtask sim
//! --mutants` asks for. One is chosen for the whole process, at run time.

/// Whether this bug is planted. At each place it is one word in a condition.
#[cfg(not(any(feature = "mutants", debug_assertions)))]
#[macro_export]
macro_rules! planted {
    ($mutant:ident) => {
        false
    };
}

/// Whether this bug is planted. At each place it is one word in a condition.
#[cfg(any(feature = "mutants", debug_assertions))]
#[macro_export]
macro_rules! planted {
    ($mutant:ident) => {
        $crate::mutants::is_chosen($crate::mutants::Mutant::$mutant)
    };
}

#[cfg(any(feature = "mutants", debug_assertions))]
mod list;

#[cfg(any(feature = "mutants", debug_assertions))]
pub use list::{Mutant, VARIABLE, choose, chosen_outside, is_chosen};
