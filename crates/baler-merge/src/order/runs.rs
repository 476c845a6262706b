//! The merge order as a list of runs: so many rows of this lane, kept or dropped, then so many of that.

/// Consecutive rows of one lane with one fate. Eight bytes, because without runs in the inputs there is one for each row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Run {
    lane: u32,
    /// The highest bit says dropped.
    rows: u32,
}

const DROPPED: u32 = 1 << 31;
const RUN_ROWS_MAX: u32 = DROPPED - 1;

impl Run {
    fn new(lane: u32, rows: u32, kept: bool) -> Self {
        let fate = if kept { 0 } else { DROPPED };
        Self {
            lane,
            rows: rows | fate,
        }
    }

    pub(crate) fn lane(self) -> usize {
        self.lane as usize
    }

    /// At least one.
    pub(crate) fn rows(self) -> usize {
        (self.rows & !DROPPED) as usize
    }

    pub(crate) fn kept(self) -> bool {
        self.rows & DROPPED == 0
    }
}

/// The order of some rows. Each run takes the next rows of its lane, after those that runs before it took.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Order {
    runs: Vec<Run>,
    rows: usize,
    kept: usize,
}

impl Order {
    pub(crate) fn runs(&self) -> &[Run] {
        &self.runs
    }

    /// Rows, dropped ones too.
    pub(crate) fn rows(&self) -> usize {
        self.rows
    }

    /// Rows that are kept.
    pub(crate) fn kept(&self) -> usize {
        self.kept
    }

    /// So many rows are about to be appended, perhaps one by one.
    pub(super) fn reserve(&mut self, rows: usize) {
        self.runs.reserve(rows);
    }

    /// Appends rows; they join the run before if it is of the same lane and fate.
    pub(crate) fn push(&mut self, lane: u32, rows: usize, kept: bool) {
        self.rows += rows;
        self.kept += if kept { rows } else { 0 };
        let mut rows = rows;
        if let Some(last) = self.runs.last_mut()
            && last.lane == lane
            && last.kept() == kept
        {
            let joined = rows.min(RUN_ROWS_MAX as usize - last.rows());
            last.rows += joined as u32;
            rows -= joined;
        }
        while rows > 0 {
            let some = rows.min(RUN_ROWS_MAX as usize);
            self.runs.push(Run::new(lane, some as u32, kept));
            rows -= some;
        }
    }

    /// Appends a row as a run of its own, which the caller counts; says where its run is.
    pub(super) fn append(&mut self, lane: u32, kept: bool) -> usize {
        self.runs.push(Run::new(lane, 1, kept));
        self.runs.len() - 1
    }

    /// Drops a row that was appended so.
    pub(super) fn let_go(&mut self, run: usize) {
        self.runs[run].rows = 1 | DROPPED;
    }

    /// Counts rows that were appended so.
    pub(super) fn count(&mut self, rows: usize, kept: usize) {
        self.rows += rows;
        self.kept += kept;
    }

    /// Appends a kept row whose fate may change; says where its run is. It joins no other run.
    pub(super) fn push_candidate(&mut self, lane: u32) -> usize {
        self.runs.push(Run::new(lane, 1, true));
        self.rows += 1;
        self.kept += 1;
        self.runs.len() - 1
    }

    /// Drops a candidate after all.
    pub(super) fn drop_candidate(&mut self, run: usize) {
        let run = &mut self.runs[run];
        *run = Run::new(run.lane, 1, false);
        self.kept -= 1;
    }
}
