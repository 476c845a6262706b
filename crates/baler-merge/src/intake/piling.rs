//! Turns the batches of one input into lanes. What is in order is laid down as it comes; what is not is piled up as far as
//! the budget goes, sorted, and laid down as a lane of its own. Each lane is a stretch of its input, so lanes in their order
//! break every tie as the rows of the input would.

use super::keys::SortPlan;
use super::{Intake, Observations, Taken};
use crate::error::MergeError;
use crate::order::{descents, sort_order};
use crate::report::InputReport;
use crate::shelf::{Coded, Lane, Shelf};
use arrow::array::*;
use arrow::compute::{concat, take};
use arrow::error::ArrowError;
use std::sync::Arc;

/// Rows of a sorted pile are laid down in batches of so many.
const BATCH_ROWS: usize = 16 << 10;
/// What a row costs while it is sorted, beside itself.
const BYTES_A_ROW: usize = 24;

/// The lanes of an input as they grow.
pub(super) struct Piler<'a> {
    shelf: &'a Shelf,
    sort: Option<&'a SortPlan>,
    keys: Option<Observations>,
    input: usize,
    pile_bytes_max: usize,
    lanes: Vec<Lane>,
    /// The key of the last row of the last lane.
    last: Vec<u8>,
    pile: Vec<Batch>,
    pile_bytes: usize,
    rows: u64,
    in_order: bool,
}

/// Rows on their way to the shelf.
pub(super) struct Batch {
    pub(super) columns: Vec<Coded>,
    /// The columns that rows are ordered by, plain: sort columns in key order, then the version.
    pub(super) keys: Vec<ArrayRef>,
    pub(super) hashes: Option<Decimal128Array>,
    pub(super) rows: usize,
}

impl<'a> Piler<'a> {
    pub(super) fn new(intake: &Intake<'a>, input: usize) -> Result<Self, MergeError> {
        Ok(Self {
            shelf: intake.shelf,
            sort: intake.sort,
            keys: intake.sort.map(SortPlan::observations).transpose()?,
            input,
            pile_bytes_max: intake.shares.pile,
            lanes: Vec::new(),
            last: Vec::new(),
            pile: Vec::new(),
            pile_bytes: 0,
            rows: 0,
            in_order: true,
        })
    }

    /// Takes the next rows of the input.
    pub(super) fn push(&mut self, batch: Batch, bytes: usize) -> Result<(), MergeError> {
        if batch.rows == 0 {
            return Ok(());
        }
        let Some(sort) = self.sort else {
            return self.lay(&batch);
        };
        let sorted = self.look_at(sort, &batch.keys)?;
        if sorted && self.pile.is_empty() {
            return self.lay(&batch);
        }
        self.in_order = false;
        if sort.declared {
            // Nobody asked for this order, and it does not hold: rows stay as they lie.
            return self.lay(&batch);
        }
        self.pile_bytes += bytes + batch.rows * BYTES_A_ROW;
        self.pile.push(batch);
        match self.pile_bytes >= self.pile_bytes_max {
            true => self.sort_pile(),
            false => Ok(()),
        }
    }

    /// Observes keys; says whether they follow those before in order.
    fn look_at(&mut self, sort: &SortPlan, keys: &[ArrayRef]) -> Result<bool, MergeError> {
        let mut seen = sort.observations()?;
        let odd = |why: MergeError| match why {
            MergeError::Proof(why) => MergeError::Input {
                culprits: vec![self.input],
                reason: why,
            },
            other => other,
        };
        seen.add(keys).map_err(odd)?;
        let in_order = match sort.come_in_order(keys) {
            Some(in_order) => in_order,
            None => descents(&seen.pack_order(keys)?).is_empty(),
        };
        let (first, last) = sort.ends(keys)?;
        let follows = in_order && first >= self.last;
        if let Some(all) = &mut self.keys {
            all.join(seen);
        }
        if follows {
            self.last = last;
        }
        Ok(follows)
    }

    fn lay(&mut self, batch: &Batch) -> Result<(), MergeError> {
        if self.lanes.is_empty() {
            self.lanes.push(Lane::default());
        }
        let ordinals = self.sort.is_some_and(|sort| sort.needs_ordinals).then(|| {
            let first = self.rows;
            (first..first + batch.rows as u64).collect::<Vec<_>>().into()
        });
        self.rows += batch.rows as u64;
        match self.lanes.last_mut() {
            Some(lane) => self
                .shelf
                .lay(lane, batch.rows, &batch.columns, batch.hashes.as_ref(), ordinals),
            None => Ok(()),
        }
    }

    fn sort_pile(&mut self) -> Result<(), MergeError> {
        let (Some(sort), false) = (self.sort, self.pile.is_empty()) else {
            return Ok(());
        };
        let pile = std::mem::take(&mut self.pile);
        self.pile_bytes = 0;
        let whole = joined(self.shelf, &pile)?;
        drop(pile);
        let mut seen = sort.observations()?;
        seen.add(&whole.keys)?;
        let order = UInt32Array::from(sort_order(&seen.pack_order(&whole.keys)?));
        let mut lane = Lane::default();
        for first in (0..whole.rows).step_by(BATCH_ROWS) {
            let picks = order.slice(first, BATCH_ROWS.min(whole.rows - first));
            let batch = whole.taken(&picks)?;
            let ordinals = sort.needs_ordinals.then(|| {
                let before = self.rows;
                let ordinals = picks.values().iter().map(|row| before + u64::from(*row));
                ordinals.collect::<Vec<_>>().into()
            });
            self.shelf.lay(
                &mut lane,
                batch.rows,
                &batch.columns,
                batch.hashes.as_ref(),
                ordinals,
            )?;
        }
        self.rows += whole.rows as u64;
        // What follows is compared with nothing: it begins a lane of its own.
        self.last.clear();
        self.lanes.push(lane);
        self.lanes.push(Lane::default());
        Ok(())
    }

    /// What became of the input.
    pub(super) fn finish(mut self, report: InputReport) -> Result<Taken, MergeError> {
        self.sort_pile()?;
        self.lanes.retain(|lane| lane.rows() > 0);
        Ok(Taken {
            report,
            lanes: self.lanes,
            keys: self.keys,
            in_order: self.in_order,
        })
    }
}

impl Batch {
    /// The rows with these numbers, in this order.
    fn taken(&self, picks: &UInt32Array) -> Result<Self, MergeError> {
        let columns = self.columns.iter().map(|column| {
            Ok(match column {
                Coded::Plain(array) => Coded::Plain(take(array, picks, None)?),
                Coded::Codes(codes) => Coded::Codes(take(codes, picks, None)?.as_primitive().clone()),
            })
        });
        let columns: Result<Vec<Coded>, ArrowError> = columns.collect();
        let hashes = self.hashes.as_ref().map(|hashes| take(hashes, picks, None));
        Ok(Self {
            columns: columns.map_err(|why| odd(&why))?,
            hashes: hashes
                .transpose()
                .map_err(|why| odd(&why))?
                .map(|hashes| hashes.as_primitive().clone()),
            keys: Vec::new(),
            rows: picks.len(),
        })
    }
}

/// All rows of a pile as one batch. A column that is coded in some batches only is coded in none.
fn joined(shelf: &Shelf, pile: &[Batch]) -> Result<Batch, MergeError> {
    let Some(first) = pile.first() else {
        return Err(MergeError::Proof("an empty pile was to be sorted".into()));
    };
    let columns = (0..first.columns.len()).map(|number| {
        let plain = pile.iter().find_map(|batch| match &batch.columns[number] {
            Coded::Plain(array) => Some(array.data_type()),
            Coded::Codes(_) => None,
        });
        let part = |batch: &Batch| match (&batch.columns[number], plain) {
            (Coded::Plain(array), _) => Ok(Arc::clone(array)),
            (Coded::Codes(codes), None) => Ok(Arc::new(codes.clone()) as ArrayRef),
            (Coded::Codes(codes), Some(data_type)) => {
                let values = shelf.dictionary(number).entries().array(data_type)?;
                take(&values, codes, None).map_err(|why| odd(&why))
            }
        };
        let whole = one(&pile.iter().map(part).collect::<Result<Vec<_>, _>>()?)?;
        Ok(match plain {
            Some(_) => Coded::Plain(whole),
            None => Coded::Codes(whole.as_primitive().clone()),
        })
    });
    let keys = (0..first.keys.len()).map(|number| {
        one(&pile
            .iter()
            .map(|batch| Arc::clone(&batch.keys[number]))
            .collect::<Vec<_>>())
    });
    let hashes: Option<Vec<ArrayRef>> = pile
        .iter()
        .map(|batch| Some(Arc::new(batch.hashes.clone()?) as ArrayRef))
        .collect();
    Ok(Batch {
        columns: columns.collect::<Result<_, MergeError>>()?,
        keys: keys.collect::<Result<_, _>>()?,
        hashes: hashes
            .map(|hashes| one(&hashes))
            .transpose()?
            .map(|hashes| hashes.as_primitive().clone()),
        rows: pile.iter().map(|batch| batch.rows).sum(),
    })
}

fn one(parts: &[ArrayRef]) -> Result<ArrayRef, MergeError> {
    let parts: Vec<&dyn Array> = parts.iter().map(AsRef::as_ref).collect();
    concat(&parts).map_err(|why| odd(&why))
}

fn odd(why: &ArrowError) -> MergeError {
    MergeError::Proof(format!("rows could not be sorted: {why}"))
}
