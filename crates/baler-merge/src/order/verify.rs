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
use arrow::buffer::ScalarBuffer;

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

/// What is asked for every row fits into one line of the cache, because rows come from all lanes by turns.
struct Lane<'a, C> {
    keys: Option<C>,
    at: usize,
    /// Versions that are all there is to compare.
    versions: Option<ScalarBuffer<u64>>,
    rest: Box<Rest<'a>>,
}

struct Rest<'a> {
    source: Box<dyn KeyLane + 'a>,
    ages: Option<Ages>,
    rows_before: u64,
}

/// What was seen of the key that the last row had.
struct Group<K> {
    key: K,
    rows_kept: usize,
    newest: Newest,
    newest_kept: bool,
}

/// What rows of one key are compared by.
enum Newest {
    /// Version and lane; within a lane later rows are newer.
    Short(u64, u32),
    Age(Age),
}

impl<'a, C: KeyColumn> Typed<'a, C> {
    fn new(lanes: Vec<Box<dyn KeyLane + 'a>>, mask: Option<C::Head>) -> Self {
        let lanes = lanes.into_iter().map(|source| Lane {
            keys: None,
            at: 0,
            versions: None,
            rest: Box::new(Rest {
                source,
                ages: None,
                rows_before: 0,
            }),
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
            group.end()?;
            self.judged = Some(group.key);
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
        let Some(keys) = &lane.keys else {
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
            let Some(mask) = self.mask else {
                continue;
            };
            if let Some(group) = &mut self.group {
                if keys.in_group(row, &group.key, mask) {
                    group.add(run, lane, row)?;
                    continue;
                }
                group.end()?;
            }
            let group = Group {
                key: keys.group(row, mask),
                rows_kept: usize::from(run.kept()),
                newest: lane.newest(run, row)?,
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
    #[inline]
    fn add<C: KeyColumn>(&mut self, run: Run, lane: &Lane<'_, C>, row: usize) -> Result<(), MergeError> {
        self.rows_kept += usize::from(run.kept());
        if lane.is_newer(run, row, &self.newest)? {
            self.newest = lane.newest(run, row)?;
            self.newest_kept = run.kept();
        }
        Ok(())
    }

    /// The key has no more rows.
    #[inline]
    fn end(&self) -> Result<(), MergeError> {
        match (self.rows_kept, self.newest_kept) {
            (1, true) => Ok(()),
            (0 | 1, _) => wrong("the row kept is not the newest of its key"),
            _ => wrong("two rows of one key were kept"),
        }
    }
}

impl<C: KeyColumn> Lane<'_, C> {
    /// Makes sure that there is a row; says whether there is.
    #[inline]
    fn stand(&mut self, keyed: bool) -> Result<bool, MergeError> {
        match &self.keys {
            Some(keys) if self.at < keys.len() => Ok(true),
            _ => self.go_on(keyed),
        }
    }

    fn go_on(&mut self, keyed: bool) -> Result<bool, MergeError> {
        while self.keys.as_ref().is_none_or(|keys| self.at == keys.len()) {
            let Rest {
                source,
                ages,
                rows_before,
            } = &mut *self.rest;
            *rows_before += self.keys.take().map_or(0, |keys| keys.len() as u64);
            self.at = 0;
            let Some(block) = source.next_block()? else {
                return Ok(false);
            };
            let keys = C::of(&block.keys).ok_or_else(mixed)?;
            let (versions, ordinals) = (block.versions, block.ordinals);
            *ages = keyed
                .then(|| Ages::new(versions, ordinals, keys.len(), *rows_before))
                .transpose()?;
            self.versions = ages.as_ref().and_then(Ages::short).cloned();
            self.keys = Some(keys);
        }
        Ok(true)
    }

    #[inline]
    fn newest(&self, run: Run, row: usize) -> Result<Newest, MergeError> {
        let lane = run.lane() as u32;
        match (&self.versions, &self.rest.ages) {
            (Some(versions), _) => Ok(Newest::Short(versions[row], lane)),
            (None, Some(ages)) => Ok(Newest::Age(ages.age(lane, row))),
            (None, None) => wrong("rows came without their versions"),
        }
    }

    #[inline]
    fn is_newer(&self, run: Run, row: usize, seen: &Newest) -> Result<bool, MergeError> {
        let lane = run.lane() as u32;
        match (&self.versions, seen, &self.rest.ages) {
            (Some(versions), Newest::Short(version, other), _) => {
                Ok((versions[row], lane) >= (*version, *other))
            }
            (None, Newest::Age(age), Some(ages)) => Ok(ages.is_newer(lane, row, age)),
            _ => wrong("versions of two forms met in one key"),
        }
    }
}

fn wrong<T>(what: &str) -> Result<T, MergeError> {
    Err(MergeError::Proof(what.into()))
}
