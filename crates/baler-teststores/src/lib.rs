//! Object stores to test on: real servers that a test starts and kills, a proxy that loses answers, and a synthetic
//! store for what no real one does on request. For tests only; the product does not depend on it.
//!
//! ```text
//!  client without inner retries ──▶ FaultProxy ──▶ Seaweed (S3) or Azurite (Azure): real, killed and restarted
//!              └──────────────────▶ Synthetic: 400,000 objects, latency, conditions kept or broken
//! ```
//!
//! `cargo xtask test` installs the servers and says where they are, in `BALER_SEAWEED` and `BALER_AZURITE`. Servers
//! listen on loopback only and end with the process that started them, however that ends.

mod child;
mod ports;
mod server;

mod azure;
mod s3;

mod azurite;
mod seaweed;

mod proxy;
mod synthetic;

pub use azure::Azure;
pub use azurite::{Azurite, shared_azurite};
pub use proxy::{Exchange, Fault, FaultProxy};
pub use s3::S3;
pub use seaweed::{Seaweed, shared_seaweed};
pub use synthetic::{BUCKET, Conditions, Counts, Objects, Synthetic};
