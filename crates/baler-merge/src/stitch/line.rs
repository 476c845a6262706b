//! Row groups that go past the merge are made on all threads, column by column, and handed out in order. What is made and not
//! handed out yet is bounded by its bytes, wherever one row group ends and the next begins. No more is asked for ahead than keeps
//! everybody at work: what lies about costs more than it gains.

use super::group::{GroupMaker, MadeColumn};
use super::pass::{PassPlan, Passed, Passing};
use crate::crew::{Crew, Handle};
use crate::error::MergeError;
use crate::group::write_group;
use crate::limits::READS_AT_ONCE;
use crate::paths::Stretch;
use parquet::file::writer::SerializedFileWriter;
use std::collections::VecDeque;
use std::io::Write;
use std::sync::Arc;

/// What comes out of a job.
type Made = Result<MadeColumn, MergeError>;

/// Stretches on their way.
pub(crate) struct Line<'c, 'j> {
    passing: &'j Passing<'j>,
    plan: &'j PassPlan,
    crew: &'c Crew<'j>,
    /// Not begun yet.
    due: VecDeque<&'j Stretch>,
    /// Begun and not all columns asked for: the maker, and the next column.
    asking: Option<(Arc<GroupMaker<'j>>, usize)>,
    /// Stretches begun and not written.
    begun: VecDeque<&'j Stretch>,
    /// Columns asked for and not handed out, with the bytes that they count for.
    asked: VecDeque<(usize, Handle<Made>)>,
    bytes: usize,
}

impl<'c, 'j> Line<'c, 'j> {
    pub(crate) fn new(
        passing: &'j Passing<'j>,
        plan: &'j PassPlan,
        stretches: &'j [Stretch],
        crew: &'c Crew<'j>,
    ) -> Self {
        Self {
            passing,
            plan,
            crew,
            due: stretches.iter().collect(),
            asking: None,
            begun: VecDeque::new(),
            asked: VecDeque::new(),
            bytes: 0,
        }
    }

    /// Writes the next stretch as a row group of `file`.
    pub(crate) fn write<W: Write + Send>(
        &mut self,
        stretch: &Stretch,
        file: &mut SerializedFileWriter<W>,
    ) -> Result<Passed, MergeError> {
        let mut passed = self.passing.about(self.plan, stretch)?;
        let mut ready = VecDeque::new();
        let written = write_group(file, |_| {
            if ready.is_empty() {
                let made = self.next()?;
                passed.seals += made.seals;
                passed.decoded.extend(made.decoded);
                ready.extend(made.leaves);
            }
            let next = ready.pop_front();
            next.ok_or_else(|| MergeError::Proof("a column was not made".into()))
        })?;
        self.end_stretch();
        match written.num_rows() as u64 == passed.rows {
            true => {
                let bytes = written.total_byte_size().unsigned_abs();
                self.passing.progress.advanced(passed.rows, bytes);
                Ok(passed)
            }
            false => Err(MergeError::Proof(format!(
                "{} of {} rows were copied",
                written.num_rows(),
                passed.rows
            ))),
        }
    }

    fn next(&mut self) -> Made {
        self.passing.check_cancelled()?;
        self.ask()?;
        let Some((bytes, handle)) = self.asked.pop_front() else {
            return Err(MergeError::Proof(
                "more columns were written than there are".into(),
            ));
        };
        let made = self.crew.wait(handle);
        self.bytes -= bytes;
        made
    }

    /// Asks for columns as long as there is room for them; for one at least.
    fn ask(&mut self) -> Result<(), MergeError> {
        loop {
            let (maker, root) = match self.asking.take() {
                Some(asking) => asking,
                None => match self.due.pop_front() {
                    Some(stretch) => (Arc::new(self.begin(stretch)?), 0),
                    None => return Ok(()),
                },
            };
            let bytes = maker.packed_bytes(root) * if maker.is_copy { 1 } else { 2 };
            let shares = self.passing.shares;
            let is_full = self.bytes + bytes > shares.passing || self.asked.len() > shares.threads + 1;
            if is_full && !self.asked.is_empty() {
                self.asking = Some((maker, root));
                return Ok(());
            }
            let asked = Arc::clone(&maker);
            let handle = self.crew.ask(move || asked.column(root));
            self.asked.push_back((bytes, handle));
            self.bytes += bytes;
            let is_last = root + 1 == maker.schema.fields().len();
            self.asking = (!is_last).then_some((maker, root + 1));
        }
    }

    /// One read for a small file, and not one for each of its columns.
    fn begin(&mut self, stretch: &'j Stretch) -> Result<GroupMaker<'j>, MergeError> {
        let maker = self.passing.maker(self.plan, stretch);
        let sources = &maker.sources;
        let held = crate::at_once::at_once(sources.len(), READS_AT_ONCE, |number| {
            let source = &sources[number];
            let held = source.file.hold_if_small();
            held.map_err(|why| why.of_input(source.input))
        });
        held.into_iter().collect::<Result<(), MergeError>>()?;
        self.begun.push_back(stretch);
        Ok(maker)
    }

    /// Lets go of the files that no other stretch in work needs.
    fn end_stretch(&mut self) {
        let Some(ended) = self.begun.pop_front() else {
            return;
        };
        let needed = |input: usize| {
            let groups = self.begun.iter().flat_map(|stretch| &stretch.groups);
            groups.into_iter().any(|id| id.input == input)
        };
        for input in ended.groups.iter().map(|id| id.input) {
            if !needed(input) {
                self.passing.files[input].release();
            }
        }
    }
}
