//! In builds for tests only: files that harm whoever merges them, as hostile ones would.

use std::hint::black_box;
use std::process::abort;

use baler_core::job::Job;

/// Files whose names contain what this says end the process.
const DIES_OF: &str = "BALER_TEST_DIES_OF";

/// If this is set, files do what their names say.
const HARMED: &str = "BALER_TEST_HARMED";

/// What is asked for at once: more than any child may take.
const GREED_BYTES: usize = 64 << 30;

pub(super) fn harm_by(job: &Job) {
    let dies_of = std::env::var(DIES_OF).ok();
    let harmed = std::env::var_os(HARMED).is_some();
    for file in &job.inputs {
        let name = file.path.to_string();
        if dies_of.as_ref().is_some_and(|poison| name.contains(poison)) {
            abort();
        }
        if harmed {
            harm(&name);
        }
    }
}

fn harm(name: &str) {
    if name.contains("takes-all-memory") {
        let hoard: Vec<u8> = Vec::with_capacity(GREED_BYTES);
        // Where it was given, the system would end the process as soon as it is used.
        abort_with(&hoard);
    }
    if name.contains("overflows-the-stack") {
        black_box(deep(1));
    }
    if name.contains("panics") {
        panic!("a file had it panic");
    }
    while name.contains("never-ends") {
        black_box(());
    }
    while name.contains("waits-for-ever") {
        std::thread::sleep(std::time::Duration::from_secs(1));
    }
}

fn abort_with(hoard: &[u8]) -> ! {
    black_box(hoard);
    abort()
}

#[expect(unconditional_recursion, reason = "that is the harm")]
fn deep(depth: u64) -> u64 {
    let frame = black_box([depth; 64]);
    deep(depth + 1) + black_box(frame)[0]
}
