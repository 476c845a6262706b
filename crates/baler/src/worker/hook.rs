//! In builds for tests only: a file that ends whoever opens it, as a hostile one would.

use baler_core::file::FilePath;

/// Files whose names contain what this says end the process.
const DIES_OF: &str = "BALER_TEST_DIES_OF";

pub(super) fn die_of(path: &FilePath) {
    if std::env::var(DIES_OF).is_ok_and(|name| path.to_string().contains(&name)) {
        std::process::abort();
    }
}
