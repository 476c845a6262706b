//! Many processes on one root: coordinators, workers of theirs, and workers with nothing but the folder. Any of them may be
//! killed at any time.

mod clocks;
mod failover;
mod fencing;
mod poison;
mod processes;
mod ranges;
mod receipts;
mod resume;
mod roots;
mod routes;
mod seeing;
mod shapes;
mod zombies;

pub(crate) use processes::{Fleet, Process, wait_until};
