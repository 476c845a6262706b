//! In builds for tests only: a process that dies after a commit, before it has written the receipt.

/// Set, whoever would write receipts dies instead.
const DIES_BEFORE: &str = "BALER_TEST_DIES_BEFORE_RECEIPTS";

pub(super) fn die_before_receipts() {
    if std::env::var_os(DIES_BEFORE).is_some() {
        std::process::abort();
    }
}
