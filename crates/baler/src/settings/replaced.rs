//! What becomes of replaced files in a bucket, where the user said so.

use baler_core::table::Replaced;

#[cfg(feature = "cli")]
use super::Usage;
#[cfg(feature = "cli")]
use crate::cli::ReplacedArgs;

/// What the user said about replaced files.
#[derive(Clone, Debug, Default)]
pub struct ReplacedSettings {
    /// What becomes of them.
    pub wanted: Option<Replaced>,
    /// No name in the bucket is ever used twice.
    pub names_once: bool,
}

impl ReplacedSettings {
    #[cfg(feature = "cli")]
    pub(super) fn check(args: &ReplacedArgs) -> Result<Self, Usage> {
        let keep = args.keep_inputs.as_deref().map(kept_below).transpose()?;
        let leave = args.leave_inputs.then_some(Replaced::Remember);
        Ok(Self {
            wanted: keep.or(leave),
            names_once: args.names_never_reused,
        })
    }

    /// The first flag that was given, if any.
    pub(super) fn said(&self) -> Option<&'static str> {
        match (&self.wanted, self.names_once) {
            (Some(Replaced::Remember), _) => Some("--leave-inputs"),
            (Some(_), _) => Some("--keep-inputs"),
            (None, true) => Some("--names-never-reused"),
            (None, false) => None,
        }
    }
}

/// What is kept must not be found by those who list the root.
#[cfg(feature = "cli")]
fn kept_below(prefix: &str) -> Result<Replaced, Usage> {
    let trimmed = prefix.trim_matches('/');
    let plain = trimmed.split('/').all(|part| !matches!(part, "" | "." | ".."));
    let hidden = trimmed.starts_with(['_', '.']);
    if !plain || !hidden || trimmed.split('/').next() == Some("_baler") {
        return Err(Usage(format!(
            "--keep-inputs {prefix}: give a folder below the root whose name begins with `_`, like `_replaced`, so that \
             nobody reads the replaced files as data"
        )));
    }
    Ok(Replaced::Keep {
        prefix: trimmed.into(),
    })
}
