//! Proves an order from the keys themselves, read a second time and apart from what was decided.
//!
//! Every row of every lane comes out once; keys do not descend, and equal ones come in lane order; without a rule nothing is
//! dropped; under last write wins each key keeps one row, its newest, and no window ends inside a key.

use super::forms::{KeyColumn, Packed};
use super::headed::HeadedKeys;
use super::judge::{Age, Ages};
use super::keys::mixed;
use super::lanes::KeyLane;
use super::layout::{Layout, Mask};
use super::runs::{Order, Run};
use crate::error::MergeError;

/// Follows the windows of one merge.
pub(crate) struct Verifier<'a>(Form<'a>);

enum Form<'a> {
    Short(Typed<'a, Packed<u64>>),
    Long(Typed<'a, Packed<u128>>),
    Headed(Typed<'a, HeadedKeys>),
}

impl<'a> Verifier<'a> {
    /// `lanes` deliver the same rows as those that were merged; blocks may be cut otherwise.
    pub(crate) fn new(layout: &Layout, lanes: Vec<Box<dyn KeyLane + 'a>>) -> Self {
        let keyed = layout.keyed();
        Self(match layout.mask() {
            Mask::Short(mask) => Form::Short(Typed::new(lanes, keyed.then_some(mask))),
            Mask::Long(mask) => Form::Long(Typed::new(lanes, keyed.then_some(mask))),
            Mask::Headed(mask) => Form::Headed(Typed::new(lanes, keyed.then_some(mask))),
        })
    }

    /// Checks the next window.
    pub(crate) fn check(&mut self, order: &Order) -> Result<(), MergeError> {
        match &mut self.0 {
            Form::Short(typed) => typed.check(order),
            Form::Long(typed) => typed.check(order),
            Form::Headed(typed) => typed.check(order),
        }
    }

    /// Checks that no row is left.
    pub(crate) fn finish(&mut self) -> Result<(), MergeError> {
        match &mut self.0 {
            Form::Short(typed) => typed.finish(),
            Form::Long(typed) => typed.finish(),
            Form::Headed(typed) => typed.finish(),
        }
    }
}

struct Typed<'a, C: KeyColumn> {
    lanes: Vec<Lane<'a, C>>,
    /// The bits of the rule's key, if there is a rule.
    mask: Option<C::Head>,
    /// The key and the lane of the row before.
    last_key: Option<C::Kept>,
    last_lane: usize,
    group: Option<Group<C::Kept>>,
    /// The key that was judged at the end of the last window.
    judged: Option<C::Kept>,
}

struct Lane<'a, C> {
    source: Box<dyn KeyLane + 'a>,
    block: Option<(C, Option<Ages>)>,
    at: usize,
    rows_before: u64,
}

/// What was seen of the key that the last row had.
struct Group<K> {
    key: K,
    rows_kept: usize,
    newest: Age,
    newest_kept: bool,
}

impl<'a, C: KeyColumn> Typed<'a, C> {
    fn new(lanes: Vec<Box<dyn KeyLane + 'a>>, mask: Option<C::Head>) -> Self {
        let lanes = lanes.into_iter().map(|source| Lane {
            source,
            block: None,
            at: 0,
            rows_before: 0,
        });
        Self {
            lanes: lanes.collect(),
            mask,
            last_key: None,
            last_lane: 0,
            group: None,
            judged: None,
        }
    }

    fn check(&mut self, order: &Order) -> Result<(), MergeError> {
        for run in order.runs() {
            if self.mask.is_none() && !run.kept() {
                return wrong("a row was to be dropped where every row is kept");
            }
            let mut left = run.rows();
            while left > 0 {
                left -= self.check_rows(*run, left)?;
            }
        }
        if let Some(group) = self.group.take() {
            self.judged = Some(group.end()?);
        }
        Ok(())
    }

    fn finish(&mut self) -> Result<(), MergeError> {
        for lane in &mut self.lanes {
            if lane.stand(self.mask.is_some())? {
                return wrong("a lane was not merged to its end");
            }
        }
        Ok(())
    }

    /// Checks rows of a run that lie in one block; says how many.
    fn check_rows(&mut self, run: Run, rows_max: usize) -> Result<usize, MergeError> {
        let Some(lane) = self.lanes.get_mut(run.lane()) else {
            return wrong("an order names a lane that is not there");
        };
        lane.stand(self.mask.is_some())?;
        let Some((keys, ages)) = &lane.block else {
            return wrong("an order takes more rows of a lane than it has");
        };
        let rows = lane.at..keys.len().min(lane.at + rows_max);
        lane.at = rows.end;
        for row in rows.clone() {
            if let Some(last) = &self.last_key
                && keys
                    .against(row, last)
                    .then(run.lane().cmp(&self.last_lane))
                    .is_lt()
            {
                return wrong("rows came out in the wrong order");
            }
            keys.keep(row, &mut self.last_key);
            self.last_lane = run.lane();
            let (Some(mask), Some(ages)) = (self.mask, ages) else {
                continue;
            };
            let goes_on = self
                .group
                .as_mut()
                .filter(|group| keys.in_group(row, &group.key, mask));
            if let Some(group) = goes_on {
                group.add(run, ages, row);
                continue;
            }
            if let Some(group) = self.group.take() {
                group.end()?;
            }
            let group = Group {
                key: keys.group(row, mask),
                rows_kept: usize::from(run.kept()),
                newest: ages.age(run.lane() as u32, row),
                newest_kept: run.kept(),
            };
            if self.judged.take().is_some_and(|judged| judged == group.key) {
                return wrong("a key was judged before all of its rows were seen");
            }
            self.group = Some(group);
        }
        Ok(rows.len())
    }
}

impl<K> Group<K> {
    fn add(&mut self, run: Run, ages: &Ages, row: usize) {
        self.rows_kept += usize::from(run.kept());
        if ages.is_newer(run.lane() as u32, row, &self.newest) {
            self.newest = ages.age(run.lane() as u32, row);
            self.newest_kept = run.kept();
        }
    }

    /// The key has no more rows.
    fn end(self) -> Result<K, MergeError> {
        match (self.rows_kept, self.newest_kept) {
            (1, true) => Ok(self.key),
            (0 | 1, _) => wrong("the row kept is not the newest of its key"),
            _ => wrong("two rows of one key were kept"),
        }
    }
}

impl<C: KeyColumn> Lane<'_, C> {
    /// Makes sure that there is a row; says whether there is.
    fn stand(&mut self, keyed: bool) -> Result<bool, MergeError> {
        while self.block.as_ref().is_none_or(|(keys, _)| self.at == keys.len()) {
            self.rows_before += self.block.take().map_or(0, |(keys, _)| keys.len() as u64);
            self.at = 0;
            let Some(block) = self.source.next_block()? else {
                return Ok(false);
            };
            let keys = C::of(&block.keys).ok_or_else(mixed)?;
            let ages = keyed.then(|| Ages::new(block.versions, block.ordinals, keys.len(), self.rows_before));
            self.block = Some((keys, ages.transpose()?));
        }
        Ok(true)
    }
}

fn wrong<T>(what: &str) -> Result<T, MergeError> {
    Err(MergeError::Proof(what.into()))
}
