//! The merge: rows of all inputs in key order, those of one key together.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::sync::Arc;

use baler_core::file::Digest;
use baler_core::job::{Dropped, Job, Span};
use baler_core::table::MergeSpec;
use bytes::Bytes;

use super::output::Outputs;
use super::tally::Tally;
use super::{CompactionFilter, Judgement, MergeOperator, NewestWins, Row, RowError, RowFormat, Rows};
use crate::depot::Input;
use crate::merge::{Merge, MergeFault, Merged, Ways, Work};

/// Rows between two looks whether to stop.
const ROWS_PER_LOOK: u64 = 1_024;

/// Merges files of a format of keys and values.
#[derive(Clone, Debug)]
pub struct RowMerge {
    format: Arc<dyn RowFormat>,
    operator: Arc<dyn MergeOperator>,
    filter: Option<Arc<dyn CompactionFilter>>,
}

impl RowMerge {
    /// Of each key the newest row stays, unless it is said otherwise.
    pub fn new(format: impl RowFormat) -> Self {
        Self {
            format: Arc::new(format),
            operator: Arc::new(NewestWins),
            filter: None,
        }
    }

    /// Rows of one key are folded by this.
    #[must_use]
    pub fn with_operator(self, operator: impl MergeOperator + 'static) -> Self {
        let operator = Arc::new(operator);
        Self { operator, ..self }
    }

    /// What would be written is looked at by this.
    #[must_use]
    pub fn with_filter(self, filter: impl CompactionFilter + 'static) -> Self {
        let filter: Arc<dyn CompactionFilter> = Arc::new(filter);
        let filter = Some(filter);
        Self { filter, ..self }
    }

    fn fold(&self, rows: Vec<Row>, tally: &mut Tally) -> Result<Vec<Row>, MergeFault> {
        if rows.len() < 2 {
            return Ok(rows);
        }
        let folded = self.operator.fold(&rows);
        let rule = self.operator.rule();
        let strange = folded.iter().any(|row| row.key != rows[0].key);
        if strange || folded.len() > rows.len() {
            let key = String::from_utf8_lossy(&rows[0].key).into_owned();
            return Err(MergeFault::Spec(format!(
                "the operator {rule:?} made more rows of key {key:?} than came, or rows of another key"
            )));
        }
        tally.replaced(rule, &rows, &folded);
        Ok(folded)
    }

    fn judge(&self, job: &Job, row: Row, tally: &mut Tally) -> Option<Row> {
        let Some(filter) = &self.filter else {
            return Some(row);
        };
        match filter.judge(job, &row) {
            Judgement::Keep => Some(row),
            Judgement::Drop => {
                tally.replaced(filter.rule(), &[row], &[]);
                None
            }
            Judgement::Change(value) => {
                let changed = Row { value, ..row.clone() };
                tally.replaced(filter.rule(), &[row], std::slice::from_ref(&changed));
                Some(changed)
            }
        }
    }
}

impl Merge for RowMerge {
    fn format(&self) -> &str {
        self.format.name()
    }

    /// Baler's own rules are not among them: each job says for itself whether it may go by one.
    fn rules(&self) -> Vec<Arc<str>> {
        let filter = self.filter.iter().map(|filter| filter.rule());
        let all = [self.operator.rule()].into_iter().chain(filter);
        let own = all.filter(|rule| !Dropped::RULES.contains(rule));
        let mut rules: Vec<Arc<str>> = own.map(Into::into).collect();
        rules.dedup();
        rules
    }

    fn edges(
        &self,
        _job: &Job,
        inputs: &[Arc<dyn Input>],
        ranges: usize,
    ) -> Result<Vec<Vec<u8>>, MergeFault> {
        let edges = self.format.edges(inputs, ranges);
        edges.map_err(|error| match error {
            RowError::Damaged(reason) => MergeFault::Input {
                culprits: vec![],
                reason,
            },
            RowError::Read(source) => MergeFault::Node {
                doing: "reading where the files can be cut",
                source,
            },
        })
    }

    fn merge(&self, work: &Work<'_>) -> Result<Merged, MergeFault> {
        let mut tally = Tally::new(work.inputs.len());
        let mut outputs = Outputs::new(work, &*self.format);
        let mut heads = Heads::open(&*self.format, work)?;
        let (mut seen, mut told) = (0, 0);
        while let Some(group) = heads.next_group(&mut tally)? {
            seen += group.len() as u64;
            for row in self.fold(group, &mut tally)? {
                if let Some(row) = self.judge(work.job, row, &mut tally) {
                    outputs.push(row)?;
                }
            }
            if seen - told >= ROWS_PER_LOOK {
                work.advanced(seen - told);
                told = seen;
                if work.is_cancelled() {
                    return Err(MergeFault::Cancelled);
                }
            }
        }
        work.advanced(seen - told);
        let outputs = outputs.finish()?;
        let (reads, drops) = tally.into_figures();
        Ok(Merged {
            outputs,
            reads,
            drops,
            copied: None,
            stretches: Vec::new(),
            ways: Ways {
                merged: seen,
                ..Ways::default()
            },
        })
    }

    fn reread(
        &self,
        _spec: &MergeSpec,
        output: &Arc<dyn Input>,
        _memory_bytes: u64,
    ) -> Option<Result<(u64, Digest), MergeFault>> {
        let found = rows_and_digest(&*self.format, output);
        Some(found.map_err(|error| error.of_input(0)))
    }
}

fn rows_and_digest(format: &dyn RowFormat, output: &Arc<dyn Input>) -> Result<(u64, Digest), RowError> {
    let (mut count, mut digest) = (0, Digest::default());
    for row in format.read(output, &Span::default())? {
        let (_position, row) = row?;
        count += 1;
        digest = digest.plus(row.digest());
    }
    Ok((count, digest))
}

/// The next row of each input.
struct Heads<'a> {
    rows: Vec<Rows<'a>>,
    next: Vec<Option<Row>>,
    order: BinaryHeap<Reverse<(Bytes, usize)>>,
    begun: bool,
}

impl<'a> Heads<'a> {
    fn open(format: &'a dyn RowFormat, work: &'a Work<'a>) -> Result<Self, MergeFault> {
        let inputs = work.inputs.iter().enumerate();
        let rows: Vec<Rows<'a>> = inputs
            .map(|(index, input)| {
                // A slow worker may take long over each: it moves all the same.
                work.advanced(0);
                format
                    .read(input, work.span)
                    .map_err(|error| error.of_input(index))
            })
            .collect::<Result<_, _>>()?;
        Ok(Self {
            next: vec![None; rows.len()],
            rows,
            order: BinaryHeap::new(),
            begun: false,
        })
    }

    /// All rows of the next key, the oldest first.
    fn next_group(&mut self, tally: &mut Tally) -> Result<Option<Vec<Row>>, MergeFault> {
        if !std::mem::replace(&mut self.begun, true) {
            for input in 0..self.rows.len() {
                self.advance(input, tally)?;
            }
        }
        let mut group: Vec<Row> = Vec::new();
        while let Some(Reverse((key, input))) = self.order.peek().cloned() {
            if group.first().is_some_and(|first| first.key != key) {
                break;
            }
            self.order.pop();
            group.extend(self.next[input].take());
            self.advance(input, tally)?;
        }
        // Of rows with one version the one of the later input is newer, as they came.
        group.sort_by_key(|row| row.version);
        Ok((!group.is_empty()).then_some(group))
    }

    fn advance(&mut self, input: usize, tally: &mut Tally) -> Result<(), MergeFault> {
        let Some(row) = self.rows[input].next() else {
            return Ok(());
        };
        let (position, row) = row.map_err(|error| error.of_input(input))?;
        tally.read(input, position, &row);
        self.order.push(Reverse((row.key.clone(), input)));
        self.next[input] = Some(row);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::io::{self, Write};

    use super::*;
    use crate::merge::rows::RowWriter;

    /// Keys alone, one a line.
    #[derive(Debug)]
    struct Lines;

    impl RowFormat for Lines {
        fn name(&self) -> &str {
            "lines"
        }

        fn read<'a>(&'a self, input: &'a Arc<dyn Input>, _: &'a Span) -> Result<Rows<'a>, RowError> {
            let bytes = input.read_at(0, input.len() as usize)?;
            let text = String::from_utf8(bytes.to_vec());
            let text = text.map_err(|error| RowError::Damaged(error.to_string()))?;
            let rows: Vec<Row> = text.lines().map(row).collect();
            Ok(Box::new(rows.into_iter().zip(0..).map(|(row, at)| Ok((at, row)))))
        }

        fn write(&self) -> Box<dyn RowWriter> {
            Box::new(Self)
        }
    }

    impl RowWriter for Lines {
        fn push(&mut self, row: &Row, output: &mut dyn Write) -> io::Result<()> {
            output.write_all(&row.key)
        }

        fn end(self: Box<Self>, _: &mut dyn Write) -> io::Result<()> {
            Ok(())
        }
    }

    fn row(key: &str) -> Row {
        Row {
            key: Bytes::from(key.to_owned()),
            version: 0,
            value: Bytes::new(),
        }
    }

    /// What lies in the store, or a store that does not deliver.
    struct Stored(Option<&'static [u8]>);

    impl Input for Stored {
        fn name(&self) -> &str {
            "output"
        }

        fn len(&self) -> u64 {
            self.0.map_or(1, |bytes| bytes.len() as u64)
        }

        fn read_at(&self, _: u64, _: usize) -> io::Result<Bytes> {
            self.0
                .map(Bytes::from_static)
                .ok_or_else(|| io::Error::other("503"))
        }
    }

    fn reread(stored: Option<&'static [u8]>) -> Result<(u64, Digest), MergeFault> {
        let output: Arc<dyn Input> = Arc::new(Stored(stored));
        let found = RowMerge::new(Lines).reread(&MergeSpec::default(), &output, 1 << 20);
        found.expect("rows are read back")
    }

    #[test]
    fn an_output_that_is_read_back_has_the_rows_that_lie_there() {
        let digest = row("a").digest().plus(row("b").digest());
        assert_eq!(reread(Some(b"a\nb\n")).ok(), Some((2, digest)));
        let other = reread(Some(b"a\nc\n")).expect("rows");
        assert_ne!(other, (2, digest));
    }

    /// Trap: inputs were blamed, and set aside, because the store did not answer while an output was read back.
    #[test]
    fn a_store_that_does_not_deliver_is_told_from_an_output_that_is_damaged() {
        assert!(matches!(reread(None), Err(MergeFault::Read { .. })));
        assert!(matches!(reread(Some(b"\xff")), Err(MergeFault::Input { .. })));
    }
}
