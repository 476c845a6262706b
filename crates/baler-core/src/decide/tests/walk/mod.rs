//! A random walk: watchers, workers, collectors, readers and outsiders do what they like, in any order, with lost and
//! late messages. After each step the oracle looks at the disk, not at the product's own idea of it. Then faults stop,
//! and nothing may be left over.

mod catalog;
mod collectors;
mod mutants;
mod oracle;
mod outsiders;
#[cfg(any(feature = "mutants", debug_assertions))]
mod planted;
mod rest;
mod undoers;
mod workers;
mod world;

use super::fixtures::{NATIVE, OUTPUT, PLACE, REMEMBERING, STORE};
use crate::decide::{Decision, decide};
use crate::request::Request;
use crate::state::State;
use crate::time::Millis;
use world::World;

/// Decides as the product does, or a little wrong.
type Decide = fn(&State, &Request) -> Decision;

/// What is wrong with the world, in words.
type Verdict = Result<(), String>;

const TABLES: [&str; 6] = [NATIVE, PLACE, OUTPUT, STORE, REMEMBERING, EXTERNAL];
/// A table whose truth is elsewhere.
const EXTERNAL: &str = "external";
/// How long the rows of the native table are kept.
const RETENTION: Millis = Millis(40_000);
const STEPS: usize = 400;

/// Walks, and then rests.
fn walk(seed: u64, decide: Decide) -> Verdict {
    let mut world = World::new(seed, decide);
    for step in 0..STEPS {
        world
            .step()
            .map_err(|wrong| format!("seed {seed}, step {step}: {wrong}"))?;
    }
    world
        .come_to_rest()
        .map_err(|wrong| format!("seed {seed}, at rest: {wrong}"))
}

impl World {
    fn step(&mut self) -> Verdict {
        match self.any(37) {
            0..=2 => self.outsider_acts(),
            3..=4 => self.somebody_looks(),
            5..=7 => self.somebody_reports(),
            8..=9 => self.somebody_plans(),
            10..=11 => self.somebody_polls(),
            12..=18 => self.worker_acts(),
            19 => self.attempt_is_released(),
            20 => self.watchers_act(),
            21..=22 => self.collector_acts(),
            23 => self.collector_sweeps(),
            24 => self.time_passes(),
            25 => self.reader_acts(),
            26 => self.operator_acts(),
            27 => self.retention_is_applied(),
            28..=32 => self.committer_acts(),
            33..=35 => self.undoer_acts(),
            _ => self.close_entry(),
        }
    }
}

#[test]
fn no_walk_loses_or_doubles_a_row_or_leaves_anything_behind() {
    for seed in 0..120 {
        if let Err(wrong) = walk(seed, decide) {
            panic!("{wrong}");
        }
    }
}
