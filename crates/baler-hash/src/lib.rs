//! How single values of a row are hashed, and the row of them, for digests. This is the code that runs most often in all of Baler: on
//! every value, on both sides of every merge.
//!
//! [`Weights`] is what tables of today use: one product a value. `short` is XXH3-128 of 9 to 32 bytes, of which a general function
//! spends more time on finding out how long they are than on hashing: tables that were made before have their digests by it
//! (docs/decisions/0022-one-product-a-value.md).

mod short;
mod weights;

pub use short::{hash_9_to_32, hash_16};
pub use weights::{Weights, sealed};
