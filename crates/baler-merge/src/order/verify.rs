//! Proves an order from the keys themselves, read a second time and apart from what was decided.
//!
//! Every row of every lane comes out once; keys do not descend, and equal ones come in lane order; without a rule nothing is
//! dropped; under last write wins each key keeps one row and no dropped row of it is newer.

use super::judge::{Age, Ages};
use super::keys::{KeyValue, Keys};
use super::lanes::KeyLane;
use super::layout::{Layout, Mask};
use super::runs::{Order, Run};
use crate::error::MergeError;
use std::cmp::Ordering;

/// Follows the windows of one merge.
pub(crate) struct Verifier<'a> {
    lanes: Vec<Lane<'a>>,
    mask: Mask,
    keyed: bool,
    /// The key and the lane of the row before.
    last: Option<(KeyValue, u32)>,
    group: Option<Group>,
    /// A key that was judged by the end of a window.
    judged: Option<KeyValue>,
}

struct Lane<'a> {
    source: Box<dyn KeyLane + 'a>,
    block: Option<(Keys, Option<Ages>)>,
    at: usize,
    rows_before: u64,
}

/// What was seen of the key that the last row had.
struct Group {
    key: KeyValue,
    newest: Age,
    kept: Option<Age>,
}

impl<'a> Verifier<'a> {
    /// `lanes` deliver the same rows as those that were merged; blocks may be cut otherwise.
    pub(crate) fn new(layout: &Layout, lanes: Vec<Box<dyn KeyLane + 'a>>) -> Self {
        let lanes = lanes.into_iter().map(|source| Lane {
            source,
            block: None,
            at: 0,
            rows_before: 0,
        });
        Self {
            lanes: lanes.collect(),
            mask: layout.mask(),
            keyed: layout.keyed(),
            last: None,
            group: None,
            judged: None,
        }
    }

    /// Checks the next window.
    pub(crate) fn check(&mut self, order: &Order) -> Result<(), MergeError> {
        for run in order.runs() {
            self.check_run(*run)?;
        }
        // A window must not end inside a key; a window of no rows ends no other.
        self.judged = self.end_group()?.or(self.judged.take());
        Ok(())
    }

    /// Checks that no row is left.
    pub(crate) fn finish(mut self) -> Result<(), MergeError> {
        for lane in &mut self.lanes {
            if lane.stand(self.keyed)? {
                return wrong("a lane was not merged to its end");
            }
        }
        Ok(())
    }

    fn check_run(&mut self, run: Run) -> Result<(), MergeError> {
        let number = run.lane() as u32;
        if !self.keyed && !run.kept() {
            return wrong("a row was to be dropped where every row is kept");
        }
        for _ in 0..run.rows() {
            let Some(lane) = self.lanes.get_mut(run.lane()) else {
                return wrong("an order names a lane that is not there");
            };
            if !lane.stand(self.keyed)? {
                return wrong("an order takes more rows of a lane than it has");
            }
            let Some((keys, ages)) = &lane.block else {
                return wrong("an order takes more rows of a lane than it has");
            };
            let row = lane.at;
            lane.at += 1;
            match &mut self.last {
                Some((key, lane)) => {
                    if keys.against(row, key).then(number.cmp(lane)) == Ordering::Less {
                        return wrong("rows came out in the wrong order");
                    }
                    keys.read(row, key);
                    *lane = number;
                }
                none => *none = Some((keys.value(row), number)),
            }
            if let Some(ages) = ages {
                let same = self
                    .group
                    .as_ref()
                    .is_some_and(|group| in_group(keys, row, self.mask, &group.key));
                let age = ages.age(number, row);
                match same {
                    true => self.go_on(age, run.kept())?,
                    false => {
                        let key = group_of(keys, row, self.mask);
                        self.begin(key, age, run.kept())?;
                    }
                }
            }
        }
        Ok(())
    }

    fn begin(&mut self, key: KeyValue, age: Age, kept: bool) -> Result<(), MergeError> {
        self.end_group()?;
        if self.judged.take().is_some_and(|judged| judged == key) {
            return wrong("a key was judged before all of its rows were seen");
        }
        self.group = Some(Group {
            key,
            kept: kept.then(|| age.clone()),
            newest: age,
        });
        Ok(())
    }

    fn go_on(&mut self, age: Age, kept: bool) -> Result<(), MergeError> {
        let Some(group) = &mut self.group else {
            return Ok(());
        };
        if kept && group.kept.replace(age.clone()).is_some() {
            return wrong("two rows of one key were kept");
        }
        if age > group.newest {
            group.newest = age;
        }
        Ok(())
    }

    /// The key has no more rows.
    fn end_group(&mut self) -> Result<Option<KeyValue>, MergeError> {
        match self.group.take() {
            Some(group) if group.kept.as_ref() != Some(&group.newest) => {
                wrong("the row kept is not the newest of its key")
            }
            group => Ok(group.map(|group| group.key)),
        }
    }
}

impl Lane<'_> {
    /// Makes sure that there is a row; says whether there is.
    fn stand(&mut self, keyed: bool) -> Result<bool, MergeError> {
        while self.block.as_ref().is_none_or(|(keys, _)| self.at == keys.len()) {
            self.rows_before += self.block.take().map_or(0, |(keys, _)| keys.len() as u64);
            self.at = 0;
            let Some(block) = self.source.next_block()? else {
                return Ok(false);
            };
            let ages =
                keyed.then(|| Ages::new(block.versions, block.ordinals, block.keys.len(), self.rows_before));
            self.block = Some((block.keys, ages.transpose()?));
        }
        Ok(true)
    }
}

fn group_of(keys: &Keys, row: usize, mask: Mask) -> KeyValue {
    match (keys, mask) {
        (Keys::Short(keys), Mask::Short(mask)) => KeyValue::Short(keys[row] & mask),
        (Keys::Long(keys), Mask::Long(mask)) => KeyValue::Long(keys[row] & mask),
        (Keys::Rows(keys), _) => KeyValue::Row(keys.group_data(row).into()),
        (keys, _) => keys.value(row),
    }
}

fn in_group(keys: &Keys, row: usize, mask: Mask, group: &KeyValue) -> bool {
    match (keys, mask, group) {
        (Keys::Short(keys), Mask::Short(mask), KeyValue::Short(group)) => keys[row] & mask == *group,
        (Keys::Long(keys), Mask::Long(mask), KeyValue::Long(group)) => keys[row] & mask == *group,
        (Keys::Rows(keys), _, KeyValue::Row(group)) => keys.group_data(row) == group,
        _ => false,
    }
}

fn wrong<T>(what: &str) -> Result<T, MergeError> {
    Err(MergeError::Proof(what.into()))
}
