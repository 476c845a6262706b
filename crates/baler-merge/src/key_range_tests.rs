//! Encoded keys compare as the keys do.

use super::*;
use proptest::prelude::*;
use std::cmp::Ordering;
use std::sync::Arc;

fn column(descending: bool, nulls_first: bool) -> SortColumn {
    SortColumn {
        name: String::new(),
        descending,
        nulls_first,
    }
}

fn encoded(columns: &[ArrayRef], sort: &[SortColumn]) -> Vec<u8> {
    encode_row(columns, 0, sort)
        .expect("these types have an encoding")
        .min()
}

/// How two optional values should compare.
fn expected<T: PartialOrd>(a: &Option<T>, b: &Option<T>, sort: &SortColumn) -> Ordering {
    match (a, b) {
        (None, None) => Ordering::Equal,
        (None, Some(_)) if sort.nulls_first => Ordering::Less,
        (None, Some(_)) => Ordering::Greater,
        (Some(_), None) => expected(b, a, sort).reverse(),
        (Some(a), Some(b)) => {
            let order = a.partial_cmp(b).expect("no NaN here");
            if sort.descending { order.reverse() } else { order }
        }
    }
}

proptest! {
    #[test]
    fn pairs_of_integers_and_strings(
        a in (prop::option::of(-3..3i64), prop::option::of("[\u{0}-\u{2}a]{0,3}")),
        b in (prop::option::of(-3..3i64), prop::option::of("[\u{0}-\u{2}a]{0,3}")),
        directions in prop::array::uniform4(any::<bool>()),
    ) {
        let sort = [column(directions[0], directions[1]), column(directions[2], directions[3])];
        let key = |row: &(Option<i64>, Option<String>)| encoded(&[
            Arc::new(Int64Array::from(vec![row.0])),
            Arc::new(StringArray::from(vec![row.1.as_deref()])),
        ], &sort);
        let order = expected(&a.0, &b.0, &sort[0]).then(expected(&a.1, &b.1, &sort[1]));
        prop_assert_eq!(key(&a).cmp(&key(&b)), order);
    }

    #[test]
    fn floats_of_both_widths(a in any::<f32>(), b in any::<f64>()) {
        prop_assume!(!a.is_nan() && !b.is_nan());
        let sort = [column(false, true)];
        let narrow = encoded(&[Arc::new(Float32Array::from(vec![a]))], &sort);
        let wide = encoded(&[Arc::new(Float64Array::from(vec![b]))], &sort);
        prop_assert_eq!(narrow.cmp(&wide), f64::from(a).total_cmp(&b));
    }

    #[test]
    fn decimals_of_different_scales(a in -99_999i128..99_999, b in -99_999i128..99_999) {
        let sort = [column(false, true)];
        let decimal = |value, scale| {
            let array = Decimal128Array::from(vec![value]).with_precision_and_scale(30, scale).expect("it fits");
            encoded(&[Arc::new(array)], &sort)
        };
        prop_assert_eq!(decimal(a, 2).cmp(&decimal(b, 4)), (a * 100).cmp(&b));
    }

    #[test]
    fn cut_keys_bound_what_they_were_cut_from(text in "[a\u{7f}]{60,70}", more in "[a\u{7f}]{0,9}", descending in any::<bool>()) {
        let sort = [column(descending, true), column(false, true)];
        let bound = |text: &str, number: i64| {
            let text: ArrayRef = Arc::new(StringArray::from(vec![text]));
            let number: ArrayRef = Arc::new(Int64Array::from(vec![number]));
            encode_row(&[text, number], 0, &sort).expect("encodable")
        };
        for number in [i64::MIN, 0, i64::MAX] {
            let (cut, same) = (bound(&text, 0), bound(&text, number));
            if text.len() > KEY_STRING_BYTES_MAX {
                prop_assert!(cut.clone().min() <= same.clone().min() && same.max() <= cut.clone().max());
            }
            let longer = bound(&(text.clone() + &more), number);
            prop_assert!(longer.clone().min() <= longer.max());
        }
    }
}

#[test]
fn the_encoding_is_what_is_written_down() {
    let sort = [column(false, true), column(true, false)];
    let key = encoded(
        &[
            Arc::new(StringArray::from(vec!["a\0"])),
            Arc::new(BooleanArray::from(vec![true])),
        ],
        &sort,
    );
    assert_eq!(key, [1, 1, b'a', 0, 0xFF, 0, 1, 1, 0xFE]);
}
