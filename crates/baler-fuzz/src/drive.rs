//! A driver without coverage, for where libFuzzer cannot be built and for tests: mutates the files of a corpus, by a seed.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rand::rngs::SmallRng;
use rand::seq::IndexedRandom;
use rand::{RngExt, SeedableRng};

use crate::Target;

/// Longer inputs find nothing that shorter ones do not, and are slower.
const INPUT_BYTES_MAX: usize = 64 << 10;

/// How often an input is changed at most before it is run.
const CHANGES_MAX: u32 = 8;

/// Numbers at which something ends.
const EDGES: [u64; 8] = [0, 1, 0x7f, 0x80, 0xff, 0x7fff_ffff, 0xffff_ffff, u64::MAX >> 1];

/// What a drive came to.
#[derive(Clone, Copy, Debug, Default)]
pub struct Driven {
    /// Inputs that were run.
    pub executions: u64,
    /// For how long.
    pub took: Duration,
}

/// The files of a target's corpus, in order.
pub fn files_of(corpus: &Path, target: &Target) -> io::Result<Vec<(PathBuf, Vec<u8>)>> {
    let mut found = Vec::new();
    for entry in fs::read_dir(corpus.join(target.name))? {
        let path = entry?.path();
        let bytes = fs::read(&path)?;
        found.push((path, bytes));
    }
    found.sort();
    Ok(found)
}

/// Runs mutated inputs until time or number is up. Each input is handed to `before` first, so that one which ends the process is known.
pub fn drive(
    target: &Target,
    corpus: &[Vec<u8>],
    seed: u64,
    (executions_max, time): (u64, Duration),
    mut before: impl FnMut(&[u8]),
) -> Driven {
    let (mut random, began) = (SmallRng::seed_from_u64(seed), Instant::now());
    let mut driven = Driven::default();
    while driven.executions < executions_max && began.elapsed() < time {
        let input = mutated(corpus, &mut random);
        before(&input);
        (target.run)(&input);
        driven.executions += 1;
    }
    driven.took = began.elapsed();
    driven
}

fn mutated(corpus: &[Vec<u8>], random: &mut SmallRng) -> Vec<u8> {
    let mut bytes = corpus.choose(random).cloned().unwrap_or_default();
    for _ in 0..random.random_range(1..=CHANGES_MAX) {
        change(&mut bytes, corpus, random);
    }
    bytes.truncate(INPUT_BYTES_MAX);
    bytes
}

fn change(bytes: &mut Vec<u8>, corpus: &[Vec<u8>], random: &mut SmallRng) {
    if bytes.is_empty() {
        bytes.push(random.random());
        return;
    }
    let at = random.random_range(0..bytes.len());
    let end = (at + random.random_range(1..=16)).min(bytes.len());
    match random.random_range(0..8) {
        0 => bytes[at] ^= 1 << random.random_range(0..8),
        1 => bytes[at] = random.random(),
        2 => drop(bytes.drain(at..end)),
        3 => {
            let part = bytes[at..end].to_vec();
            bytes.splice(at..at, part);
        }
        4 => bytes.truncate(at),
        5 => {
            let edge = EDGES.choose(random).copied().unwrap_or_default();
            let mut varint = Vec::new();
            push_varint(edge, &mut varint);
            bytes.splice(at..end.min(at + 1), varint);
        }
        6 => {
            let edge = EDGES.choose(random).copied().unwrap_or_default();
            let digits = edge.to_string().into_bytes();
            bytes.splice(at..end.min(at + 1), digits);
        }
        _ => {
            let other = corpus.choose(random).cloned().unwrap_or_default();
            let from = random.random_range(0..=other.len());
            bytes.truncate(at);
            bytes.extend_from_slice(&other[from..]);
        }
    }
}

fn push_varint(mut value: u64, into: &mut Vec<u8>) {
    while value >= 0x80 {
        into.push(value as u8 | 0x80);
        value >>= 7;
    }
    into.push(value as u8);
}
