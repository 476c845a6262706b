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
    bytes_read: Arc<AtomicUsize>,
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
        self.bytes_read.fetch_add(length, Ordering::SeqCst);
        std::thread::sleep(self.latency);
        Ok(self.bytes.slice(offset as usize..offset as usize + length))
    }
}

struct Store {
    reads: Arc<AtomicUsize>,
    bytes_read: Arc<AtomicUsize>,
    inputs: Vec<Arc<dyn Input>>,
}

fn store(files: Vec<Bytes>, latency_ms: u64) -> Store {
    let (reads, bytes_read) = (Arc::<AtomicUsize>::default(), Arc::<AtomicUsize>::default());
    let input = |bytes| {
        Arc::new(Counted {
            bytes,
            reads: Arc::clone(&reads),
            bytes_read: Arc::clone(&bytes_read),
            latency: Duration::from_millis(latency_ms),
        }) as Arc<dyn Input>
    };
    Store {
        inputs: files.into_iter().map(input).collect(),
        reads,
        bytes_read,
    }
}

impl Store {
    fn reads(&self) -> usize {
        self.reads.load(Ordering::SeqCst)
    }

    /// Bytes that were read since this was asked last.
    fn bytes_read(&self) -> usize {
        self.bytes_read.swap(0, Ordering::SeqCst)
    }

    /// Bytes read by an uncut job, and by all ranges of a cut one, with a budget of so many bytes.
    fn whole_and_cut(&self, spec: &MergeSpec, ranges: usize, memory_bytes: u64) -> (usize, usize) {
        let budget = Budget {
            memory_bytes,
            threads: 1,
        };
        let whole = try_merge_within(&self.inputs, spec, budget).unwrap();
        let whole_bytes = self.bytes_read();
        let spans = cut_job(&self.inputs, spec, ranges).unwrap();
        assert_eq!(spans.len(), ranges);
        self.bytes_read();
        let merge = |span| try_merge_range(&self.inputs, spec, span, budget).unwrap();
        let parts: Vec<Merged> = spans.iter().map(merge).collect();
        let rows: u64 = parts.iter().map(|part| part.report.rows_out()).sum();
        assert_eq!(rows, whole.report.rows_out());
        let most = parts.iter().map(|part| part.report.rows_out()).max().unwrap();
        assert!(
            most <= rows / ranges as u64 * 3 / 2,
            "{most} of {rows} rows in one range"
        );
        (whole_bytes, self.bytes_read())
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
    let (found, _) = digest_of(
        &store.inputs[0],
        RowHash::default(),
        Budget::default(),
        &Unwatched,
    )
    .unwrap();
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

#[test]
fn two_halves_of_disjoint_files_read_each_byte_about_once() {
    let store = store(
        (0..8).map(|number| file(number * 100_000, 1, 100_000)).collect(),
        0,
    );
    let (whole, halves) = store.whole_and_cut(&sorted_by(&["k"]), 2, 256 << 20);
    assert!(halves < whole * 5 / 4, "{halves} bytes in halves, {whole} in one");
}

#[test]
fn ranges_read_the_row_groups_that_they_meet_and_of_others_nothing() {
    let properties = WriterProperties::builder()
        .set_max_row_group_row_count(Some(25_000))
        .build();
    let rows = |start: i64| {
        batch(vec![
            ("k", ints((0..400_000).map(|row| start + row * 2))),
            ("a", ints((0..400_000).map(noise))),
            ("b", ints((0..400_000).map(|row| noise(row + 7)))),
        ])
    };
    let files = [0, 1].map(|start| parquet_with(&rows(start), properties.clone()));
    let store = store(files.to_vec(), 0);
    let (whole, quarters) = store.whole_and_cut(&sorted_by(&["k"]), 4, 256 << 20);
    assert!(
        quarters < whole * 3 / 2,
        "{quarters} bytes in quarters, {whole} in one"
    );
}

/// One row group that holds all keys, in many pages.
#[test]
fn ranges_read_the_pages_that_they_meet() {
    let properties = WriterProperties::builder()
        .set_max_row_group_row_count(Some(1 << 20))
        .set_data_page_row_count_limit(10_000)
        .set_write_batch_size(1_000)
        .set_dictionary_enabled(false)
        .build();
    let rows = |start: i64| {
        let columns = (0..4).map(|n| {
            (
                ["a", "b", "c", "d"][n as usize],
                ints((0..400_000).map(move |row| noise(row + n))),
            )
        });
        let keys = ("k", ints((0..400_000).map(|row| start + row * 2)));
        batch(std::iter::once(keys).chain(columns).collect())
    };
    let files = [0, 1].map(|start| parquet_with(&rows(start), properties.clone()));
    assert!(files[0].len() > 8 << 20);
    let store = store(files.to_vec(), 0);
    let (whole, quarters) = store.whole_and_cut(&sorted_by(&["k"]), 4, 256 << 20);
    assert!(
        quarters < whole * 3 / 2,
        "{quarters} bytes in quarters, {whole} in one"
    );
}

#[test]
fn an_input_that_does_not_meet_the_range_costs_its_footer_alone() {
    let store = store((0..6).map(|number| file(number * 50_000, 1, 50_000)).collect(), 0);
    let keys = inspect(&store.inputs[5], &by(&sorted_by(&["k"]).sort))
        .unwrap()
        .keys
        .unwrap();
    let last = KeySpan {
        from: Some(keys.min),
        until: None,
    };
    let before = store.reads();
    store.bytes_read();
    let merged = try_merge_range(&store.inputs, &sorted_by(&["k"]), &last, Budget::default()).unwrap();
    assert_eq!(merged.report.rows_out(), 50_000);
    assert_eq!(
        store.reads() - before,
        6 + 1,
        "a footer of each, and all of the last"
    );
    let most = store.inputs[5].len() as usize + 6 * (64 << 10);
    assert!(store.bytes_read() <= most);
}
