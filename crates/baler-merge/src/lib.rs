//! Merges Parquet files into few, large, sorted ones, within a memory budget, and proves that no row was lost or doubled.
//!
//! The engine knows no jobs, no journal and no store: inputs, a spec and a budget go in, outputs and a report come out.
//! Everything is synchronous; call it from a thread that may block.
//!
//! ```text
//! Input ──▶ footer, or all of a small file ──▶ checks ──▶ one schema                                    (open_all, schema)
//!
//! paths, for each stretch of key space:
//!   overlaps nothing, as its keys show ──▶ pages copied or stitched, sealed on both sides ────────────────▶ Output
//!   the rest ──▶ row by row:
//!
//! intake, input by input, on all threads:
//!   decode ▶ digest ▶ codes of the job's dictionaries ▶ in order? else sort a pile ──▶ lanes on the shelf
//!                                                                                         │ in memory, then on disk
//! order, from the key columns of all lanes:                                               │
//!   lanes ──▶ runs (lane, rows, kept or dropped) ──▶ sieve ──▶ windows, a row group each   ◀┤
//!                                 └── older versions, deleted, expired ▶ digest            │
//! columns, window × column, on all threads:                                               │
//!   gather by runs ▶ digest ▶ encode ▶ pack ──▶ row groups, in order ──▶ Output           ◀┘
//!
//! Report::prove:  Σ digests of inputs = Σ digests of outputs + Σ digests of drops,  rows read = rows in footers, each once (if not cut),
//!                 Σ seals of copied pages as read = as written
//! ```
//!
//! Every input is decoded once, and then its file is not needed any more. The order comes from the key columns alone; then each
//! column is gathered, hashed and encoded by itself. So memory is a batch of each input in work, a column of a window on each
//! thread, some keys of each lane, and as much of the shelf as the budget allows: none of it grows with the inputs, and
//! however many there are, they are merged at once.
//!
//! Rows with equal sort key come out in the order of their inputs, within an input in file order: a lane is a stretch of one
//! input, and lanes are numbered in that order. So the rows of the outputs and their order depend on inputs and spec only, not
//! on budget or threads. Rules judge a key when every version of it is there. Watermarks are absolute and part of the
//! spec; the engine reads no clock.
//!
//! The two sides of the proof are apart: rows are hashed as the decoder gave them, and hashed again, column by column, as
//! the encoder is handed them. Dropped rows count with the hash that they came in with. The order is looked at again in the
//! key columns as they are written.
//!
//! A large job can be cut into key ranges (`cut_job`), each merged apart (`merge_range`). An edge is a byte string that parts encoded keys,
//! so every key lies in one range: statistics and page indexes say only what need not be read, and each row that is decoded is judged by
//! its own key. Under a keyed rule the key alone is cut. Row groups wholly inside are copied or stitched as ever, those across an edge are
//! merged. Reports of all ranges add up to that of the uncut job, and it is the caller who adds.
//!
//! Reads are few, because on an object store each is a request: one for a footer (two if it is long), one for a file of up to
//! 4 MiB as far as the budget can hold them, and one for a row group whose columns fit into their windows; inputs are opened
//! sixteen at once.
//!
//! Modules in reading order: what is asked for (`spec`, `row_time`, `io`), what is given back (`report`, `proved`, `digest`, `positions`, `error`), how a
//! file is opened (`open_all`, `held`, `thrift`, `footer`, `descriptions`, `page_claims`, `windows`, `decode`), how inputs are made one (`promote`, `schema`,
//! `adapt`), how a job is cut (`key_span`, `cut_job`), what is said of it beforehand (`plan_job`) and what a range needs of its inputs (`narrowing`, `page_places`, `page_statistics`), how memory is shared out (`plan`), how rows are taken in (`intake`, `shelf`), how they are ordered (`order`), and
//! what becomes of them (`sieve`, `columns`, `settings`, `outline`, `roll`, `write`). What goes past the merge: `paths` (who may) and
//! `stitch` (how), on Parquet pages by ourselves (`pages`, `group`). What is known before any key was looked at is in `outset`, the flow in `merge`; `stretch` is its half that goes row by row, and
//! `tally` adds up for the report.

mod error;
mod io;
mod spec;

mod digest;
mod positions;
mod proved;
mod report;
mod row_hash;
mod row_time;

mod asked_types;
mod at_once;
mod decode;
mod descriptions;
mod footer;
mod held;
mod limits;
mod open_all;
mod page_claims;
mod page_places;
mod thrift;
mod windows;

mod adapt;
mod memory;
mod promote;
mod schema;

mod context;
mod intake;
mod order;
mod plan;
mod shelf;
mod sort_key;

mod columns;
mod crew;
mod group;
mod key_range;
mod key_span;
mod page_statistics;
mod pages;
mod paths;
mod roll;
mod settings;
mod sieve;
mod statistics;
mod stitch;
mod write;

mod choose_order;
mod cut_job;
#[cfg(debug_assertions)]
mod hook;
mod inspect;
mod merge;
mod narrowing;
mod outline;
mod outset;
mod plan_job;
mod stretch;
mod tally;

pub use at_once::alone;
pub use cut_job::cut_job;
pub use digest::Digest;
pub use error::{FileError, MergeError};
pub use inspect::{Asked, ColumnFacts, Facts, digest_of, inspect};
pub use io::{Input, LocalFile, MemoryFile, Output, OutputSink, Progress, Unwatched};
pub use key_range::KeyRange;
pub use key_span::KeySpan;
pub use merge::{merge, merge_range};
pub use plan_job::{PlannedRange, PlannedStretch, plan_job};
pub use positions::Positions;
pub use proved::{ProvedStretch, Way};
pub use report::{Copied, DELETED, Dropped, EXPIRED, InputReport, OLDER_VERSION, OutputReport, Report, Ways};
pub use row_hash::RowHash;
pub use row_time::{EpochUnit, RowTime, RowTimes, TimeColumn};
pub use spec::{Budget, Codec, Deleted, Expire, MergeSpec, Rule, SortColumn};
