//! The simulated bucket. Baler's own client stack sends it the requests that it would send to S3, over a wire on which
//! everything can go wrong.
//!
//! | file | what |
//! |---|---|
//! | `objects` | what is there, and what each request does |
//! | `s3` | requests and answers as HTTP |
//! | `wire` | the way there and back: time, and faults |

pub(crate) mod objects;
mod s3;
pub(crate) mod wire;

pub(crate) use objects::{Objects, Version};
pub(crate) use wire::Wire;

/// The bucket's name.
pub(crate) const BUCKET: &str = "sim";

/// The root's prefix in it.
pub(crate) const PREFIX: &str = "root";
