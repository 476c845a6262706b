//! A job that was cut into ranges, each merged by itself: together they give the rows of the uncut job, in its order, and their
//! reports add up to its report.

use crate::any_inputs::{Case, case, cases};
use crate::claims::footer;
use crate::columns;
use crate::support::*;
use arrow::array::*;
use arrow::compute::concat_batches;
use arrow::datatypes::*;
use baler_merge::*;
use bytes::Bytes;
use parquet::file::properties::WriterProperties;
use proptest::prelude::*;
use std::sync::Arc;

/// Where to put an edge: at some key, at what it begins with, or a little behind that.
#[derive(Debug, Clone)]
struct EdgePlan {
    key: prop::sample::Index,
    kept: prop::sample::Index,
    more: Vec<u8>,
}

fn edge_plans() -> impl Strategy<Value = Vec<EdgePlan>> {
    let more = prop_oneof![3 => Just(Vec::new()), 1 => prop::collection::vec(any::<u8>(), 1..3)];
    let edge = (any::<prop::sample::Index>(), any::<prop::sample::Index>(), more);
    let edge = edge.prop_map(|(key, kept, more)| EdgePlan { key, kept, more });
    prop::collection::vec(edge, 0..6)
}

/// Spans between edges that were put near keys that occur; some of them empty.
fn spans(plans: &[EdgePlan], keys: &[Vec<u8>]) -> Vec<KeySpan> {
    let edge = |plan: &EdgePlan| {
        let key = match keys.is_empty() {
            true => &[1u8, 1][..],
            false => plan.key.get(keys),
        };
        // Half of the edges are whole keys.
        let kept = 1 + plan.kept.index(2 * key.len());
        [&key[..kept.min(key.len())], &plan.more].concat()
    };
    let mut edges: Vec<Vec<u8>> = plans.iter().map(edge).collect();
    edges.sort();
    let from = std::iter::once(None).chain(edges.iter().cloned().map(Some));
    let until = edges.iter().cloned().map(Some).chain([None]);
    from.zip(until)
        .map(|(from, until)| KeySpan { from, until })
        .collect()
}

/// Keys at the ends of inputs and outputs.
fn some_keys(inputs: &[Arc<dyn Input>], sort: &[SortColumn], whole: &Merged) -> Vec<Vec<u8>> {
    let told = inputs.iter().map(|file| inspect(file, &by(sort)).unwrap().keys);
    let found = whole.report.outputs.iter().map(|output| output.keys.clone());
    told.chain(found)
        .flatten()
        .flat_map(|range| [range.min, range.max])
        .collect()
}

fn rows_of(parts: &[Merged]) -> Vec<RecordBatch> {
    let files = parts.iter().flat_map(|part| &part.files);
    files.flat_map(read).collect()
}

/// Merges each span by itself and compares the sum with the whole.
fn check_spans(
    inputs: &[Arc<dyn Input>],
    spec: &MergeSpec,
    budget: Budget,
    whole: &Merged,
    spans: &[KeySpan],
) {
    let merge = |span: &KeySpan| try_merge_range(inputs, spec, span, budget).unwrap();
    let parts: Vec<Merged> = spans.iter().map(merge).collect();
    match whole.files.is_empty() {
        true => assert!(parts.iter().all(|part| part.files.is_empty())),
        false => {
            let expected = whole.rows();
            let found = concat_batches(&expected.schema(), &rows_of(&parts)).unwrap();
            assert_eq!(found.columns(), expected.columns(), "{spans:?}");
        }
    }
    for (part, span) in parts.iter().zip(spans) {
        assert_eq!(&part.report.range, span);
        assert_eq!(part.report.sorted_by, whole.report.sorted_by);
        part.report.prove().unwrap();
    }
    check_inputs(&parts, inputs, spans);
    check_drops(&parts, whole);
}

fn check_inputs(parts: &[Merged], inputs: &[Arc<dyn Input>], spans: &[KeySpan]) {
    for (number, file) in inputs.iter().enumerate() {
        let of_parts = || parts.iter().map(|part| part.report.inputs[number]);
        let (rows, expected) = digest_of(file, RowHash::default(), Budget::default(), &Unwatched).unwrap();
        assert!(of_parts().all(|input| input.rows_in_footer == rows));
        let read: u64 = of_parts().map(|input| input.rows_read).sum();
        assert_eq!(read, rows, "input {number} of {spans:?}");
        let positions: Positions = of_parts().map(|input| input.positions).sum();
        assert_eq!(positions, Positions::all(rows), "input {number} of {spans:?}");
        if of_parts().all(|input| input.rows_copied == 0) {
            let digest: Digest = of_parts().map(|input| input.digest).sum();
            assert_eq!(digest, expected);
        }
    }
}

fn check_drops(parts: &[Merged], whole: &Merged) {
    for rule in [OLDER_VERSION, DELETED, EXPIRED] {
        let of = |report: &Report| {
            let drops = report.drops.iter().filter(|dropped| dropped.rule == rule);
            drops.fold((0, Digest::EMPTY), |(rows, digest), dropped| {
                (rows + dropped.rows, digest + dropped.digest)
            })
        };
        let sum = parts.iter().fold((0, Digest::EMPTY), |(rows, digest), part| {
            let (more, more_digest) = of(&part.report);
            (rows + more, digest + more_digest)
        });
        assert_eq!(sum, of(&whole.report), "{rule}");
    }
}

fn check(case: &Case, ranges: usize, edges: &[EdgePlan]) {
    let inputs = case.inputs();
    let whole = try_merge_within(&inputs, &case.spec, case.budget).unwrap();
    let cut = cut_job(&inputs, &case.spec, ranges).unwrap();
    assert!(cut.len() <= ranges.max(1));
    check_spans(&inputs, &case.spec, case.budget, &whole, &cut);
    let sort = case.bounds();
    if sort.is_empty() {
        assert_eq!(cut, [KeySpan::ALL]);
    } else {
        let spans = spans(edges, &some_keys(&inputs, &sort, &whole));
        check_spans(&inputs, &case.spec, case.budget, &whole, &spans);
    }
}

proptest! {
    #![proptest_config(cases(48, 3_000))]
    #[test]
    fn any_cut_of_small_inputs_gives_the_rows_of_the_uncut_job(
        case in case(60, 8, 12),
        ranges in 0..7usize,
        edges in edge_plans(),
    ) {
        check(&case, ranges, &edges);
    }
}

proptest! {
    #![proptest_config(cases(3, 60))]
    /// Many pages and row groups in each file.
    #[test]
    fn any_cut_of_long_inputs_gives_the_rows_of_the_uncut_job(
        case in case(6_000, 4, 30),
        ranges in 2..5usize,
        edges in edge_plans(),
    ) {
        check(&case, ranges, &edges);
    }
}

/// Two types of one column, of which the second holds the values of the first too.
fn promoted() -> Vec<(DataType, DataType)> {
    use DataType::*;
    vec![
        (Int8, Int64),
        (UInt8, Int16),
        (UInt32, UInt64),
        (Float32, Float64),
        (Float16, Float32),
        (Date32, Date64),
        (Time32(TimeUnit::Second), Time64(TimeUnit::Nanosecond)),
        (
            Timestamp(TimeUnit::Second, None),
            Timestamp(TimeUnit::Nanosecond, None),
        ),
        (
            Timestamp(TimeUnit::Millisecond, Some("UTC".into())),
            Timestamp(TimeUnit::Microsecond, Some("+00:00".into())),
        ),
        (Decimal128(9, 2), Decimal128(30, 4)),
        (Decimal128(20, 0), Decimal256(60, 9)),
        (Utf8, LargeUtf8),
        (FixedSizeBinary(4), Binary),
    ]
}

/// A column of a type from small numbers, every one of which any type can hold.
fn column(of_type: &DataType, values: &[Option<i8>]) -> ArrayRef {
    let number = |value: i8| i64::from(value) + 100;
    let numbers: Int64Array = values.iter().map(|value| value.map(number)).collect();
    let cast = |from: &dyn Array, to: &DataType| arrow::compute::cast(from, to).unwrap();
    match of_type {
        DataType::Float16 | DataType::Float32 | DataType::Float64 => {
            let odd = |value: i8| match value {
                0 => f32::NAN,
                1 => -0.0,
                2 => 0.0,
                3 => f32::NEG_INFINITY,
                other => f32::from(other) / 4.0,
            };
            let floats: Float32Array = values.iter().map(|value| value.map(odd)).collect();
            cast(&floats, of_type)
        }
        DataType::Utf8 | DataType::LargeUtf8 => {
            // Longer than what bounds keep, and the same until then.
            let text = |value: i8| match value % 3 {
                0 => format!("{}{value:04}", "x".repeat(62)),
                1 => format!("\0{value}"),
                _ => value.to_string(),
            };
            let texts: StringArray = values.iter().map(|value| value.map(text)).collect();
            cast(&texts, of_type)
        }
        DataType::FixedSizeBinary(_) | DataType::Binary => {
            let bytes = |value: i8| [0xFF, value as u8, 0, 0];
            let texts: BinaryArray = values.iter().map(|value| value.map(bytes)).collect();
            cast(&texts, of_type)
        }
        DataType::Time32(_) | DataType::Time64(_) => {
            let seconds: Int32Array = values.iter().map(|v| v.map(|v| number(v) as i32)).collect();
            let times = cast(&seconds, &DataType::Time32(TimeUnit::Second));
            cast(&times, of_type)
        }
        DataType::Timestamp(_, zone) => {
            let times = cast(&numbers, &DataType::Timestamp(TimeUnit::Second, zone.clone()));
            cast(&times, of_type)
        }
        DataType::Date32 | DataType::Date64 => {
            let days: Int32Array = values.iter().map(|v| v.map(|v| number(v) as i32)).collect();
            cast(&cast(&days, &DataType::Date32), of_type)
        }
        DataType::Int8 => {
            let small: Int8Array = values.iter().map(|value| value.map(|value| value + 40)).collect();
            Arc::new(small)
        }
        DataType::Int64 => {
            let wide: Int64Array = values.iter().map(|v| v.map(|v| i64::from(v) + 40)).collect();
            Arc::new(wide)
        }
        _ => cast(&numbers, of_type),
    }
}

fn values() -> impl Strategy<Value = Vec<Option<i8>>> {
    prop::collection::vec(prop::option::weighted(0.9, -40..40i8), 1..60)
}

fn sorting() -> impl Strategy<Value = SortColumn> {
    any::<(bool, bool)>().prop_map(|(descending, nulls_first)| SortColumn {
        name: "key".into(),
        descending,
        nulls_first,
    })
}

proptest! {
    #![proptest_config(cases(96, 4_000))]
    /// Edges are compared in the common type, whatever an input's own is: nulls, NaN and promoted values lie in one range.
    #[test]
    fn promoted_keys_lie_in_one_range_each(
        types in prop::sample::select(promoted()),
        values in prop::collection::vec((values(), any::<bool>(), any::<bool>()), 2..5),
        sort in sorting(),
        keyed in any::<bool>(),
        ranges in 1..6usize,
        edges in edge_plans(),
    ) {
        let mut id = 0;
        let file = |(number, (values, presorted, lacks_key)): (usize, &(Vec<Option<i8>>, bool, bool))| {
            let of_type = if number % 2 == 0 { &types.0 } else { &types.1 };
            let first = id;
            id += values.len() as i64;
            let ids = ints(first..id);
            // The first two have the column in both types.
            if *lacks_key && number > 1 {
                return input(parquet(&batch(vec![("id", ids)])));
            }
            let rows = batch(vec![("key", column(of_type, values)), ("id", ids)]);
            let rows = if *presorted { sort_naively(&[rows], std::slice::from_ref(&sort)) } else { rows };
            input(parquet(&rows))
        };
        let inputs: Vec<Arc<dyn Input>> = values.iter().enumerate().map(file).collect();
        let rule = match keyed {
            true => Rule::LastWriteWins { key: vec!["key".into()], version: "id".into() },
            false => Rule::KeepAll,
        };
        let spec = MergeSpec {
            sort: vec![sort.clone()],
            rule,
            row_group_rows: 16,
            target_file_bytes: 1,
            ..MergeSpec::default()
        };
        let budget = Budget { memory_bytes: 0, threads: 1 };
        let whole = try_merge_within(&inputs, &spec, budget).unwrap();
        let cut = cut_job(&inputs, &spec, ranges).unwrap();
        check_spans(&inputs, &spec, budget, &whole, &cut);
        let near_keys = spans(&edges, &some_keys(&inputs, &spec.sort, &whole));
        check_spans(&inputs, &spec, budget, &whole, &near_keys);
    }
}

/// Bits of a file's page index to be flipped: all that say where the pages of the second column lie, and some of the others.
fn bits_of_index(file: &Bytes) -> Vec<(usize, u32)> {
    let footer = footer(file);
    let columns = footer.row_group(0).columns();
    let indexes = columns
        .iter()
        .flat_map(|chunk| [chunk.column_index_range(), chunk.offset_index_range()]);
    let some = indexes
        .flatten()
        .flat_map(|range| range.step_by(5))
        .map(|at| (at as usize, at as u32 % 8));
    let places = columns[1].offset_index_range().unwrap();
    let all = places.flat_map(|at| (0..8).map(move |bit| (at as usize, bit)));
    some.chain(all).collect()
}

/// Two files of 400 rows in pages of 100, sorted by `k`, and two ranges that part them in the midst of the third page.
fn paged() -> ([Bytes; 2], MergeSpec, [KeySpan; 2]) {
    let rows = |start: i64| {
        let words: Vec<String> = (0..400).map(|row| format!("word {}", row * 7 % 400)).collect();
        batch(vec![
            ("k", ints((0..400).map(|row| start + row * 2))),
            ("word", strings(words.iter().map(String::as_str))),
        ])
    };
    let pages = WriterProperties::builder()
        .set_data_page_row_count_limit(100)
        .set_write_batch_size(50)
        .set_dictionary_enabled(false)
        .build();
    let files = [0, 1].map(|start| parquet_with(&rows(start), pages.clone()));
    let spec = sorted_by(&["k"]);
    let one = input(parquet(&rows(500).slice(0, 1)));
    let edge = inspect(&one, &by(&spec.sort)).unwrap().keys.unwrap().min;
    let spans = [(None, Some(edge.clone())), (Some(edge), None)];
    (files, spec, spans.map(|(from, until)| KeySpan { from, until }))
}

/// Says of all pages of the second column but the first that they begin eight rows later.
fn moved_pages(file: &Bytes) -> Vec<u8> {
    let index = footer(file).row_group(0).column(1).offset_index_range().unwrap();
    let index = index.start as usize..index.end as usize;
    let mut bytes = file.to_vec();
    for first in [100u16, 200, 300] {
        // A field of 64 bits, and a number of two bytes, doubled because it may be negative.
        let field = |row: u16| [0x16, (row * 2) as u8 | 0x80, ((row * 2) >> 7) as u8];
        let found = bytes[index.clone()]
            .windows(3)
            .position(|found| found == field(first));
        let at = index.start + found.unwrap();
        bytes[at..at + 3].copy_from_slice(&field(first + 8));
    }
    bytes
}

/// Trap: pages before a range are skipped by what the index says, and another column's rows are taken for those of a key.
#[test]
fn a_page_with_other_rows_than_its_index_says_is_refused() {
    let (files, spec, spans) = paged();
    let inputs = [input(moved_pages(&files[0])), input(files[1].clone())];
    for span in &spans {
        let merged = try_merge_range(&inputs, &spec, span, Budget::default());
        let refused = matches!(&merged, Err(MergeError::Input { culprits, .. }) if *culprits == [0]);
        assert!(refused, "{:?}", merged.map(|merged| merged.report.rows_in()));
    }
}

/// Pages that are skipped or misplaced by a lie are missed in the sums, or refused; they are never taken for others.
#[test]
fn a_page_index_that_lies_does_no_harm_or_is_noticed() {
    let (files, spec, spans) = paged();
    let sound: Vec<Arc<dyn Input>> = files.iter().cloned().map(input).collect();
    let whole = try_merge(&sound, &spec, 0).unwrap();
    let (mut harmless, mut noticed) = (0, 0);
    for (at, bit) in bits_of_index(&files[0]) {
        let mut bytes = files[0].to_vec();
        bytes[at] ^= 1 << bit;
        let inputs = [input(bytes), sound[1].clone()];
        let merge = |span| try_merge_range(&inputs, &spec, span, Budget::default());
        let parts: Result<Vec<Merged>, MergeError> = spans.iter().map(merge).collect();
        let read = |parts: &[Merged]| parts.iter().map(|part| part.report.rows_in()).sum::<u64>();
        match parts {
            Ok(parts) if read(&parts) == 800 => {
                let found = concat_batches(&whole.rows().schema(), &rows_of(&parts)).unwrap();
                assert_eq!(found.columns(), whole.rows().columns(), "bit {bit} of byte {at}");
                harmless += 1;
            }
            Ok(_) | Err(MergeError::Input { .. }) => noticed += 1,
            Err(other) => panic!("{other}"),
        }
    }
    println!("figure: of flipped bits {harmless} did no harm and {noticed} were noticed");
    assert!(harmless > 0 && noticed > 0);
}

#[test]
fn every_type_of_key_is_cut_or_merged_in_one_range() {
    for (name, column) in columns::orderable(60) {
        let rows = batch(vec![(name, column), ("id", ints(0..60))]);
        let inputs = inputs(&[rows.slice(0, 30), rows.slice(30, 30)]);
        let spec = sorted_by(&[name]);
        let whole = try_merge(&inputs, &spec, 0).unwrap();
        let cut = cut_job(&inputs, &spec, 4).unwrap();
        check_spans(&inputs, &spec, Budget::default(), &whole, &cut);
        if cut.len() == 1 {
            let half = KeySpan {
                from: Some(vec![1, 1]),
                until: None,
            };
            let odd = try_merge_range(&inputs, &spec, &half, Budget::default()).err();
            println!(
                "figure: {name} is not cut ({})",
                odd.map_or("few keys".into(), |why| why.to_string())
            );
        }
    }
}

/// Rows of one key have different versions and stand at different places of the longer sort key.
#[test]
fn under_a_keyed_rule_no_edge_parts_the_rows_of_one_key() {
    let rows = |version: i64| {
        batch(vec![
            ("k", ints((0..100).map(|row| row / 10))),
            ("t", ints((0..100).map(|row| row * 7 % 100))),
            ("version", ints((0..100).map(|row| row * version % 13))),
        ])
    };
    let spec = MergeSpec {
        sort: vec![SortColumn::ascending("k"), SortColumn::ascending("t")],
        ..last_write_wins(&["k"], "version")
    };
    let inputs = inputs(&[rows(3), rows(5)]);
    let whole = try_merge(&inputs, &spec, 0).unwrap();
    assert_eq!(whole.report.rows_out(), 10);
    // In the midst of the rows of key 4, as the longer sort key has them.
    let one = input(parquet(&batch(vec![("k", ints([4])), ("t", ints([50]))])));
    let edge = inspect(&one, &by(&spec.sort)).unwrap().keys.unwrap().min;
    let halves = [(None, Some(edge.clone())), (Some(edge), None)];
    let halves = halves.map(|(from, until)| KeySpan { from, until });
    check_spans(&inputs, &spec, Budget::default(), &whole, &halves);
    for ranges in 2..12 {
        let cut = cut_job(&inputs, &spec, ranges).unwrap();
        assert!(cut.len() > 1);
        check_spans(&inputs, &spec, Budget::default(), &whole, &cut);
    }
}

#[test]
fn rows_without_order_are_not_cut_and_a_range_of_them_is_refused() {
    let inputs = inputs(&[batch(vec![("k", ints(0..10))])]);
    let spec = MergeSpec::default();
    assert_eq!(cut_job(&inputs, &spec, 4).unwrap(), [KeySpan::ALL]);
    let half = KeySpan {
        from: Some(vec![1]),
        until: None,
    };
    let why = try_merge_range(&inputs, &spec, &half, Budget::default()).err();
    assert!(matches!(why, Some(MergeError::Spec(advice)) if advice.contains("sort by a key")));
}

#[test]
fn keys_without_an_encoding_are_not_cut_and_a_range_of_them_is_refused() {
    let keys: ArrayRef = Arc::new(IntervalYearMonthArray::from_iter_values(0..10));
    let inputs = inputs(&[batch(vec![("k", keys)])]);
    let spec = sorted_by(&["k"]);
    assert_eq!(cut_job(&inputs, &spec, 4).unwrap(), [KeySpan::ALL]);
    let half = KeySpan {
        from: Some(vec![1]),
        until: None,
    };
    let why = try_merge_range(&inputs, &spec, &half, Budget::default()).err();
    assert!(matches!(why, Some(MergeError::Spec(advice)) if advice.contains("one range")));
}

#[test]
fn edges_that_cannot_be_compared_are_refused_with_advice() {
    let inputs = inputs(&[batch(vec![("k", ints(0..10))])]);
    let span = |from: &[u8], until: &[u8]| KeySpan {
        from: Some(from.to_vec()),
        until: Some(until.to_vec()),
    };
    for (odd, advice) in [
        (span(&[2, 1], &[2, 2]), "upgrade"),
        (span(&[], &[1]), "upgrade"),
        (span(&[1, 2], &[1, 1]), "ends before it begins"),
    ] {
        let why = try_merge_range(&inputs, &sorted_by(&["k"]), &odd, Budget::default()).err();
        assert!(matches!(why, Some(MergeError::Spec(text)) if text.contains(advice)));
    }
}
