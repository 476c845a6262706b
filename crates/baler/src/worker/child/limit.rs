//! How much memory a child may take. Past it an allocation fails, which ends the child and nobody else.
//!
//! Linux counts under `RLIMIT_DATA` what a process may write to, touched or not: heap, mappings, the stacks of its
//! threads. So the limit is the merge's budget with room for what is counted beyond it.

/// Whether this system keeps a process within the limit.
pub(super) const IS_KEPT: bool = cfg!(target_os = "linux");

/// What a child takes that grows with its budget, as parts of 16: memory that was given back and that the allocator keeps.
const SIXTEENTHS: u64 = 24;

/// What a child takes whatever it merges: code that was relocated, stacks, the heaps of its threads, a page that unpacks to more
/// than its share of the budget.
const ROOM_BYTES: u64 = 384 << 20;

/// What a thread takes beside its share: its stack, and a heap of its own.
const THREAD_BYTES: u64 = 24 << 20;

/// What a child may take that merges within a budget; nothing where that cannot be limited.
pub(super) fn limit_for(memory_bytes: u64, threads: usize) -> Option<u64> {
    let grown = memory_bytes.saturating_mul(SIXTEENTHS) / 16;
    let threads = THREAD_BYTES.saturating_mul(threads as u64);
    IS_KEPT.then(|| grown.saturating_add(threads).saturating_add(ROOM_BYTES))
}

/// Limits this process. What it has taken by now counts too.
#[cfg(target_os = "linux")]
pub(super) fn keep_within(bytes: u64) -> anyhow::Result<()> {
    use anyhow::Context as _;
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    // A limit that somebody else has set may be lower, and is not to be raised.
    let least = |set: Option<u64>| Some(set.map_or(bytes, |set| set.min(bytes)));
    let set = getrlimit(Resource::Data);
    let limit = Rlimit {
        current: least(set.current),
        maximum: least(set.maximum),
    };
    setrlimit(Resource::Data, limit).context("its memory cannot be limited")
}

/// Nothing is limited here, and nobody was told so.
#[cfg(not(target_os = "linux"))]
pub(super) fn keep_within(_bytes: u64) -> anyhow::Result<()> {
    Ok(())
}
