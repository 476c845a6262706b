//! What a run tells: people get progress and a summary, programs get JSON.

mod cost;
mod jobs;
mod numbers;
#[cfg(feature = "cli")]
mod progress;
#[cfg(not(feature = "cli"))]
#[path = "progress_absent.rs"]
mod progress;
mod run;
mod status;

pub use cost::Cost;
pub use jobs::{EndedJob, OpenJob};
pub use numbers::{bytes, count, seconds};
pub use progress::ProgressView;
pub use run::{NamedReason, RunReport, Totals};
pub use status::{Status, TableStatus};
