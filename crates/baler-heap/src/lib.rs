//! Tells the system's allocator how a process uses memory that merges one job after another.
//!
//! glibc gives threads arenas of their own, eight for each core, and what is freed in one serves no other: a process whose jobs begin and end
//! their threads keeps several times what it ever used at once. It also maps and unmaps every large buffer, which is then cleared by the
//! system page by page, until it has seen enough of them. With few arenas and a fixed line between large and small, a merge of
//! 10,000 inputs peaks at a third of the memory, and merges take less CPU; docs/performance.md has the figures.
//!
//! The crate has one `unsafe` block: `mallopt` is a C function, and nobody offers it as a safe one. Other allocators were
//! tried instead and kept more (docs/decisions/0019-few-arenas.md). Elsewhere than on glibc nothing is done.

/// Settles how memory is shared out. For the first line of `main`: threads that are there already keep their arenas.
///
/// Whoever set the allocator up from outside, by `GLIBC_TUNABLES` or a variable that begins with `MALLOC_`, is not overruled.
pub fn settle() {
    let set_up = std::env::vars_os().any(|(name, _)| {
        let name = name.to_string_lossy();
        name == "GLIBC_TUNABLES" || name.starts_with("MALLOC_")
    });
    if !set_up {
        imp::settle();
    }
}

#[cfg(all(target_os = "linux", target_env = "gnu"))]
mod imp {
    use std::thread::available_parallelism;

    /// Threads that share an arena. They wait for each other, but allocate seldom: a merge works on batches.
    const THREADS_OF_ARENA: usize = 4;
    /// What is larger is mapped by itself, and unmapped when it is freed.
    const MAPPED_BYTES_MIN: i32 = 4 << 20;
    /// So much may lie free at the end of the heap.
    const FREE_BYTES_MAX: i32 = 32 << 20;

    pub(super) fn settle() {
        let threads = available_parallelism().map_or(1, |threads| threads.get());
        let arenas = i32::try_from(threads.div_ceil(THREADS_OF_ARENA)).unwrap_or(i32::MAX);
        for (setting, value) in [
            (libc::M_ARENA_MAX, arenas),
            (libc::M_MMAP_THRESHOLD, MAPPED_BYTES_MIN),
            (libc::M_TRIM_THRESHOLD, FREE_BYTES_MAX),
        ] {
            set(setting, value);
        }
    }

    #[expect(unsafe_code, reason = "there is no safe way to this function")]
    fn set(setting: i32, value: i32) {
        // SAFETY: it takes two numbers by value and changes settings of the allocator under the allocator's own lock; a setting that
        // it does not know or take is refused by its answer, and then all stays as it was.
        let _taken_or_not = unsafe { libc::mallopt(setting, value) };
    }
}

#[cfg(not(all(target_os = "linux", target_env = "gnu")))]
mod imp {
    pub(super) fn settle() {}
}
