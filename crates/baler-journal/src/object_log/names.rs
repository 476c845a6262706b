//! Where things lie below the root.
//!
//! ```text
//! _baler/format/1                            the root's format level; a higher one appears by `baler upgrade`
//! _baler/probed/<endpoint>                   the store was seen to keep its promises through this endpoint
//! _baler/journal/00000000000000000042        one entry each
//! _baler/snapshots/00000000000000000500      the state after that entry
//! _baler/boundary/00000000000000000000       block 0 (entries 1 to 9,999) is retired
//! _baler/probe/<random>/<n>                  objects of a probe under way
//! ```

use baler_core::ids::Sequence;
use baler_core::names::BALER_FOLDER;

use crate::checksum::Checksum;

pub(crate) const JOURNAL: &str = "journal";
pub(crate) const SNAPSHOTS: &str = "snapshots";
pub(crate) const BOUNDARY: &str = "boundary";
pub(crate) const FORMAT_LEVELS: &str = "format";

/// A folder of the log.
pub(crate) fn folder(name: &str) -> String {
    format!("{BALER_FOLDER}/{name}")
}

/// 20 digits, so that the order of names is the order of numbers.
pub(crate) fn numbered(folder: &str, number: u64) -> String {
    format!("{BALER_FOLDER}/{folder}/{number:020}")
}

pub(crate) fn entry(sequence: Sequence) -> String {
    numbered(JOURNAL, sequence.0)
}

pub(crate) fn snapshot(at: Sequence) -> String {
    numbered(SNAPSHOTS, at.0)
}

pub(crate) fn boundary(block: u64) -> String {
    numbered(BOUNDARY, block)
}

pub(crate) fn format_level(level: u32) -> String {
    format!("{BALER_FOLDER}/{FORMAT_LEVELS}/{level}")
}

pub(crate) fn probed(endpoint: &str) -> String {
    format!("{BALER_FOLDER}/probed/{}", Checksum::of(endpoint.as_bytes()))
}

pub(crate) fn probe(round: Checksum, name: usize) -> String {
    format!("{BALER_FOLDER}/probe/{round}/{name}")
}

/// The number at the end of a name of ours; `None` for anything else that lies there.
pub(crate) fn number(path: &str) -> Option<u64> {
    let name = path.rsplit('/').next()?;
    let digits = name.len() == 20 && name.bytes().all(|byte| byte.is_ascii_digit());
    digits.then(|| name.parse().ok())?
}
