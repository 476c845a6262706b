//! XXH3-128 of 9 to 32 bytes, one value at a time or many at once. Every number of a row is hashed as sixteen bytes, and most strings
//! are short: for them a general function spends more on finding out how long they are than on hashing.
//!
//! The hashes are those of any other XXH3. Digests of rows are sums of them, on both sides of every merge, so this is the code that
//! runs most often in all of Baler. Where the processor has registers of 512 bits, values are hashed 64 at a time, in half the time.
//!
//! The crate has one `unsafe` block: a function that is compiled for such registers may be called only where they are, and nobody but
//! the caller can see to that (docs/decisions/0021-values-hashed-side-by-side.md).

mod lanes;
mod short;
mod sum;

pub use lanes::{LANES, Strings, Wide};
pub use short::{hash_9_to_32, hash_16};
pub use sum::Sum;
