//! Laws of digests, and the proof that rests on them.

use crate::support::*;
use arrow::array::*;
use arrow::compute::{cast, concat_batches};
use arrow::datatypes::*;
use baler_merge::*;
use parquet::file::properties::WriterProperties;
use std::sync::Arc;

fn table() -> RecordBatch {
    batch(vec![
        ("a", ints([1, 2, 3, 4])),
        ("b", ints([10, 20, 30, 40])),
        ("s", strings(["x", "y", "z", ""])),
    ])
}

const HASHES: [RowHash; 2] = [RowHash::Xxh3, RowHash::Weighted];

type DigestOf<'a> = &'a dyn Fn(&RecordBatch) -> Digest;

/// What holds of digests does so whatever rows are hashed by.
fn by_each_hash(law: impl Fn(DigestOf<'_>)) {
    for hash in HASHES {
        law(&|rows| digest_by(hash, rows));
    }
}

fn take(rows: &RecordBatch, order: &[u32]) -> RecordBatch {
    arrow::compute::take_record_batch(rows, &UInt32Array::from(order.to_vec())).unwrap()
}

#[test]
fn order_of_rows_and_columns_does_not_matter() {
    by_each_hash(|digest| {
        let rows = table();
        assert_eq!(digest(&rows), digest(&take(&rows, &[3, 0, 2, 1])));
        assert_eq!(digest(&rows), digest(&rows.project(&[2, 0, 1]).unwrap()));
    });
}

#[test]
fn parts_add_up_to_the_whole() {
    by_each_hash(|digest| {
        let rows = table();
        assert_eq!(
            digest(&rows),
            digest(&rows.slice(0, 1)) + digest(&rows.slice(1, 3))
        );
        assert_eq!(
            digest(&concat_batches(&rows.schema(), [&rows, &rows]).unwrap()),
            digest(&rows) + digest(&rows)
        );
    });
}

#[test]
fn many_rows_of_few_numbers_hash_as_each_alone() {
    by_each_hash(|digest| {
        let rows = batch(vec![
            ("a", ints((0..500).map(|row| row % 7 - 3))),
            ("b", ints((0..500).map(|row| i64::MAX - row % 50))),
        ]);
        let alone = (0..500).map(|row| digest(&rows.slice(row, 1)));
        assert_eq!(digest(&rows), alone.reduce(|sum, row| sum + row).unwrap());
    });
}

#[test]
fn a_row_lost_doubled_or_changed_shows() {
    by_each_hash(|digest| {
        let rows = table();
        assert_ne!(digest(&rows), digest(&rows.slice(0, 3)));
        assert_ne!(digest(&rows), digest(&take(&rows, &[0, 1, 2, 3, 3])));
        assert_ne!(
            digest(&rows),
            digest(&take(&rows, &[0, 1, 2, 2])),
            "one lost and another doubled"
        );
    });
}

#[test]
fn values_swapped_between_rows_or_columns_show() {
    by_each_hash(|digest| {
        let pair = |a: [i64; 2], b: [i64; 2]| digest(&batch(vec![("a", ints(a)), ("b", ints(b))]));
        assert_ne!(pair([1, 2], [10, 20]), pair([1, 2], [20, 10]), "between rows");
        assert_ne!(pair([1, 2], [10, 20]), pair([10, 20], [1, 2]), "between columns");
        assert_ne!(
            pair([1, 2], [10, 20]),
            pair([10, 2], [1, 20]),
            "between columns of one row"
        );
    });
}

#[test]
fn an_absent_column_equals_one_of_nulls() {
    by_each_hash(|digest| {
        let rows = table();
        let mut fields = rows.schema().fields().to_vec();
        fields.push(Arc::new(Field::new("new", DataType::Utf8, true)));
        let mut columns = rows.columns().to_vec();
        columns.push(new_null_array(&DataType::Utf8, 4));
        let wider = RecordBatch::try_new(Arc::new(Schema::new(fields)), columns).unwrap();
        assert_eq!(digest(&rows), digest(&wider));
    });
}

#[test]
fn encodings_and_layouts_do_not_matter() {
    by_each_hash(|digest| {
        let rows = table();
        let plain = WriterProperties::builder().set_dictionary_enabled(false).build();
        let plain = input(parquet_with(&rows, plain));
        let by = |hash| digest_of(&plain, hash, Budget::default(), &Unwatched).unwrap().1;
        assert!(HASHES.map(by).contains(&digest(&rows)));
        let text = rows.column(2);
        let dictionary = DataType::Dictionary(DataType::Int32.into(), DataType::Utf8.into());
        for layout in [DataType::LargeUtf8, DataType::Utf8View, dictionary] {
            let other = batch(vec![
                ("a", rows.column(0).clone()),
                ("b", rows.column(1).clone()),
                ("s", cast(text, &layout).unwrap()),
            ]);
            assert_eq!(digest(&rows), digest(&other), "{layout}");
        }
    });
}

fn same_under_cast(digest: DigestOf<'_>, from: ArrayRef, to: &DataType) {
    let promoted = cast(&from, to).unwrap();
    assert_eq!(
        digest(&batch(vec![("c", from.clone())])),
        digest(&batch(vec![("c", promoted)])),
        "{to}"
    );
}

#[test]
fn safe_promotion_does_not_matter() {
    by_each_hash(|digest| {
        let small: ArrayRef = Arc::new(Int8Array::from(vec![Some(5), None, Some(-3)]));
        [DataType::Int16, DataType::Int32, DataType::Int64]
            .iter()
            .for_each(|to| same_under_cast(digest, small.clone(), to));
        same_under_cast(
            digest,
            Arc::new(UInt32Array::from(vec![u32::MAX, 0])),
            &DataType::Int64,
        );
        same_under_cast(
            digest,
            Arc::new(Float32Array::from(vec![1.5, -0.0, f32::NAN, f32::MIN])),
            &DataType::Float64,
        );
        let seconds: ArrayRef = Arc::new(TimestampSecondArray::from(vec![-1, 0, 1_700_000_000]));
        same_under_cast(
            digest,
            cast(&seconds, &DataType::Timestamp(TimeUnit::Millisecond, None)).unwrap(),
            &DataType::Timestamp(TimeUnit::Nanosecond, None),
        );
        let decimals: ArrayRef = Arc::new(
            Decimal128Array::from(vec![1500, -20, 0])
                .with_precision_and_scale(10, 2)
                .unwrap(),
        );
        same_under_cast(digest, decimals.clone(), &DataType::Decimal128(20, 5));
        same_under_cast(digest, decimals, &DataType::Decimal256(50, 9));
    });
}

#[test]
fn zeros_differ_by_sign_and_kinds_differ() {
    by_each_hash(|digest| {
        let floats = |value: f64| {
            digest(&batch(vec![(
                "c",
                Arc::new(Float64Array::from(vec![value])) as ArrayRef,
            )]))
        };
        assert_ne!(floats(0.0), floats(-0.0));
        let number = digest(&batch(vec![(
            "c",
            Arc::new(Int32Array::from(vec![5])) as ArrayRef,
        )]));
        let day = digest(&batch(vec![(
            "c",
            Arc::new(Date32Array::from(vec![5])) as ArrayRef,
        )]));
        assert_ne!(number, day);
    });
}

#[test]
fn null_and_empty_differ_inside_containers() {
    by_each_hash(|digest| {
        let list = |lists: Vec<Option<Vec<Option<i32>>>>| {
            digest(&batch(vec![(
                "c",
                Arc::new(ListArray::from_iter_primitive::<Int32Type, _, _>(lists)) as ArrayRef,
            )]))
        };
        let (null, empty, of_null) = (
            list(vec![None]),
            list(vec![Some(vec![])]),
            list(vec![Some(vec![None])]),
        );
        assert!(null != empty && empty != of_null && null != of_null);
        assert_ne!(
            list(vec![Some(vec![Some(1)]), Some(vec![Some(2), Some(3)])]),
            list(vec![Some(vec![Some(1), Some(2)]), Some(vec![Some(3)])])
        );
        let fields: Fields = vec![Field::new("x", DataType::Int32, true)].into();
        let structure = |valid: bool| {
            let nulls = arrow::buffer::NullBuffer::from(vec![valid]);
            let child: ArrayRef = Arc::new(Int32Array::from(vec![None]));
            digest(&batch(vec![(
                "c",
                Arc::new(StructArray::new(fields.clone(), vec![child], Some(nulls))) as ArrayRef,
            )]))
        };
        assert_ne!(
            structure(true),
            structure(false),
            "a structure of nulls is not a null structure"
        );
    });
}

#[test]
fn a_row_lost_between_merge_and_encoder_is_refused() {
    let honest = merged(&[table(), table()], &sorted_by(&["a"])).report;
    honest.prove().unwrap();
    let refused = |change: &dyn Fn(&mut Report)| {
        let mut report = honest.clone();
        change(&mut report);
        assert!(matches!(report.prove(), Err(MergeError::Proof(_))));
    };
    refused(&|report| report.outputs[0].rows -= 1);
    refused(&|report| report.outputs[0].digest += digest(&table().slice(0, 1)));
    refused(&|report| report.inputs[1].rows_read -= 1);
    refused(&|report| report.inputs[1].digest = Digest::EMPTY);
    refused(&|report| {
        report.drops.push(Dropped {
            rule: "none",
            rows: 1,
            digest: Digest::EMPTY,
        })
    });
    // One lost, another doubled: rows balance, digests do not.
    let swapped = digest(&take(&table(), &[0, 1, 2, 2])) + digest(&table());
    refused(&|report| report.outputs[0].digest = swapped);
}

#[test]
fn a_digest_keeps_its_value_from_version_to_version() {
    // Receipts keep digests for years; a change here needs another hash, not a new expectation.
    let by = |hash| digest_by(hash, &table()).to_string();
    assert_eq!(by(RowHash::Xxh3), "c86e8c0b9afe5cd62bc808ff4a529a19");
    assert_eq!(by(RowHash::Weighted), "445a244cd72ca7f260bebd0bea436144");
    assert_eq!(by(RowHash::default()), by(RowHash::Weighted));
    let bytes = digest(&table()).to_bytes();
    assert_eq!(Digest::from_bytes(bytes), digest(&table()));
}

/// Every type: what was on record before there was another hash must be found again.
#[test]
fn digests_of_all_kinds_of_values_keep_theirs() {
    let decimals = |digits: Vec<i128>, scale| {
        let decimals = Decimal128Array::from(digits);
        Arc::new(decimals.with_precision_and_scale(38, scale).unwrap()) as ArrayRef
    };
    let rows = batch(vec![
        ("u", Arc::new(UInt64Array::from(vec![u64::MAX, 0, 7]))),
        ("i", Arc::new(Int32Array::from(vec![Some(-1), None, Some(7)]))),
        ("f", Arc::new(Float64Array::from(vec![-1.5, f64::NAN, 0.0]))),
        (
            "t",
            Arc::new(TimestampMillisecondArray::from(vec![-1, 0, 1_760_000_000_000])),
        ),
        ("d", decimals(vec![1500, -20, 0], 2)),
        ("day", Arc::new(Date32Array::from(vec![-1, 0, 20_000]))),
        (
            "s",
            strings(["", "host-0042", "a string that is longer than thirty-two bytes"]),
        ),
        (
            "b",
            Arc::new(BooleanArray::from(vec![Some(true), Some(false), None])),
        ),
    ]);
    let by = |hash| digest_by(hash, &rows).to_string();
    assert_eq!(by(RowHash::Xxh3), "5781cf07c3aef0ab912d7bb64e8ab523");
    assert_eq!(by(RowHash::Weighted), "cf3bc6f418033777753c983815357129");
}
