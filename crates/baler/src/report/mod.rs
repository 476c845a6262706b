//! What a run tells, and how a root stands: people get progress and a summary, programs get JSON.

mod cost;
mod fleet;
mod jobs;
mod numbers;
mod pace;
#[cfg(feature = "cli")]
mod progress;
#[cfg(not(feature = "cli"))]
#[path = "progress_absent.rs"]
mod progress;
mod run;
mod status;

pub use cost::Cost;
pub use fleet::{Heard, LeaseStatus, Queue, WorkerStatus};
pub use jobs::{EndedJob, JobWord, Jobs, OpenJob};
pub use numbers::{bytes, count, seconds};
pub use pace::Pace;
pub use progress::ProgressView;
pub use run::{NamedReason, RunReport, Totals};
pub use status::{Status, TableStatus};
