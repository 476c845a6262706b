//! Opens all inputs of a merge: many reads at once, small inputs whole, as far as the budget goes.

use crate::at_once::at_once;
use crate::decode::OpenFile;
use crate::descriptions::Descriptions;
use crate::error::{FileError, MergeError};
use crate::io::{Input, Progress};
use crate::key_span::KeySpan;
use crate::limits::{FOOTER_GUESS_BYTES, READS_AT_ONCE, SMALL_FILE_BYTES};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Which inputs are read whole when they are opened.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Holding {
    /// Those that are no longer than this.
    pub(crate) small_bytes_max: u64,
    /// As many as this holds.
    pub(crate) all_bytes_max: usize,
}

impl Holding {
    /// Footers only.
    pub(crate) const NOTHING: Holding = Holding {
        small_bytes_max: 0,
        all_bytes_max: 0,
    };

    /// What a merge holds within this many bytes. A range may meet few of its inputs, so it holds those only that cost no more to read
    /// than their footers.
    pub(crate) fn within(bytes: usize, range: &KeySpan) -> Self {
        Self {
            small_bytes_max: match range.is_all() {
                true => SMALL_FILE_BYTES,
                false => FOOTER_GUESS_BYTES,
            },
            all_bytes_max: bytes,
        }
    }
}

/// Of inputs that are not to be held only the footer is read.
pub(crate) fn open_all(
    inputs: &[Arc<dyn Input>],
    holding: Holding,
    progress: &dyn Progress,
) -> Result<Vec<OpenFile>, MergeError> {
    if inputs.is_empty() {
        return Err(MergeError::Spec(
            "there is nothing to merge: give at least one input".into(),
        ));
    }
    let held = choose_held(inputs, holding);
    let (stop, known) = (AtomicBool::new(false), Descriptions::default());
    let opened = at_once(inputs.len(), READS_AT_ONCE, |index| {
        if stop.load(Ordering::Relaxed) || progress.cancelled() {
            return Err(FileError::Cancelled);
        }
        let opened = OpenFile::open(&inputs[index], held[index], &known);
        if matches!(opened, Err(FileError::Read(_))) {
            stop.store(true, Ordering::Relaxed);
        }
        progress.advanced(0, 1);
        opened
    });
    sort_out(inputs, opened)
}

/// The first inputs that are small, as many as fit.
fn choose_held(inputs: &[Arc<dyn Input>], holding: Holding) -> Vec<bool> {
    let mut left = holding.all_bytes_max as u64;
    let fits = |input: &Arc<dyn Input>| {
        let fits = input.len() <= holding.small_bytes_max.min(left);
        left -= if fits { input.len() } else { 0 };
        fits
    };
    inputs.iter().map(fits).collect()
}

/// All bad files are named at once, so that the caller need not try for each; a store that failed comes first.
fn sort_out(
    inputs: &[Arc<dyn Input>],
    opened: Vec<Result<OpenFile, FileError>>,
) -> Result<Vec<OpenFile>, MergeError> {
    let (mut files, mut culprits, mut reasons, mut cancelled) = (Vec::new(), Vec::new(), Vec::new(), false);
    for (index, opened) in opened.into_iter().enumerate() {
        match opened {
            Ok(file) => files.push(file),
            Err(FileError::Refused(reason)) => {
                culprits.push(index);
                reasons.push(format!("{}: {reason}", inputs[index].name()));
            }
            Err(FileError::Cancelled) => cancelled = true,
            Err(failed) => return Err(failed.of_input(index)),
        }
    }
    if cancelled {
        return Err(MergeError::Cancelled);
    }
    match culprits.is_empty() {
        true => Ok(files),
        false => Err(MergeError::Input {
            culprits,
            reason: reasons.join("; "),
        }),
    }
}
