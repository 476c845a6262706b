//! The order of a merge is that of the naive one: put everything together, sort it, look at each key.

use super::super::merge::Pace;
use super::super::*;
use super::Blocks;
use crate::spec::SortColumn;
use arrow::array::*;
use arrow::datatypes::*;
use proptest::prelude::*;
use std::collections::BTreeMap;
use std::sync::Arc;

/// A row: the rule's key, the rest of the sort key, a version.
type Row = (i64, i64, Option<i64>);

/// Which form the keys shall take.
#[derive(Clone, Copy, Debug)]
pub(super) enum Shape {
    Short,
    Long,
    /// Strings of many lengths that begin alike.
    Strings,
    /// Strings of which eight and eight agree in so many of the bytes after the common beginning, and more.
    Tied(usize),
}

fn columns(shape: Shape, rows: &[Row]) -> Vec<ArrayRef> {
    let keys = rows.iter().map(|row| row.0);
    let key: ArrayRef = match shape {
        Shape::Short => Arc::new(Int64Array::from_iter_values(keys)),
        Shape::Long => Arc::new(Decimal128Array::from_iter_values(
            keys.map(|key| i128::from(key) << 90),
        )),
        Shape::Strings => Arc::new(StringArray::from_iter_values(
            keys.map(|key| format!("{key:040}-{}", "x".repeat(key as usize))),
        )),
        Shape::Tied(bytes) => Arc::new(StringArray::from_iter_values(keys.map(|key| {
            let (alike, ending) = ("=".repeat(bytes), "x".repeat(key as usize % 5));
            format!("{:06}{alike}{key:06}{ending}", key / 8)
        }))),
    };
    let rest = Int64Array::from_iter_values(rows.iter().map(|row| row.1));
    vec![key, Arc::new(rest)]
}

/// Sorted lanes, packed; the rows of each lane as they come in it, with their ordinals.
pub(super) struct Job {
    pub(super) layout: Layout,
    pub(super) lanes: Vec<KeyBlock>,
    block_rows: usize,
    rows: Vec<Vec<(Row, u64)>>,
    keyed: bool,
}

impl Job {
    /// `block_rows` cuts the lanes into blocks.
    pub(super) fn new(shape: Shape, inputs: &[Vec<Row>], keyed: bool, block_rows: usize) -> Self {
        let all: Vec<Row> = inputs.concat();
        let schema = Schema::new(vec![
            Field::new("key", columns(shape, &all)[0].data_type().clone(), true),
            Field::new("rest", DataType::Int64, true),
            Field::new("version", DataType::Int64, true),
        ]);
        let sort = [SortColumn::ascending("key"), SortColumn::ascending("rest")];
        let mut observed = Observed::new(&schema, &sort, keyed.then_some(1)).unwrap();
        let mut versions = Observed::new(&schema, &[SortColumn::ascending("version")], None).unwrap();
        let version = |rows: &[Row]| -> Vec<ArrayRef> {
            vec![Arc::new(rows.iter().map(|row| row.2).collect::<Int64Array>())]
        };
        for rows in inputs {
            observed.add(&columns(shape, rows)).unwrap();
            versions.add(&version(rows)).unwrap();
        }
        let (layout, versions) = (observed.decide().unwrap(), versions.decide().unwrap());
        let mut job = Self {
            layout,
            lanes: Vec::new(),
            block_rows,
            rows: Vec::new(),
            keyed,
        };
        for input in inputs {
            let order = sort_order(&job.layout.pack(&columns(shape, input)).unwrap());
            let rows: Vec<Row> = order.iter().map(|row| input[*row as usize]).collect();
            let keys = job.layout.pack(&columns(shape, &rows)).unwrap();
            let versions = versions.pack(&version(&rows)).unwrap();
            let ordinals: Vec<u64> = order.iter().map(|row| u64::from(*row)).collect();
            job.lanes.push(KeyBlock {
                keys,
                versions: Some(versions),
                ordinals: Some(ordinals.clone().into()),
            });
            job.rows.push(rows.into_iter().zip(ordinals).collect());
        }
        job
    }

    /// The same lanes, but as they stood in their inputs: rows need not say where that was.
    pub(super) fn left_as_they_stood(mut self) -> Self {
        for lane in &mut self.lanes {
            lane.ordinals = None;
        }
        for rows in &mut self.rows {
            (0..).zip(rows).for_each(|(at, row)| row.1 = at);
        }
        self
    }

    pub(super) fn lanes(&self) -> Vec<Box<dyn KeyLane>> {
        let lane =
            |rows: &KeyBlock| -> Box<dyn KeyLane> { Box::new(Blocks::new(rows.clone(), self.block_rows)) };
        self.lanes.iter().map(lane).collect()
    }

    /// All windows, each proved.
    pub(super) fn merged(&self, window: usize, pace: Option<Pace>) -> Vec<Order> {
        let mut merger = Merger::new(&self.layout, self.lanes()).unwrap().at_pace(pace);
        let mut verifier = Verifier::new(&self.layout, self.lanes());
        let mut windows = Vec::new();
        while let Some(order) = merger.next_window(window).unwrap() {
            verifier.check(&order).unwrap();
            windows.push(order);
        }
        verifier.finish().unwrap();
        assert!(
            merger.next_window(window).unwrap().is_none(),
            "the end is the end"
        );
        windows
    }

    /// Every row as (lane, kept), by sorting all.
    fn expected(&self) -> Vec<(usize, bool)> {
        let mut all: Vec<(Row, usize, u64)> = Vec::new();
        for (lane, rows) in self.rows.iter().enumerate() {
            all.extend(rows.iter().map(|(row, ordinal)| (*row, lane, *ordinal)));
        }
        // Lanes are in order already, so a stable sort by key alone is by key, lane and row.
        all.sort_by_key(|(row, _, _)| (row.0, row.1));
        let mut newest = BTreeMap::new();
        for (row, lane, ordinal) in &all {
            let age = (row.2, *lane, *ordinal);
            let newest = newest.entry(row.0).or_insert(age);
            *newest = age.max(*newest);
        }
        let fate = |(row, lane, ordinal): &(Row, usize, u64)| {
            !self.keyed || newest.get(&row.0) == Some(&(row.2, *lane, *ordinal))
        };
        all.iter().map(|row| (row.1, fate(row))).collect()
    }
}

pub(super) fn expanded(windows: &[Order]) -> Vec<(usize, bool)> {
    let runs = windows.iter().flat_map(Order::runs);
    runs.flat_map(|run| std::iter::repeat_n((run.lane(), run.kept()), run.rows()))
        .collect()
}

fn shape() -> impl Strategy<Value = Shape> {
    prop_oneof![
        Just(Shape::Short),
        Just(Shape::Long),
        Just(Shape::Strings),
        prop::sample::select(vec![0, 8, 16, 32, 100]).prop_map(Shape::Tied),
    ]
}

fn pace() -> impl Strategy<Value = Option<Pace>> {
    prop_oneof![Just(None), Just(Some(Pace::Runs)), Just(Some(Pace::Chunks))]
}

fn inputs(keys: i64) -> impl Strategy<Value = Vec<Vec<Row>>> {
    // The largest leave no bits for anything beside them.
    let version = prop_oneof![9 => 0..3i64, 1 => prop::sample::select(vec![1 << 40, 1 << 61, i64::MAX])];
    let row = (0..keys, 0..3i64, prop::option::of(version));
    prop::collection::vec(prop::collection::vec(row, 0..40), 0..9)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000))]
    #[test]
    fn any_lanes_in_any_windows_come_out_as_if_sorted_together(
        inputs in prop_oneof![inputs(3), inputs(12), inputs(200)],
        shape in shape(),
        keyed in any::<bool>(),
        left_as_they_stood in any::<bool>(),
        block_rows in 1..50usize,
        window in 1..300usize,
        pace in pace(),
    ) {
        let mut job = Job::new(shape, &inputs, keyed, block_rows);
        if left_as_they_stood {
            job = job.left_as_they_stood();
        }
        let windows = job.merged(window, pace);
        prop_assert_eq!(expanded(&windows), job.expected());
        for order in &windows {
            let runs = order.runs();
            prop_assert_eq!(order.rows(), runs.iter().map(|run| run.rows()).sum::<usize>());
            prop_assert_eq!(order.kept(), runs.iter().filter(|run| run.kept()).map(|run| run.rows()).sum::<usize>());
        }
        for (number, order) in windows.iter().enumerate() {
            let last = number + 1 == windows.len();
            prop_assert!(last || order.rows() == window || keyed && order.rows() > window);
        }
    }
}

/// Enough rows for the merger to choose its own way, and to choose again.
#[test]
fn run_free_stretches_and_runs_in_one_job_find_one_order() {
    let mut seed = 1_u64;
    let mut random = |below: u64| {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        ((seed >> 33) % below) as i64
    };
    for keyed in [false, true] {
        let mut inputs = Vec::new();
        for lane in 0..40 {
            let mixed = (0..1_500).map(|_| (random(30_000), random(2), Some(random(4))));
            let mut rows: Vec<Row> = mixed.collect();
            // Then in runs of fifty, one lane after the other.
            rows.extend((0..1_000).map(|row| (40_000 + row / 50, lane, Some(0))));
            inputs.push(rows);
        }
        for shape in [Shape::Short, Shape::Long, Shape::Tied(0), Shape::Tied(32)] {
            let job = Job::new(shape, &inputs, keyed, 700).left_as_they_stood();
            let windows = job.merged(17_000, None);
            assert_eq!(expanded(&windows), job.expected());
            let by_runs = expanded(&job.merged(17_000, Some(Pace::Runs)));
            assert_eq!(expanded(&windows), by_runs);
            assert_eq!(
                expanded(&windows),
                expanded(&job.merged(100_000, Some(Pace::Chunks)))
            );
        }
    }
}

#[test]
fn one_key_with_more_rows_than_a_window_is_judged_whole_and_takes_few_runs() {
    // The newest row is in the middle of the last but one lane.
    let mut inputs: Vec<Vec<Row>> = vec![vec![(1, 0, Some(1)); 30_000]; 8];
    inputs[6][17_000].2 = Some(2);
    for pace in [Pace::Runs, Pace::Chunks] {
        let job = Job::new(Shape::Short, &inputs, true, 4_000);
        let windows = job.merged(1_000, Some(pace));
        assert_eq!(windows.len(), 1);
        assert_eq!((windows[0].rows(), windows[0].kept()), (240_000, 1));
        let kept = expanded(&windows).iter().position(|(_, kept)| *kept);
        assert_eq!(kept, Some(6 * 30_000 + 17_000));
    }
}

#[test]
fn equal_versions_the_later_input_wins_and_within_it_the_later_row() {
    // The later row of the input stands first in the lane, because the rest of its sort key is less.
    let inputs = [
        vec![(1, 9, None), (1, 5, None)],
        vec![(2, 9, Some(1)), (2, 5, Some(1)), (1, 0, None)],
    ];
    let job = Job::new(Shape::Short, &inputs, true, 10);
    let order = expanded(&job.merged(100, None));
    // Key 1: lane 1 is later. Key 2: the row with the lesser rest was written later.
    assert_eq!(order, [(1, true), (0, false), (0, false), (1, true), (1, false)]);
}
