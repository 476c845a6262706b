//! Schemas that differ: columns appear, disappear, change width; and what must not be mixed names the odd file.

use crate::support::*;
use arrow::array::*;
use arrow::datatypes::*;
use baler_merge::*;
use parquet::file::metadata::KeyValue;
use parquet::file::properties::WriterProperties;
use parquet::file::reader::{FileReader, SerializedFileReader};
use std::sync::Arc;

fn one(name: &str, column: ArrayRef) -> RecordBatch {
    batch(vec![(name, column)])
}

#[test]
fn columns_appear_disappear_and_change_places() {
    let files = [
        batch(vec![("k", ints([1])), ("old", ints([10]))]),
        batch(vec![("new", strings(["n"])), ("k", ints([2]))]),
    ];
    let rows = merged(&files, &sorted_by(&["k"])).rows();
    let names: Vec<_> = rows
        .schema()
        .fields()
        .iter()
        .map(|field| field.name().clone())
        .collect();
    assert_eq!(names, ["k", "old", "new"]);
    assert!(rows.column(1).is_null(1) && rows.column(2).is_null(0));
    assert_eq!(rows.column(2).as_string::<i32>().value(1), "n");
}

#[test]
fn a_sort_column_that_some_inputs_lack_counts_as_null_there() {
    let files = [
        batch(vec![("k", ints([1])), ("x", ints([1]))]),
        batch(vec![("x", ints([2]))]),
    ];
    let merged = merged(&files, &sorted_by(&["k"]));
    assert_eq!(merged.column("x").as_primitive::<Int64Type>().values(), &[2, 1]);
}

fn promoted(a: ArrayRef, b: ArrayRef) -> DataType {
    let merged = merged(&[one("c", a), one("c", b)], &MergeSpec::default());
    merged.column("c").data_type().clone()
}

#[test]
fn widths_units_and_layouts_are_promoted() {
    let int8: ArrayRef = Arc::new(Int8Array::from(vec![1]));
    let uint8: ArrayRef = Arc::new(UInt8Array::from(vec![255]));
    let uint32: ArrayRef = Arc::new(UInt32Array::from(vec![u32::MAX]));
    assert_eq!(promoted(int8.clone(), ints([5])), DataType::Int64);
    assert_eq!(promoted(int8.clone(), uint8), DataType::Int16);
    assert_eq!(promoted(uint32, int8), DataType::Int64);
    assert_eq!(
        promoted(
            Arc::new(Float32Array::from(vec![1.5])),
            Arc::new(Float64Array::from(vec![0.1]))
        ),
        DataType::Float64
    );
    assert_eq!(
        promoted(
            Arc::new(TimestampMillisecondArray::from(vec![5]).with_timezone("UTC")),
            Arc::new(TimestampMicrosecondArray::from(vec![7]).with_timezone("+00:00")),
        ),
        DataType::Timestamp(TimeUnit::Microsecond, Some("UTC".into()))
    );
    let decimal = |digits, scale| {
        Arc::new(
            Decimal128Array::from(vec![123])
                .with_precision_and_scale(digits, scale)
                .unwrap(),
        ) as ArrayRef
    };
    assert_eq!(
        promoted(decimal(10, 2), decimal(12, 6)),
        DataType::Decimal128(14, 6)
    );
    assert_eq!(
        promoted(Arc::new(LargeStringArray::from(vec!["a"])), strings(["b"])),
        DataType::LargeUtf8
    );
    assert_eq!(
        promoted(Arc::new(StringViewArray::from(vec!["a"])), strings(["b"])),
        DataType::Utf8
    );
    assert_eq!(promoted(Arc::new(NullArray::new(2)), ints([1])), DataType::Int64);
}

#[test]
fn structures_and_lists_are_promoted_inside() {
    let structure = |name: &str, child: ArrayRef| {
        let field = Arc::new(Field::new(name, child.data_type().clone(), true));
        Arc::new(StructArray::from(vec![(field, child)])) as ArrayRef
    };
    let mixed = merged(
        &[
            one("c", structure("x", Arc::new(Int32Array::from(vec![1])))),
            one("c", structure("x", ints([2]))),
            one("c", structure("y", strings(["z"]))),
        ],
        &MergeSpec::default(),
    );
    let column = mixed.column("c");
    let column = column.as_struct();
    assert_eq!(column.column_by_name("x").unwrap().data_type(), &DataType::Int64);
    assert_eq!(
        column.column_by_name("y").unwrap().as_string::<i32>().value(2),
        "z"
    );
    let list = |values: Vec<i32>| {
        ListArray::from_iter_primitive::<Int32Type, _, _>(vec![Some(
            values.into_iter().map(Some).collect::<Vec<_>>(),
        )])
    };
    let wide = ListArray::from_iter_primitive::<Int64Type, _, _>(vec![Some(vec![Some(1i64 << 40)])]);
    let merged = merged(
        &[one("c", Arc::new(list(vec![1, 2]))), one("c", Arc::new(wide))],
        &MergeSpec::default(),
    );
    let column = merged.column("c");
    assert_eq!(
        column
            .as_list::<i32>()
            .value(0)
            .as_primitive::<Int64Type>()
            .values(),
        &[1, 2]
    );
}

#[test]
fn an_unsafe_difference_names_the_odd_file() {
    let files = inputs(&[one("c", ints([1])), one("c", strings(["x"])), one("c", ints([2]))]);
    match try_merge(&files, &MergeSpec::default(), 0).err().unwrap() {
        MergeError::Input { culprits, reason } => {
            assert_eq!(culprits, [1]);
            assert!(
                reason.contains("column c") && reason.contains("Utf8") && reason.contains("Int64"),
                "{reason}"
            );
        }
        other => panic!("{other}"),
    }
}

#[test]
fn what_would_lose_something_is_unsafe() {
    let pairs: [(ArrayRef, ArrayRef); 5] = [
        (ints([1]), Arc::new(Float64Array::from(vec![0.5]))),
        (ints([1]), Arc::new(UInt64Array::from(vec![1]))),
        (strings(["a"]), Arc::new(BinaryArray::from(vec![&b"a"[..]]))),
        (ints([1]), Arc::new(TimestampSecondArray::from(vec![1]))),
        (
            Arc::new(TimestampSecondArray::from(vec![1])),
            Arc::new(TimestampSecondArray::from(vec![1]).with_timezone("UTC")),
        ),
    ];
    for (a, b) in pairs {
        let (type_a, type_b) = (a.data_type().clone(), b.data_type().clone());
        let files = inputs(&[one("c", a.clone()), one("c", a), one("c", b)]);
        let why = try_merge(&files, &MergeSpec::default(), 0).err();
        assert!(
            matches!(&why, Some(MergeError::Input { culprits, .. }) if culprits == &[2]),
            "{type_a} and {type_b}"
        );
    }
}

#[test]
fn a_time_that_does_not_fit_its_finer_unit_names_the_file() {
    let far = Arc::new(TimestampMillisecondArray::from(vec![i64::MAX / 1000]));
    let fine = Arc::new(TimestampNanosecondArray::from(vec![1]));
    let why = try_merge(
        &inputs(&[one("c", fine), one("c", far)]),
        &MergeSpec::default(),
        0,
    )
    .err();
    assert!(
        matches!(&why, Some(MergeError::Input { culprits, .. }) if culprits == &[1]),
        "{why:?}"
    );
}

#[test]
fn metadata_stays_where_all_agree() {
    let with = |values: &[(&str, &str)]| {
        let metadata = values
            .iter()
            .map(|(k, v)| KeyValue::new((*k).into(), (*v).to_owned()))
            .collect();
        let properties = WriterProperties::builder()
            .set_key_value_metadata(Some(metadata))
            .build();
        input(parquet_with(&one("c", ints([1])), properties))
    };
    let files = [
        with(&[("owner", "me"), ("run", "1")]),
        with(&[("owner", "me"), ("run", "2")]),
    ];
    let merged = try_merge(&files, &MergeSpec::default(), 0).unwrap();
    let reader = SerializedFileReader::new(merged.files[0].clone()).unwrap();
    let pairs = reader
        .metadata()
        .file_metadata()
        .key_value_metadata()
        .unwrap()
        .clone();
    let value = |key: &str| {
        pairs
            .iter()
            .find(|pair| pair.key == key)
            .and_then(|pair| pair.value.clone())
    };
    assert_eq!(value("owner").as_deref(), Some("me"));
    assert_eq!(value("run"), None);
}

#[test]
fn a_column_that_cannot_be_null_stays_so_only_if_all_inputs_have_it() {
    let strict = |rows: i64| {
        let schema = Arc::new(Schema::new(vec![Field::new("k", DataType::Int64, false)]));
        RecordBatch::try_new(schema, vec![ints(0..rows)]).unwrap()
    };
    let kept = merged(&[strict(1), strict(2)], &sorted_by(&["k"])).rows();
    assert!(!kept.schema().field(0).is_nullable());
    let widened = merged(&[strict(1), one("k", ints([5]))], &sorted_by(&["k"])).rows();
    assert!(widened.schema().field(0).is_nullable());
}
