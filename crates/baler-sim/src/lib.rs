//! Baler in a simulated world: the real state machine, object log, coordinators, workers and collectors, over a store,
//! time, network and clocks in which everything goes wrong that can. One run for each seed, on one thread, and the same
//! each time.
//!
//! ```text
//!  writers, readers, operators,
//!  outsiders ────────────────────┐
//!  bucket-only workers ──────────┤   each a process with a `Life`: it may be killed or paused at any await
//!  coordinators ◀─ network ─▶ workers
//!  collectors ───────────────────┤
//!                                ▼
//!        Baler's own S3 client ─▶ wire (time, faults) ─▶ objects ──▶ oracle: its own account, and a checker
//!                                                                    for each guarantee, after every entry
//! ```
//!
//! `run` is the front door. Modules are in reading order.

mod run;

mod faults;
mod plan;

mod dice;
mod trace;

mod coroutine;
mod life;

mod clock;
mod store;
mod world;

mod impostors;
mod latecomers;
mod listers;
mod nodes;
mod operators;
mod outsiders;
mod readers;
mod rows;
mod spoilers;
mod tiny;
mod work;

mod checkers;
mod model;
mod oracle;

mod coverage;
#[cfg(any(feature = "mutants", debug_assertions))]
mod hunt;
mod scenarios;
mod shrink;

pub use coverage::Coverage;
pub use faults::Fault;
#[cfg(any(feature = "mutants", debug_assertions))]
pub use hunt::{Catch, FOUND_SOON, hunt};
pub use oracle::Violation;
pub use run::{Options, Outcome, run};
pub use scenarios::Scenario;
pub use shrink::shrink;
