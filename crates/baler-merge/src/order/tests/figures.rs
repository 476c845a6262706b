//! Figures, not laws: `cargo test --release -p baler-merge order::tests::figures -- --ignored --nocapture`.

use super::super::*;
use super::Blocks;
use crate::spec::SortColumn;
use arrow::array::*;
use arrow::datatypes::*;
use std::sync::Arc;

const LANES: usize = 256;
const ROWS: usize = 50_000;
const WINDOW_ROWS: usize = 1 << 20;

/// A generator that needs no crate.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        (mixed ^ (mixed >> 31)) % limit
    }
}

/// Sorted key columns of each lane, and versions.
struct Shape {
    name: &'static str,
    schema: Schema,
    sort: Vec<SortColumn>,
    keyed: bool,
    lanes: Vec<(Vec<ArrayRef>, ArrayRef)>,
}

/// Every lane has ten rows of each of 5,000 series.
fn overlap() -> Shape {
    let mut random = Random(7);
    let lanes = (0..LANES as i64).map(|lane| {
        let series = Int64Array::from_iter_values((0..ROWS as i64).map(|row| row / 10));
        let times = (0..ROWS as i64)
            .map(|row| 1_760_000_000_000 + (lane * 10 + row % 10) * 15_000 + random.below(1000) as i64);
        let times = TimestampMillisecondArray::from_iter_values(times);
        let columns: Vec<ArrayRef> = vec![Arc::new(series), Arc::new(times)];
        (columns, versions(lane, ROWS))
    });
    Shape {
        name: "overlap",
        lanes: lanes.collect(),
        schema: Schema::new(vec![
            Field::new("series", DataType::Int64, true),
            Field::new("time", DataType::Timestamp(TimeUnit::Millisecond, None), true),
            Field::new("version", DataType::Int64, true),
        ]),
        sort: ["series", "time"].map(SortColumn::ascending).to_vec(),
        keyed: false,
    }
}

/// Every lane has random keys, of as many as there are, written in an order that is theirs.
fn upsert(name: &'static str, keys: u64, keyed: bool, text: impl Fn(u64) -> String) -> Shape {
    let mut random = Random(11);
    let lanes = (0..LANES as i64).map(|lane| {
        let mut keys: Vec<u64> = (0..ROWS).map(|_| random.below(keys)).collect();
        keys.sort_unstable();
        keys.dedup();
        let texts = StringArray::from_iter_values(keys.iter().copied().map(&text));
        let columns: Vec<ArrayRef> = vec![Arc::new(texts)];
        (columns, versions(lane, keys.len()))
    });
    Shape {
        name,
        lanes: lanes.collect(),
        schema: Schema::new(vec![
            Field::new("key", DataType::Utf8, true),
            Field::new("version", DataType::Int64, true),
        ]),
        sort: vec![SortColumn::ascending("key")],
        keyed,
    }
}

fn versions(lane: i64, rows: usize) -> ArrayRef {
    Arc::new(Int64Array::from_value(lane, rows))
}

/// Nanoseconds that this thread has worked: on a machine that others use too the clock on the wall tells little.
fn busy() -> u64 {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").expect("Linux tells");
    let first = text.split(' ').next().expect("three numbers");
    first.parse().expect("a number")
}

fn measure(shape: &Shape) {
    let rows: usize = shape.lanes.iter().map(|(columns, _)| columns[0].len()).sum();
    let says = |what: &str, began: u64| {
        let took = (busy() - began) as f64;
        let (name, nanos) = (shape.name, took / rows as f64);
        println!("{name:>14} {what:>8}: {nanos:6.1} ns a row, {:.3} s", took / 1e9);
    };
    let group = shape.keyed.then_some(shape.sort.len());
    let began = busy();
    let mut observed = Observed::new(&shape.schema, &shape.sort, group).unwrap();
    let by_version = [SortColumn::ascending("version")];
    let mut observed_versions = Observed::new(&shape.schema, &by_version, None).unwrap();
    for (columns, versions) in &shape.lanes {
        observed.add(columns).unwrap();
        observed_versions.add(&[Arc::clone(versions)]).unwrap();
    }
    says("observe", began);
    let (layout, version_layout) = (observed.decide().unwrap(), observed_versions.decide().unwrap());
    let began = busy();
    let pack = |(columns, versions): &(Vec<ArrayRef>, ArrayRef)| KeyBlock {
        keys: layout.pack(columns).unwrap(),
        versions: shape
            .keyed
            .then(|| version_layout.pack(&[Arc::clone(versions)]).unwrap()),
        ordinals: None,
    };
    let blocks: Vec<KeyBlock> = shape.lanes.iter().map(pack).collect();
    says("pack", began);
    let began = busy();
    assert!(blocks.iter().all(|block| descents(&block.keys).is_empty()));
    says("sorted?", began);
    let lanes = || -> Vec<Box<dyn KeyLane>> {
        let lane =
            |block: &KeyBlock| -> Box<dyn KeyLane> { Box::new(Blocks::new(block.clone(), usize::MAX / 2)) };
        blocks.iter().map(lane).collect()
    };
    let began = busy();
    let mut merger = Merger::new(&layout, lanes()).unwrap();
    let windows: Vec<Order> = std::iter::from_fn(|| merger.next_window(WINDOW_ROWS).unwrap()).collect();
    says("merge", began);
    let began = busy();
    let mut verifier = Verifier::new(&layout, lanes());
    windows.iter().for_each(|order| verifier.check(order).unwrap());
    verifier.finish().unwrap();
    says("verify", began);
    let runs: usize = windows.iter().map(|order| order.runs().len()).sum();
    let kept: usize = windows.iter().map(Order::kept).sum();
    let key_bytes = layout.key_bytes();
    println!(
        "{:>14}: {rows} rows, {kept} kept, {runs} runs, {key_bytes:?} bytes a key",
        shape.name
    );
}

#[test]
#[ignore = "prints figures; only a release build tells anything"]
fn figures() {
    measure(&overlap());
    let digits = |key: u64| format!("{key:012}");
    measure(&upsert("upsert", FEW, true, digits));
    measure(&upsert("upsert, all", FEW, false, digits));
    measure(&upsert("unique", MANY, true, digits));
    measure(&upsert("long", MANY, true, |key| {
        format!("{key:012}-and some more")
    }));
    measure(&upsert("uuid", MANY, true, |key| uuid(key, MANY)));
    measure(&upsert("uuid, upsert", FEW, true, |key| uuid(key, FEW)));
    measure(&upsert("tied", MANY, true, |key| {
        format!("{:05}/some/long/way/{key:012}", key / (MANY / 1000))
    }));
}

const FEW: u64 = 4_000_000;
const MANY: u64 = 1_000_000_000_000;

/// A UUID for each of some keys, in their order.
fn uuid(key: u64, keys: u64) -> String {
    let high = ((u128::from(key) << 64) / u128::from(keys)) as u64;
    let text = format!("{high:016x}{:016x}", Random(key).below(u64::MAX));
    let part = |from, to| &text[from..to];
    let (time, clock) = ([part(0, 8), part(8, 12), part(12, 16)], part(16, 20));
    format!("{}-{}-{}-{clock}-{}", time[0], time[1], time[2], part(20, 32))
}
