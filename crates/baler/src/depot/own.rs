//! Which names are Baler's own, so that the name alone is enough to delete what has it.

use baler_core::file::{FilePath, Place};
use baler_core::ids::JournalId;
use baler_core::names::{OutputName, is_data_path};

const STAGING: &str = "_baler/staging/";

/// Whether an attempt of this journal named it: a staged file, or an output under its final name.
pub(crate) fn is_own_name(path: &FilePath, journal: JournalId) -> bool {
    let is_output = || {
        let output = OutputName::parse(path.name());
        is_data_path(&path.path) && output.is_some_and(|output| output.journal == journal)
    };
    path.place == Place::Root && (path.path.starts_with(STAGING) || is_output())
}
