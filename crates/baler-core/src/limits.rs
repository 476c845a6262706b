//! Every bound of the state machine, in one place. Relations between them are checked when this compiles.

use crate::time::Millis;

/// Jobs that are planned or running at once, over all tables.
pub const OPEN_JOBS_MAX: usize = 10_000;

/// The same, with the halves of failed jobs: the search for a bad file must go on where the planner stops.
pub const OPEN_JOBS_AND_HALVES_MAX: usize = 2 * OPEN_JOBS_MAX;

/// Jobs beyond `OPEN_JOBS_MAX` for tenants that have none, so that one tenant's full queue is not everybody's.
pub const OPEN_JOBS_RESERVED: usize = 1_000;

/// How long the files of a job that made room are left alone.
pub const SHED_PUT_OFF: Millis = Millis::from_secs(60 * 60);

/// How long a range is left alone after the store failed under it for the first time; twice as long each time.
pub const STORE_BACKOFF_FIRST: Millis = Millis::from_secs(1);

/// How long at most.
pub const STORE_BACKOFF_MAX: Millis = Millis::from_secs(5 * 60);

/// Files that a poll may look at in vain before it is worth an entry that they need not be looked at again.
pub const REST_WORTH_FILES: usize = 256;

/// Partitions in one `PartitionsRested` event.
pub const PARTITIONS_PER_EVENT_MAX: usize = 2_000;

/// Jobs planned for each free slot that a poll reports: what capacity is evidence for.
pub const JOBS_PLANNED_PER_SLOT: usize = 4;

/// Memory of any merge, however small: buffers for reading, encoding and uploading.
pub const MEMORY_BASE_BYTES: u64 = 64 << 20;

/// Memory of a decoded input for each of its bytes on the store.
pub const MEMORY_PER_INPUT_BYTE: u64 = 4;

/// Memory of an input, however small: its footer, and what it is read with.
pub const MEMORY_PER_INPUT: u64 = 16 << 10;

/// What the slots of a worker that are at work keep for what comes after, while another merges with more than its share.
pub const MEMORY_FOR_SMALL_BYTES: u64 = 2 * MEMORY_BASE_BYTES;

/// Finished jobs that the state remembers.
pub const RECENT_JOBS_MAX: usize = 256;

/// Committed jobs that the state remembers whole, so that they can be undone.
pub const COMMITTED_JOBS_MAX: usize = 256;

/// Inputs that these have in all.
pub const COMMITTED_FILES_MAX: usize = 50_000;

/// Committed jobs whose receipts are still to be written. Beyond it, or beyond twice as many inputs, the oldest gets none.
pub const RECEIPTS_DUE_MAX: usize = 1_024;

/// Jobs whose receipts are kept, counted back from the last one planned.
pub const RECEIPTS_KEPT: u64 = 10_000;

/// Jobs whose receipts go at once, so that it is seldom worth an entry.
pub const RECEIPTS_RETIRED_AT_ONCE: u64 = 1_000;

/// Stretches of a finished range that are told apart; of more there is a sum for each way.
pub const STRETCHES_MAX: usize = 32;

/// Ended attempts that a range remembers.
pub const TRIED_MAX: usize = 8;

/// Files in one `FilesAdded` event; larger adoptions take several batches.
pub const FILES_PER_EVENT_MAX: usize = 2_000;

/// Paths in one deletion list.
pub const DELETIONS_PER_EVENT_MAX: usize = 1_000;

/// Input faults after which a job is bisected, or its only file quarantined.
pub const INPUT_FAULTS_MAX: u32 = 2;

/// Processes lost without a word after which a range runs alone, in a child process.
pub const LOSSES_MAX: usize = 2;

/// Levels a file can climb.
pub const LEVEL_MAX: u8 = 7;

/// Inputs of one job.
pub const JOB_INPUTS_MAX: usize = 4_096;

/// Ranges of one job.
pub const RANGES_MAX: usize = 64;

/// Bytes of an edge between two of them.
pub const EDGE_BYTES_MAX: usize = 256;

/// A job's input bytes, as a multiple of the target file size.
pub const JOB_TARGETS_MAX: u64 = 16;

/// Time marks that the state keeps. Dropping one only makes a duration begin later.
pub const TIME_MARKS_MAX: usize = 4_096;

/// How long a replaced or left-over object stays before it is deleted, unless the table says otherwise.
pub const GRACE_DEFAULT: Millis = Millis::from_secs(60 * 60);

/// How long a small file waits for company before it is merged all the same.
pub const AGE_TRIGGER_DEFAULT: Millis = Millis::from_secs(24 * 60 * 60);

/// How long a window of the `time_window` policy is, unless the table says otherwise.
pub const WINDOW_DEFAULT: Millis = Millis::from_secs(60 * 60);

/// How long such a window waits for late rows, unless the table says otherwise.
pub const LATENESS_DEFAULT: Millis = Millis::from_secs(10 * 60);

/// The target size of output files, unless the table says otherwise.
pub const TARGET_BYTES_DEFAULT: u64 = 512 << 20;

/// Rows in an output's row group.
pub const ROW_GROUP_ROWS_DEFAULT: u64 = 1_000_000;

/// Tables under one root, with those that are being dropped.
pub const TABLES_MAX: usize = 1_000;

/// Bytes of a table's name: it is part of every path of its outputs.
pub const TABLE_NAME_BYTES_MAX: usize = 100;

/// Bytes of a format's name: files' names end in it.
pub const FORMAT_NAME_BYTES_MAX: usize = 16;

/// Rules of a table's owner by which rows may go.
pub const OWN_RULES_MAX: usize = 16;

/// Files that one request for retention drops.
pub const EXPIRED_PER_REQUEST_MAX: usize = 10 * FILES_PER_EVENT_MAX;

/// Readers' promises at once, over all tables.
pub const PINS_MAX: usize = 1_000;

/// Bytes of a column's name, a prefix or another text of a table's settings.
pub const SETTING_BYTES_MAX: usize = 1_000;

/// Bytes of a key bound that are kept in the state.
pub const KEY_BOUND_BYTES_MAX: usize = 256;

/// Characters of a reason or an error message that are kept in the state.
pub const REASON_CHARS_MAX: usize = 500;

const _: () = assert!(JOBS_PLANNED_PER_SLOT < OPEN_JOBS_MAX);
const _: () = assert!(OPEN_JOBS_AND_HALVES_MAX > OPEN_JOBS_MAX + OPEN_JOBS_RESERVED);
const _: () = assert!(STORE_BACKOFF_FIRST.0 < STORE_BACKOFF_MAX.0);
const _: () = assert!(JOB_INPUTS_MAX >= 2);
const _: () = assert!(COMMITTED_JOBS_MAX < RECEIPTS_DUE_MAX && JOB_INPUTS_MAX < COMMITTED_FILES_MAX);
const _: () = assert!(RECEIPTS_DUE_MAX < RECEIPTS_KEPT as usize);
const _: () = assert!(JOB_TARGETS_MAX >= 2);
const _: () = assert!(RANGES_MAX >= 2 && RANGES_MAX <= u32::MAX as usize);
