//! Every bound of the journal and the replica, in one place.

use std::time::Duration;

/// The format level of roots that this code makes, and the highest that it reads. What an entry or a snapshot says of its format is the
/// lowest level at which all that it holds is known.
pub const FORMAT: u32 = 2;

/// Entries between two snapshots.
pub const SNAPSHOT_EVERY: u64 = 500;

/// Entries that are retired together.
pub const BLOCK: u64 = 10_000;

/// Snapshots that are kept: two to stand on, and one that somebody may be reading.
pub const SNAPSHOTS_KEPT: usize = 3;

/// Bytes of an entry once it is decompressed.
pub const ENTRY_BYTES_MAX: usize = 256 << 20;

/// Bytes of JSON after which no further request joins a batch. One decision alone may be larger.
pub const BATCH_BYTES_MAX: usize = 4 << 20;

/// Events after which no further request joins a batch.
pub const BATCH_EVENTS_MAX: usize = 1_000;

/// Requests decided in one group.
pub const GROUP_MAX: usize = 256;

/// Requests waiting for a replica; who comes later waits outside.
pub const QUEUE_MAX: usize = 1_024;

/// Bytes of one record of a snapshot.
pub const RECORD_BYTES_MAX: usize = 64 << 20;

/// Entries read at once when catching up.
pub const READ_AHEAD_MAX: u64 = 16;

/// Tries of one call that fails without a clear answer.
pub const TRIES_MAX: u32 = 4;

/// Tries of one read that gets no clear answer: together a few seconds, as long as a server takes to come back.
pub const READ_TRIES_MAX: u32 = 12;

/// Appends lost in a row before a request is turned away.
pub const CONFLICTS_MAX: u32 = 64;

/// Times a replica starts over because what it read was retired under it.
pub const RELOADS_MAX: u32 = 8;

/// The first wait between two tries; it doubles, with jitter.
pub const BACKOFF_MIN: Duration = Duration::from_millis(5);

/// The longest wait between two tries.
pub const BACKOFF_MAX: Duration = Duration::from_secs(2);

/// How long a replica goes on offering a batch whose outcome is unknown before it gives itself up.
pub const PATIENCE: Duration = Duration::from_secs(300);

/// Writers that race in the probe of a store.
pub const PROBE_WRITERS: usize = 8;

/// Names they race for.
pub const PROBE_NAMES: usize = 24;

/// Writers in a directory, where each write waits for the disk; they race for one name.
pub const PROBE_WRITERS_LOCAL: usize = 4;

const _: () = assert!(SNAPSHOT_EVERY * 2 <= BLOCK, "two snapshots fit in a block");
const _: () = assert!(BATCH_BYTES_MAX < ENTRY_BYTES_MAX);
const _: () = assert!(SNAPSHOTS_KEPT >= 2, "nothing is retired past the last but one");
