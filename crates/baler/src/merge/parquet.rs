//! Baler's own format: the Parquet engine behind the interface that formats of others have too.

use std::io::{self, Write};
use std::sync::Arc;

use baler_core::file::Digest;
use baler_core::job::{Copied, Dropped, InputRead, Job};
use baler_core::positions::Positions;
use baler_core::table::MergeSpec;
#[cfg(feature = "cli")]
use baler_core::table::Verify;
use baler_journal::host;
use baler_merge::{Budget, FileError, MergeError, OutputSink, Progress, Report, Unwatched};

use super::{Merge, MergeFault, Merged, Ways, Work, Written};
use crate::depot::{Input, Output};
use crate::spec;

/// Merges Parquet files.
#[derive(Clone, Copy, Debug, Default)]
pub struct ParquetMerge;

impl ParquetMerge {
    /// Which way the rows of a job would go if it were cut into so many ranges, and each were merged with so much of a machine. Reads
    /// footers; blocks.
    #[cfg(feature = "cli")]
    pub(crate) fn foresee(
        job: &Job,
        inputs: &[Arc<dyn Input>],
        ranges: usize,
        budget: Budget,
    ) -> Result<Vec<baler_merge::PlannedRange>, MergeFault> {
        let spec = baler_merge::MergeSpec {
            decode_all: job.merge.verify == Verify::Reread,
            ..spec::for_engine(job)
        };
        let inputs = for_engine(inputs);
        Ok(in_turn(|| baler_merge::plan_job(&inputs, &spec, ranges, budget))?)
    }
}

impl Merge for ParquetMerge {
    fn format(&self) -> &str {
        MergeSpec::PARQUET
    }

    fn edges(&self, job: &Job, inputs: &[Arc<dyn Input>], ranges: usize) -> Result<Vec<Vec<u8>>, MergeFault> {
        let (inputs, spec) = (for_engine(inputs), spec::for_engine(job));
        let spans = in_turn(|| baler_merge::cut_job(&inputs, &spec, ranges))?;
        Ok(spans.into_iter().filter_map(|span| span.until).collect())
    }

    fn merge(&self, work: &Work<'_>) -> Result<Merged, MergeFault> {
        let spill = work.scratch().map_err(|source| MergeFault::Node {
            doing: "making room for rows on disk",
            source,
        })?;
        let budget = Budget {
            memory_bytes: work.memory_bytes,
            threads: work.threads,
        };
        let spec = baler_merge::MergeSpec {
            decode_all: work.reread,
            ..spec::for_engine(work.job)
        };
        let merge = || {
            baler_merge::merge_range(
                &for_engine(work.inputs),
                &spec,
                &spec::span_for_engine(work.span),
                budget,
                spill.path(),
                &mut Outputs(*work),
                &Watched(*work),
            )
        };
        let report = in_turn(merge)?;
        Ok(merged(&report))
    }

    fn reread(
        &self,
        spec: &MergeSpec,
        output: &Arc<dyn Input>,
        memory_bytes: u64,
    ) -> Option<Result<(u64, Digest), MergeFault>> {
        let budget = Budget {
            memory_bytes,
            threads: 1,
        };
        let output = spec::input_for_engine(output.clone());
        let hash = spec::hash_for_engine(spec.hash);
        let found = in_turn(|| baler_merge::digest_of(&output, hash, budget, &Unwatched));
        Some(match found {
            Ok((rows, digest)) => Ok((rows, spec::digest_of(digest))),
            Err(error) => Err(of_output(error)),
        })
    }
}

/// What is read back is the only file there is.
fn of_output(error: FileError) -> MergeFault {
    match error {
        FileError::Refused(reason) => MergeFault::Input {
            culprits: vec![],
            reason,
        },
        FileError::Read(source) => MergeFault::Read { input: 0, source },
        FileError::Cancelled => MergeFault::Cancelled,
    }
}

/// In a simulator nothing happens at once.
fn in_turn<T>(work: impl FnOnce() -> T) -> T {
    match host::is_simulated() {
        true => baler_merge::alone(work),
        false => work(),
    }
}

fn for_engine(inputs: &[Arc<dyn Input>]) -> Vec<Arc<dyn baler_merge::Input>> {
    inputs.iter().cloned().map(spec::input_for_engine).collect()
}

struct Outputs<'a>(Work<'a>);

impl OutputSink for Outputs<'_> {
    fn create(&mut self, part: u32) -> io::Result<Box<dyn baler_merge::Output>> {
        Ok(Box::new(EngineOutput(self.0.create(part)?)))
    }
}

struct EngineOutput(Box<dyn Output>);

impl Write for EngineOutput {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.write(bytes)
    }
    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

impl baler_merge::Output for EngineOutput {
    fn finish(self: Box<Self>) -> io::Result<()> {
        self.0.finish()
    }
}

struct Watched<'a>(Work<'a>);

impl Progress for Watched<'_> {
    fn advanced(&self, rows: u64, _decoded_bytes: u64) {
        self.0.advanced(rows);
    }
    fn cancelled(&self) -> bool {
        self.0.is_cancelled()
    }
}

impl From<MergeError> for MergeFault {
    fn from(error: MergeError) -> Self {
        match error {
            MergeError::Input { culprits, reason } => Self::Input { culprits, reason },
            MergeError::Read { input, source } => Self::Read { input, source },
            MergeError::Node { doing, source } => Self::Node { doing, source },
            MergeError::Cancelled => Self::Cancelled,
            MergeError::Spec(error) => Self::Spec(error),
            MergeError::Proof(error) => Self::Proof(error),
        }
    }
}

fn merged(report: &Report) -> Merged {
    let outputs = report.outputs.iter().map(|output| Written {
        part: output.part,
        bytes: output.bytes,
        rows: output.rows,
        copied: output.rows_copied,
        digest: spec::digest_of(output.digest),
        checksum: Digest(output.checksum),
        keys: output.keys.as_ref().map(spec::key_range_of),
        times: output.times.map(spec::times_of),
    });
    let reads = report.inputs.iter().map(|input| InputRead {
        rows: input.rows_read,
        copied: input.rows_copied,
        digest: spec::digest_of(input.digest),
        positions: Some(Positions::from_number(input.positions.number())),
    });
    let drops = report.drops.iter().map(|dropped| Dropped {
        rule: spec::rule_of(dropped.rule).into(),
        rows: dropped.rows,
        digest: spec::digest_of(dropped.digest),
    });
    Merged {
        outputs: outputs.collect(),
        reads: reads.collect(),
        drops: drops.filter(|drop| drop.rows > 0).collect(),
        copied: (report.copied.rows > 0).then(|| Copied {
            rows: report.copied.rows,
            read: spec::digest_of(report.copied.read),
            written: spec::digest_of(report.copied.written),
        }),
        ways: Ways {
            copied: report.ways.copied,
            stitched: report.ways.stitched,
            merged: report.ways.merged,
        },
        stretches: report.stretches.iter().map(spec::stretch_of).collect(),
    }
}
