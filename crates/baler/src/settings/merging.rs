//! How files are merged: sort key, rule, sizes, grace.

#[cfg(feature = "cli")]
mod flags;

use baler_core::limits;
use baler_core::table::{MergeSpec, Rule, SortColumn, Verify};
use baler_core::time::Millis;

/// Files below this are not worth having.
pub const TARGET_BYTES_MIN: u64 = 64 << 10;

/// What the user said about merging.
#[derive(Clone, Debug, Default)]
pub struct MergeSettings {
    /// The order of the outputs.
    pub(super) sort: Option<Vec<SortColumn>>,
    /// Which rows stay.
    pub(super) rule: Option<Rule>,
    /// Size of the files to write.
    pub(super) target_bytes: Option<u64>,
    /// How long replaced files stay.
    pub(super) grace: Option<Millis>,
    /// What is asked of outputs before they count.
    pub(super) verify: Option<Verify>,
}

impl MergeSettings {
    /// The spec of a table that begins now.
    pub(super) fn fresh(&self) -> MergeSpec {
        MergeSpec {
            sort: self.sort.clone().unwrap_or_default(),
            rule: self.rule.clone().unwrap_or_default(),
            target_bytes: self.target_bytes.unwrap_or(limits::TARGET_BYTES_DEFAULT),
            verify: self.verify.unwrap_or_default(),
            ..MergeSpec::default()
        }
    }

    /// A known spec, with what was said now.
    pub(super) fn applied_to(&self, known: &MergeSpec) -> MergeSpec {
        MergeSpec {
            sort: self.sort.clone().unwrap_or_else(|| known.sort.clone()),
            rule: self.rule.clone().unwrap_or_else(|| known.rule.clone()),
            target_bytes: self.target_bytes.unwrap_or(known.target_bytes),
            verify: self.verify.unwrap_or(known.verify),
            ..known.clone()
        }
    }

    /// The first flag that was given, if any.
    pub(super) fn said(&self) -> Option<&'static str> {
        match self {
            Self { rule: Some(_), .. } => Some("--key"),
            Self { sort: Some(_), .. } => Some("--sort-by"),
            Self {
                target_bytes: Some(_),
                ..
            } => Some("--target-size"),
            Self { grace: Some(_), .. } => Some("--grace"),
            Self { verify: Some(_), .. } => Some("--verify"),
            _ => None,
        }
    }
}
