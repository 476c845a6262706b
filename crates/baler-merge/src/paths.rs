//! Chooses how each stretch of key space gets into the output: copied, stitched or merged. Pure: facts in, stretches out.
//!
//! ```text
//! row groups by key ─▶ clusters of those that overlap ─▶ merge   what shares keys, or what a rule must look at
//!                                                     └▶ copy    what overlaps nothing and is large enough
//!                                                     └▶ stitch  what overlaps nothing and is too small
//! ```
//!
//! A path other than merge is taken only where the order is certain: the input is known to be sorted, and bounds of its keys are
//! known. Bounds may be loose; then more is merged. Under a keyed rule rows of one key must meet, so the key alone is looked at, and
//! a row group goes unmerged only if its input is known to hold each key once.

use crate::key_range::KeyRange;
use std::fmt;

/// What is known of an input.
#[derive(Debug, Clone)]
pub(crate) struct InputFacts {
    /// Its rows are in the order of the output for certain. Without a sort key every input is. One that is not is merged, wherever
    /// its row groups lie.
    pub(crate) sorted: bool,
    /// It holds each key once, for certain.
    pub(crate) unique: bool,
    pub(crate) groups: Vec<GroupFacts>,
}

/// What is known of a row group.
#[derive(Debug, Clone)]
pub(crate) struct GroupFacts {
    pub(crate) rows: u64,
    /// Bounds of its keys, under a keyed rule of the key alone; none if they are not known.
    pub(crate) keys: Option<KeyRange>,
    /// Its chunks can stand in the output as they lie.
    pub(crate) copies: bool,
    /// Its columns can be stitched, most of them without decoding.
    pub(crate) stitches: bool,
    /// Memory has room for each of its columns.
    pub(crate) fits: bool,
    /// All its rows lie in the range that is asked for.
    pub(crate) inside: bool,
    /// What must be reported about its rows is known without looking at them.
    pub(crate) told: bool,
    /// Why it is merged, if that is settled: then nobody looked at its keys.
    pub(crate) settled: Option<&'static str>,
}

/// What the output should be.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Wanted {
    /// Rows of a row group.
    pub(crate) group_rows: u64,
    /// No row group may have more.
    pub(crate) rows_max: u64,
    pub(crate) order: WantedOrder,
    /// A rule must look at every row (tombstones to drop, expiry).
    pub(crate) looks_at_rows: bool,
}

/// In which order rows come out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum WantedOrder {
    /// As the inputs are given.
    Inputs,
    /// By key; equal keys in the order of the inputs.
    Key,
    /// By key, each key once.
    UniqueKey,
}

/// A row group of an input.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct GroupId {
    pub(crate) input: usize,
    pub(crate) group: usize,
}

/// A stretch of the output.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Stretch {
    pub(crate) path: Path,
    /// In the order of the output; of a merge, by input.
    pub(crate) groups: Vec<GroupId>,
    pub(crate) rows: u64,
    pub(crate) why: &'static str,
}

/// How a stretch gets into the output.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Path {
    Copy,
    Stitch,
    Merge,
}

/// The stretches of the output, in its order. They share no keys, and together hold every row group that has rows, once.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Paths(pub(crate) Vec<Stretch>);

const WHY_COPY: &str = "overlaps nothing and is large enough";
const WHY_STITCH: &str = "overlap nothing and are too small each";
const WHY_OVERLAP: &str = "share keys";
const WHY_RULE: &str = "a rule must look at every row";
const WHY_UNKNOWN: &str = "their keys or their order are not known";
const WHY_DUPLICATES: &str = "may hold a key more than once";
const WHY_EDGE: &str = "lies across an edge of the range";
const WHY_LARGE: &str = "is too large to be taken as it is";
const WHY_ODD: &str = "cannot be taken as pages";

/// A row group on its way into a stretch.
#[derive(Debug, Clone)]
struct Unit<'a> {
    id: GroupId,
    facts: &'a GroupFacts,
    /// Why it must be merged, if it must.
    merged: Option<&'static str>,
}

/// Chooses the paths of all row groups.
pub(crate) fn choose_paths(inputs: &[InputFacts], wanted: Wanted) -> Paths {
    let units = units(inputs, wanted);
    let clusters = match wanted.order {
        WantedOrder::Inputs => units.into_iter().map(|unit| vec![unit]).collect(),
        WantedOrder::Key | WantedOrder::UniqueKey => clusters(units, wanted),
    };
    let mut paths = Builder {
        stretches: Vec::new(),
        pending: Vec::new(),
        group_rows: wanted.group_rows.max(1),
        rows_max: wanted.rows_max,
    };
    for cluster in clusters {
        paths.take(cluster);
    }
    paths.finish()
}

fn units(inputs: &[InputFacts], wanted: Wanted) -> Vec<Unit<'_>> {
    let keyed = wanted.order == WantedOrder::UniqueKey;
    let mut units = Vec::new();
    for (input, facts) in inputs.iter().enumerate() {
        for (group, of_group) in facts
            .groups
            .iter()
            .enumerate()
            .filter(|(_, group)| group.rows > 0)
        {
            let merged = match () {
                () if of_group.settled.is_some() => of_group.settled,
                () if wanted.looks_at_rows || !of_group.told => Some(WHY_RULE),
                () if wanted.order != WantedOrder::Inputs && !facts.sorted => Some(WHY_UNKNOWN),
                () if keyed && !facts.unique => Some(WHY_DUPLICATES),
                () if !of_group.inside => Some(WHY_EDGE),
                () if !of_group.stitches => Some(WHY_ODD),
                () if of_group.rows > wanted.rows_max || !of_group.fits => Some(WHY_LARGE),
                () => None,
            };
            units.push(Unit {
                id: GroupId { input, group },
                facts: of_group,
                merged,
            });
        }
    }
    units
}

/// Units in the order of their keys, in clusters that share none. One input's neighbours do not overlap however loose their
/// bounds, because the input is sorted.
fn clusters<'a>(mut units: Vec<Unit<'a>>, wanted: Wanted) -> Vec<Vec<Unit<'a>>> {
    if units.iter().any(|unit| unit.facts.keys.is_none()) {
        return vec![all_merged(units, WHY_UNKNOWN)];
    }
    let min = |unit: &Unit<'a>| unit.facts.keys.as_ref().map(|keys| keys.min.clone());
    units.sort_by_cached_key(|unit| (min(unit), unit.id));
    let mut clusters: Vec<(Vec<u8>, Vec<Unit<'a>>)> = Vec::new();
    for unit in units {
        let Some(keys) = &unit.facts.keys else { continue };
        match clusters.last_mut() {
            Some((max, cluster)) if keys.min <= *max => {
                if keys.max > *max {
                    max.clone_from(&keys.max);
                }
                cluster.push(unit);
            }
            _ => clusters.push((keys.max.clone(), vec![unit])),
        }
    }
    let clusters = clusters.into_iter().map(|(_, cluster)| cluster);
    clusters.flat_map(|cluster| settle(cluster, wanted)).collect()
}

/// A cluster of one input is no cluster, unless its keys must be unique.
fn settle(mut cluster: Vec<Unit<'_>>, wanted: Wanted) -> Vec<Vec<Unit<'_>>> {
    let alone = cluster.iter().all(|unit| unit.id.input == cluster[0].id.input);
    if cluster.len() == 1 {
        return vec![cluster];
    }
    let known = |unit: &Unit<'_>| unit.facts.settled.is_none() && unit.merged != Some(WHY_UNKNOWN);
    let in_order = cluster.iter().all(known);
    if alone && in_order && wanted.order == WantedOrder::Key {
        cluster.sort_by_key(|unit| unit.id);
        return cluster.into_iter().map(|unit| vec![unit]).collect();
    }
    vec![all_merged(cluster, WHY_OVERLAP)]
}

fn all_merged<'a>(mut units: Vec<Unit<'a>>, why: &'static str) -> Vec<Unit<'a>> {
    units.sort_by_key(|unit| unit.id);
    for unit in &mut units {
        unit.merged.get_or_insert(why);
    }
    units
}

struct Builder<'a> {
    stretches: Vec<Stretch>,
    /// Small row groups that wait to be stitched.
    pending: Vec<Unit<'a>>,
    group_rows: u64,
    rows_max: u64,
}

impl<'a> Builder<'a> {
    fn take(&mut self, cluster: Vec<Unit<'a>>) {
        match cluster.iter().find_map(|unit| unit.merged) {
            Some(why) => {
                // Few rows beside a merge go with it, rather than become a row group of their own.
                let mut cluster = cluster;
                match self.has_few() {
                    true => cluster.append(&mut self.pending),
                    false => self.flush(),
                }
                cluster.sort_by_key(|unit| unit.id);
                self.merge(&cluster, why);
            }
            None => cluster.into_iter().for_each(|unit| self.take_alone(unit)),
        }
    }

    fn take_alone(&mut self, unit: Unit<'a>) {
        let (rows, waiting) = (unit.facts.rows, self.pending_rows());
        let is_large = rows >= self.group_rows / 2;
        // A crumb before a large one goes with it, rather than become a row group of its own.
        let most = (self.group_rows / 4 * 5).min(self.rows_max);
        let has_crumbs = waiting > 0 && waiting < self.group_rows / 8 && rows + waiting <= most;
        if is_large && unit.facts.copies && !has_crumbs {
            self.flush();
            self.push(Path::Copy, &[unit], WHY_COPY);
            return;
        }
        if waiting + rows > self.group_rows && !has_crumbs {
            self.flush();
        }
        self.pending.push(unit);
    }

    fn pending_rows(&self) -> u64 {
        self.pending.iter().map(|unit| unit.facts.rows).sum()
    }

    fn has_few(&self) -> bool {
        !self.pending.is_empty() && self.pending_rows() < self.group_rows / 2
    }

    fn flush(&mut self) {
        let has_few = self.has_few();
        let pending = std::mem::take(&mut self.pending);
        match self.stretches.last() {
            _ if pending.is_empty() => {}
            Some(last) if has_few && last.path == Path::Merge => self.merge(&pending, last.why),
            _ => self.push(Path::Stitch, &pending, WHY_STITCH),
        }
    }

    /// Merges that follow one another are one.
    fn merge(&mut self, units: &[Unit<'a>], why: &'static str) {
        match self.stretches.last_mut().filter(|last| last.path == Path::Merge) {
            Some(last) => {
                last.rows += units.iter().map(|unit| unit.facts.rows).sum::<u64>();
                last.groups.extend(units.iter().map(|unit| unit.id));
                last.groups.sort_unstable();
            }
            None => self.push(Path::Merge, units, why),
        }
    }

    fn push(&mut self, path: Path, units: &[Unit<'a>], why: &'static str) {
        self.stretches.push(Stretch {
            path,
            rows: units.iter().map(|unit| unit.facts.rows).sum(),
            groups: units.iter().map(|unit| unit.id).collect(),
            why,
        });
    }

    fn finish(mut self) -> Paths {
        self.flush();
        Paths(self.stretches)
    }
}

impl fmt::Display for Paths {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|stretch| writeln!(f, "{stretch}"))
    }
}

impl fmt::Display for Stretch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let verb = match self.path {
            Path::Copy => "copy",
            Path::Stitch => "stitch",
            Path::Merge => "merge",
        };
        let mut inputs: Vec<usize> = self.groups.iter().map(|id| id.input).collect();
        inputs.dedup();
        write!(f, "{verb} {} rows, ", self.rows)?;
        match (self.groups.as_slice(), inputs.as_slice()) {
            ([only], _) => write!(f, "row group {} of input {}", only.group, only.input)?,
            (groups, [input]) => write!(f, "{} row groups of input {input}", groups.len())?,
            (groups, inputs) => write!(f, "{} row groups of {} inputs", groups.len(), inputs.len())?,
        }
        write!(f, ": {}", self.why)
    }
}

#[cfg(test)]
#[path = "paths_tests.rs"]
mod tests;
