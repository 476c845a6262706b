//! The second half of a merge: windows in order, their columns on all threads, row groups into outputs.

use crate::columns::{Cutter, Encoder, InWork, Source, Watch};
use crate::context::Context;
use crate::crew::{Crew, with_crew};
use crate::decode::OpenFile;
use crate::error::MergeError;
use crate::intake::{LaneKeys, Layouts, SortPlan};
use crate::io::OutputSink;
use crate::order::{KeyLane, Merger, Verifier};
use crate::plan::{Shares, widths};
use crate::report::{Dropped, OutputReport};
use crate::row_time::Times;
use crate::settings::{bloomed, properties};
use crate::shelf::Shelved;
use crate::sieve::Sieve;
use crate::spec::{MergeSpec, Rule};
use crate::write::{Due, Outputs, Shape, broken};
use parquet::arrow::ArrowWriter;
use parquet::schema::types::{ColumnDescPtr, SchemaDescriptor};
use std::collections::VecDeque;
use std::sync::Arc;

/// The second half: from the shelf to the outputs.
pub(crate) struct Job<'a> {
    pub(crate) context: &'a Context<'a>,
    pub(crate) spec: &'a MergeSpec,
    pub(crate) shares: &'a Shares,
    pub(crate) sieve: &'a Sieve,
    pub(crate) order: Option<(&'a SortPlan, &'a Layouts)>,
    pub(crate) shelf: &'a Shelved,
}

/// Windows in work at once, so that nobody waits for the slowest column of one.
const WINDOWS_AT_ONCE: usize = 2;

impl Job<'_> {
    /// Writes all rows; gives what was written, and what was dropped by rule.
    pub(crate) fn write(
        &self,
        sink: &mut dyn OutputSink,
    ) -> Result<(Vec<OutputReport>, Vec<Dropped>), MergeError> {
        let (shape, encoder) = self.shape()?;
        let watch = self.order.map(|(sort, layouts)| Watch {
            shelf: self.shelf,
            sort,
            layouts,
        });
        // Dropped rows are read, but neither hashed nor encoded.
        let looked_at = self.window_rows() * 2;
        let mut cutter = Cutter::new(self.shelf, self.sieve, self.source()?, looked_at);
        let mut outputs = Outputs::new(sink, shape, self.due());
        with_crew(self.shares.threads, |crew| {
            self.run(crew, &mut cutter, &mut outputs, &encoder, watch.as_ref())
        })?;
        cutter.finish()?;
        outputs.finish()
    }

    fn run<'j>(
        &self,
        crew: &Crew<'j>,
        cutter: &mut Cutter<'_>,
        outputs: &mut Outputs<'_>,
        encoder: &'j Encoder<'j>,
        watch: Option<&'j Watch<'j>>,
    ) -> Result<(), MergeError> {
        let at_once = self.shares.threads.min(WINDOWS_AT_ONCE);
        let mut in_work: VecDeque<InWork> = VecDeque::new();
        let mut at_end = false;
        loop {
            while !at_end && in_work.len() < at_once {
                self.context.check_cancelled()?;
                let rows = outputs.room(in_work.iter().map(|window| window.rows).sum());
                if rows == 0 && !in_work.is_empty() {
                    break;
                }
                match cutter.next(rows)? {
                    Some(cut) => in_work.push_back(InWork::begin(crew, encoder, watch, cut)?),
                    None => at_end = true,
                }
            }
            let Some(window) = in_work.pop_front() else {
                return Ok(());
            };
            let done = window.finish(crew)?;
            self.context.progress.advanced(0, done.bytes());
            outputs.append(done)?;
        }
    }

    fn source(&self) -> Result<Source<'_>, MergeError> {
        let Some((sort, layouts)) = self.order else {
            return Ok(Source::AsTheyLie);
        };
        let lanes = self.shelf.lanes().len();
        let block_rows = self.shares.block_rows(lanes, layouts.row_bytes());
        let (mut keys, mut echoes): (Vec<Box<dyn KeyLane + '_>>, Vec<Box<dyn KeyLane + '_>>) =
            Default::default();
        for lane in 0..lanes {
            let mut lane = LaneKeys::new(self.shelf, sort, layouts, lane, block_rows);
            if self.spec.rule != Rule::KeepAll {
                echoes.push(Box::new(lane.echo()));
            }
            keys.push(Box::new(lane));
        }
        let merger = Box::new(Merger::new(&layouts.order, keys)?);
        let verifier =
            (self.spec.rule != Rule::KeepAll).then(|| Box::new(Verifier::new(&layouts.order, echoes)));
        Ok(Source::Merged(merger, verifier))
    }

    /// Rows of a window, as far as memory goes.
    fn window_rows(&self) -> usize {
        let (widest, row) = widths(&self.context.files);
        self.shares.window_rows(widest, row)
    }

    /// All rows of all inputs, and the bytes of their pages.
    fn due(&self) -> Due {
        let chunks = |file: &OpenFile| {
            let groups = file.footer().row_groups().iter();
            groups
                .map(|group| group.compressed_size().unsigned_abs())
                .sum::<u64>()
        };
        Due {
            rows: self.shelf.rows(),
            bytes: self.context.files.iter().map(chunks).sum(),
        }
    }

    fn shape(&self) -> Result<(Shape, Encoder<'_>), MergeError> {
        let schema = &self.context.schema;
        let times = self
            .spec
            .row_time
            .as_ref()
            .map(|column| Times::of(schema, column));
        let times = times.transpose().map_err(MergeError::Spec)?.flatten();
        let key = self.order.map(|(sort, _)| &sort.key);
        let blooms = bloomed(&self.context.files);
        let properties = properties(schema, self.spec, key, &blooms)?;
        // Nothing is written to this one: it knows how a file of this schema is written.
        let model = ArrowWriter::try_new(Vec::new(), Arc::clone(schema), Some(properties));
        let (file, factory) = model
            .and_then(ArrowWriter::into_serialized_writer)
            .map_err(|why| broken(&why))?;
        let shape = Shape {
            schema: file.schema_descr().root_schema_ptr(),
            properties: file.properties().clone(),
            target_bytes: self.spec.target_file_bytes,
            group_rows: self.window_rows().min(self.spec.row_group_rows.max(1)),
            times,
        };
        let encoder = Encoder {
            shelf: self.shelf,
            schema: Arc::clone(schema),
            factory,
            times,
            leaves: leaves_of(file.schema_descr()),
            codec: self.spec.codec,
            blooms,
        };
        Ok((shape, encoder))
    }
}

/// The leaf columns of each top-level column.
fn leaves_of(schema: &SchemaDescriptor) -> Vec<Vec<ColumnDescPtr>> {
    let mut leaves = vec![Vec::new(); schema.root_schema().get_fields().len()];
    for (number, leaf) in schema.columns().iter().enumerate() {
        leaves[schema.get_column_root_idx(number)].push(leaf.clone());
    }
    leaves
}
