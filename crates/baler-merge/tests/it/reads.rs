//! Reads, which on an object store are what costs: one for a footer, one for a small file, few for a large one, many at once.

use crate::support::*;
use arrow::array::*;
use baler_merge::*;
use bytes::Bytes;
use parquet::file::properties::WriterProperties;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

/// Counts reads, and lets each take a while.
struct Counted {
    bytes: Bytes,
    reads: Arc<AtomicUsize>,
    latency: Duration,
}

impl Input for Counted {
    fn name(&self) -> &str {
        "counted.parquet"
    }
    fn len(&self) -> u64 {
        self.bytes.len() as u64
    }
    fn read_at(&self, offset: u64, length: usize) -> io::Result<Bytes> {
        self.reads.fetch_add(1, Ordering::SeqCst);
        std::thread::sleep(self.latency);
        Ok(self.bytes.slice(offset as usize..offset as usize + length))
    }
}

struct Store {
    reads: Arc<AtomicUsize>,
    inputs: Vec<Arc<dyn Input>>,
}

fn store(files: Vec<Bytes>, latency_ms: u64) -> Store {
    let reads = Arc::new(AtomicUsize::new(0));
    let input = |bytes| {
        Arc::new(Counted {
            bytes,
            reads: Arc::clone(&reads),
            latency: Duration::from_millis(latency_ms),
        }) as Arc<dyn Input>
    };
    Store {
        inputs: files.into_iter().map(input).collect(),
        reads,
    }
}

impl Store {
    fn reads(&self) -> usize {
        self.reads.load(Ordering::SeqCst)
    }
}

fn noise(row: i64) -> i64 {
    row.wrapping_mul(0x5851_F42D_4C95_7F2D).rotate_left(31)
}

/// Incompressible, so that sizes are what they seem.
fn file(first: i64, step: i64, rows: i64) -> Bytes {
    parquet(&batch(vec![
        ("k", ints((0..rows).map(|row| first + row * step))),
        ("a", ints((0..rows).map(noise))),
        ("b", ints((0..rows).map(|row| noise(row + 7)))),
    ]))
}

#[test]
fn a_footer_costs_one_read_and_a_long_one_two() {
    let small = store(vec![file(0, 1, 100)], 0);
    inspect(&small.inputs[0], &Asked::default()).unwrap();
    assert_eq!(small.reads(), 1);
    let large = store(vec![file(0, 1, 50_000)], 0);
    assert!(large.inputs[0].len() > 1 << 20);
    inspect(&large.inputs[0], &Asked::default()).unwrap();
    assert_eq!(large.reads(), 1, "the end of the file is enough");
    let columns: Vec<(String, ArrayRef)> = (0..2_000).map(|n| (format!("column_{n}"), ints([n]))).collect();
    let wide = batch(
        columns
            .iter()
            .map(|(name, column)| (name.as_str(), column.clone()))
            .collect(),
    );
    let wide = store(vec![parquet(&wide)], 0);
    inspect(&wide.inputs[0], &Asked::default()).unwrap();
    assert_eq!(wide.reads(), 2);
}

#[test]
fn a_hundred_small_inputs_cost_a_hundred_reads() {
    for spec in [
        sorted_by(&["k"]),
        MergeSpec::default(),
        last_write_wins(&["k"], "a"),
    ] {
        let store = store((0..100).map(|number| file(number, 100, 200)).collect(), 0);
        let merged = try_merge(&store.inputs, &spec, 64 << 20).unwrap();
        assert_eq!(merged.report.rows_in(), 20_000);
        assert_eq!(store.reads(), 100);
    }
}

#[test]
fn small_inputs_that_the_budget_cannot_hold_cost_few_reads_more() {
    let files: Vec<Bytes> = (0..40).map(|number| file(number, 40, 10_000)).collect();
    let bytes: usize = files.iter().map(Bytes::len).sum();
    let store = store(files, 0);
    assert!(bytes > 8 << 20, "{bytes}");
    let merged = try_merge(&store.inputs, &sorted_by(&["k"]), 0).unwrap();
    assert_eq!(merged.report.rows_out(), 400_000);
    assert!(store.reads() <= 40 * 4, "{} reads", store.reads());
}

#[test]
fn small_row_groups_of_a_large_input_are_read_each_in_one_read() {
    let rows = 400_000;
    let properties = WriterProperties::builder()
        .set_max_row_group_row_count(Some(rows as usize / 8))
        .build();
    let columns: Vec<(String, ArrayRef)> = (0..6)
        .map(|n| (format!("c{n}"), ints((0..rows).map(|row| noise(row + n * 11)))))
        .collect();
    let columns = columns
        .iter()
        .map(|(name, column)| (name.as_str(), column.clone()));
    let store = store(vec![parquet_with(&batch(columns.collect()), properties)], 0);
    assert!(store.inputs[0].len() > 8 << 20);
    let (found, _) = digest_of(&store.inputs[0], Budget::default(), &Unwatched).unwrap();
    assert_eq!(found, rows as u64);
    assert!(store.reads() <= 1 + 8, "{} reads", store.reads());
}

#[test]
fn many_inputs_on_a_slow_store_are_fetched_at_once() {
    let latency_ms = 30;
    let store = store((0..256).map(|number| file(number, 256, 20)).collect(), latency_ms);
    let began = Instant::now();
    let merged = try_merge(&store.inputs, &sorted_by(&["k"]), 64 << 20).unwrap();
    assert_eq!((merged.report.rows_out(), store.reads()), (256 * 20, 256));
    let serial = Duration::from_millis(256 * latency_ms);
    assert!(
        began.elapsed() < serial / 2,
        "{:?} of {serial:?}",
        began.elapsed()
    );
}
