//! Adds up over the stretches of a merge what was read and written, for the report.

use crate::decode::OpenFile;
use crate::digest::Digest;
use crate::error::MergeError;
use crate::intake::SortPlan;
use crate::key_span::KeySpan;
use crate::paths::{Path, Stretch};
use crate::positions::Positions;
use crate::proved::{self, ProvedStretch};
use crate::report::{Copied, InputReport, Report, Ways};
use crate::stitch::pass::Passed;
use crate::stretch::Stock;
use crate::write::{Outputs, Sums};

/// The sums so far.
pub(crate) struct Tally {
    inputs: Vec<InputReport>,
    copied: Copied,
    ways: Ways,
    stretches: Vec<ProvedStretch>,
    spilled_bytes: u64,
    range: KeySpan,
}

impl Tally {
    /// Nothing read yet of these inputs, of which a range is to be merged.
    pub(crate) fn of(files: &[OpenFile], range: &KeySpan) -> Self {
        let unread = |rows| InputReport {
            rows_in_footer: rows,
            ..InputReport::EMPTY
        };
        Self {
            inputs: files.iter().map(|file| unread(file.rows())).collect(),
            copied: Copied::default(),
            ways: Ways::default(),
            stretches: Vec::new(),
            spilled_bytes: 0,
            range: range.clone(),
        }
    }

    /// Counts a stretch of these inputs that was merged row by row, and the sums of what became of it.
    pub(crate) fn merged(
        &mut self,
        stock: &Stock,
        inputs: impl IntoIterator<Item = usize>,
        why: &'static str,
        sums: Sums,
    ) {
        for (number, input) in inputs.into_iter().zip(&stock.inputs) {
            let sum = &mut self.inputs[number];
            sum.rows_read += input.rows_read;
            sum.positions += input.positions;
            sum.digest += input.digest;
            self.ways.merged += input.rows_read;
        }
        let merged = ProvedStretch {
            way: Path::Merge.into(),
            why,
            rows: stock.rows(),
            read: stock.inputs.iter().map(|input| input.digest).sum(),
            written: sums.written,
            dropped: sums.dropped,
        };
        proved::add(&mut self.stretches, merged);
        self.spilled_bytes += stock.shelf.spilled_bytes();
    }

    /// Counts a stretch of these files that went past the merge.
    pub(crate) fn passed(&mut self, files: &[OpenFile], stretch: &Stretch, passed: &Passed) {
        for id in &stretch.groups {
            let rows = files[id.input].positions_of(id.group);
            self.inputs[id.input].positions += Positions::of(rows);
        }
        for (input, rows) in &passed.by_input {
            self.inputs[*input].rows_read += rows;
            self.inputs[*input].rows_copied += rows;
        }
        let proved = ProvedStretch {
            way: stretch.path.into(),
            why: stretch.why,
            rows: passed.rows,
            read: passed.seals.read,
            written: passed.seals.written,
            dropped: Digest::EMPTY,
        };
        proved::add(&mut self.stretches, proved);
        self.copied.rows += passed.rows;
        self.copied.read += passed.seals.read;
        self.copied.written += passed.seals.written;
        match stretch.path {
            Path::Copy => self.ways.copied += passed.rows,
            Path::Stitch | Path::Merge => self.ways.stitched += passed.rows,
        }
    }

    /// Closes the outputs, and says what was done.
    pub(crate) fn report(self, outputs: Outputs<'_>, sort: Option<&SortPlan>) -> Result<Report, MergeError> {
        let (outputs, drops) = outputs.finish()?;
        Ok(Report {
            inputs: self.inputs,
            outputs,
            drops,
            copied: self.copied,
            ways: self.ways,
            stretches: self.stretches,
            spilled_bytes: self.spilled_bytes,
            range: self.range,
            sorted_by: sort.map(|sort| sort.key.sort().to_vec()).unwrap_or_default(),
        })
    }
}
