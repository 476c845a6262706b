//! Which way each stretch of a merge goes: what is planned from footers, what the merge then does, and how it proves each.

use crate::support::*;
use arrow::array::*;
use baler_merge::*;
use parquet::basic::{Compression, ZstdLevel};
use parquet::file::properties::WriterProperties;
use std::sync::{Arc, Mutex};

const GROUP_ROWS: usize = 1_000;

fn rows(keys: impl IntoIterator<Item = i64>) -> RecordBatch {
    let keys: Vec<i64> = keys.into_iter().collect();
    let noise = keys
        .iter()
        .map(|key| key.wrapping_mul(0x5851_F42D_4C95_7F2D) ^ 77)
        .collect::<Vec<_>>();
    batch(vec![("k", ints(keys)), ("noise", ints(noise))])
}

/// A file as Baler would write it, so that its row groups can be copied.
fn file(keys: impl IntoIterator<Item = i64>) -> Arc<dyn Input> {
    let properties = WriterProperties::builder()
        .set_compression(Compression::ZSTD(ZstdLevel::try_new(1).unwrap()))
        .set_max_row_group_row_count(Some(GROUP_ROWS))
        .build();
    input(parquet_with(&rows(keys), properties))
}

fn spec() -> MergeSpec {
    MergeSpec {
        row_group_rows: GROUP_ROWS,
        ..sorted_by(&["k"])
    }
}

/// Large row groups, small ones, two that overlap, and large ones again.
fn mixed() -> Vec<Arc<dyn Input>> {
    vec![
        file(0..3_000),
        file(3_000..3_300),
        file(3_300..3_600),
        file((4_000..6_000).step_by(2)),
        file((4_001..6_001).step_by(2)),
        file(7_000..9_000),
    ]
}

const BUDGET: Budget = Budget {
    memory_bytes: 64 << 20,
    threads: 1,
};

fn planned(inputs: &[Arc<dyn Input>], spec: &MergeSpec) -> Vec<PlannedStretch> {
    let mut ranges = plan_job(inputs, spec, 1, BUDGET).unwrap();
    assert_eq!(ranges.len(), 1);
    assert!(ranges[0].span.is_all());
    ranges.remove(0).stretches
}

type Told = (Way, &'static str, u64);

fn told(stretch: &PlannedStretch) -> Told {
    (stretch.way, stretch.why, stretch.rows)
}

fn done(report: &Report) -> Vec<Told> {
    let told = |stretch: &ProvedStretch| (stretch.way, stretch.why, stretch.rows);
    report.stretches.iter().map(told).collect()
}

fn merge_of(inputs: &[Arc<dyn Input>], spec: &MergeSpec) -> Report {
    try_merge_within(inputs, spec, BUDGET).unwrap().report
}

#[test]
fn each_stretch_goes_the_way_that_was_planned_and_is_proved_by_itself() {
    let inputs = mixed();
    let planned = planned(&inputs, &spec());
    let report = merge_of(&inputs, &spec());
    assert_eq!(planned.iter().map(told).collect::<Vec<_>>(), done(&report));
    let ways: Vec<(Way, u64)> = planned
        .iter()
        .map(|stretch| (stretch.way, stretch.rows))
        .collect();
    let expected = [
        (Way::Copied, 3_000),
        (Way::Stitched, 600),
        (Way::Merged, 2_000),
        (Way::Copied, 2_000),
    ];
    assert_eq!(ways, expected);
    for (stretch, inputs) in planned.iter().zip([&[0][..], &[1, 2], &[3, 4], &[5]]) {
        assert!(stretch.inputs.iter().eq(inputs), "{stretch:?}");
        assert_eq!(stretch.provided.is_some(), stretch.way != Way::Merged);
    }
    assert!(
        planned
            .windows(2)
            .all(|pair| pair[0].keys.as_ref().unwrap().max < pair[1].keys.as_ref().unwrap().min)
    );
    for stretch in &report.stretches {
        assert_eq!(stretch.read, stretch.written, "{stretch:?}");
        assert_ne!(stretch.read, Digest::EMPTY, "{stretch:?}");
    }
    let merged = digest(&rows(4_000..6_000));
    assert_eq!(
        report.stretches[2].read, merged,
        "the digest of its rows, and of no others"
    );
    let seals: Digest = [0, 1, 3].iter().map(|at| report.stretches[*at].read).sum();
    assert_eq!(seals, report.copied.read);
}

/// Sums over all of a merge may agree although two stretches of it do not.
#[test]
fn a_stretch_that_does_not_balance_is_no_proof() {
    let report = merge_of(&mixed(), &spec());
    let twisted = |twist: &dyn Fn(&mut Vec<ProvedStretch>)| {
        let mut report = report.clone();
        twist(&mut report.stretches);
        report.prove().unwrap_err().to_string()
    };
    let swapped = twisted(&|stretches| {
        let written = stretches[0].written;
        stretches[0].written = stretches[1].written;
        stretches[1].written = written;
    });
    assert!(swapped.contains("of a stretch of 3000 rows"), "{swapped}");
    let short = twisted(&|stretches| stretches[0].rows -= 1);
    assert!(short.contains("7599 in all stretches"), "{short}");
}

#[test]
fn what_a_rule_drops_is_proved_with_its_stretch() {
    let keyed = MergeSpec {
        row_group_rows: GROUP_ROWS,
        ..last_write_wins(&["k"], "noise")
    };
    let inputs = [file(0..2_000), file(3_000..4_000), file(3_500..4_500)];
    let planned = planned(&inputs, &keyed);
    let report = merge_of(&inputs, &keyed);
    assert_eq!(planned.iter().map(told).collect::<Vec<_>>(), done(&report));
    let [copied, merged] = &report.stretches[..] else {
        panic!("{:?}", report.stretches)
    };
    assert_eq!((copied.way, copied.dropped), (Way::Copied, Digest::EMPTY));
    assert_eq!(merged.dropped, report.drops[0].digest);
    assert_eq!(merged.written, digest(&rows(3_000..4_500)));
}

/// Footers do not tell whether rows are in order, so a plan says what it rests on.
#[test]
fn a_plan_says_what_it_takes_for_granted() {
    let backwards = [file((0..2_000).rev()), file(3_000..5_000)];
    let before = planned(&backwards, &spec());
    assert_eq!(before[0].provided, Some("its rows are in order"));
    assert_eq!((before.len(), before[0].way), (1, Way::Copied));
    let after = done(&merge_of(&backwards, &spec()));
    assert_eq!(
        after[0],
        (Way::Merged, "their keys or their order are not known", 2_000)
    );
    assert_eq!(after[1].0, Way::Copied);

    let twice = [file((0..2_000).map(|key| key / 2)), file(3_000..5_000)];
    let keyed = MergeSpec {
        row_group_rows: GROUP_ROWS,
        ..last_write_wins(&["k"], "noise")
    };
    let before = planned(&twice, &keyed);
    assert_eq!(before[0].provided, Some("its rows are in order, each key once"));
    let after = done(&merge_of(&twice, &keyed));
    assert_eq!(after[0], (Way::Merged, "may hold a key more than once", 2_000));

    let unordered = MergeSpec {
        row_group_rows: GROUP_ROWS,
        ..MergeSpec::default()
    };
    let before = planned(&backwards, &unordered);
    assert!(before.iter().all(|stretch| stretch.provided.is_none()));
    assert_eq!(
        before.iter().map(told).collect::<Vec<_>>(),
        done(&merge_of(&backwards, &unordered))
    );
}

/// What has every row merged is settled before any path is looked at.
#[test]
fn where_all_is_merged_plan_and_report_say_why() {
    let inputs = mixed();
    let reread = MergeSpec {
        decode_all: true,
        ..spec()
    };
    let expiring = MergeSpec {
        expire: Some(Expire {
            column: TimeColumn {
                name: "k".into(),
                integer_unit: Some(EpochUnit::Milliseconds),
            },
            before: RowTime(-1),
        }),
        ..spec()
    };
    for (spec, why) in [
        (reread, "every row is wanted in the digest of its output"),
        (expiring, "a rule must look at every row"),
    ] {
        let planned = planned(&inputs, &spec);
        assert_eq!(
            planned.iter().map(told).collect::<Vec<_>>(),
            [(Way::Merged, why, 7_600)]
        );
        assert_eq!(done(&merge_of(&inputs, &spec)), [(Way::Merged, why, 7_600)]);
    }
}

#[test]
fn a_plan_of_ranges_is_what_each_range_does() {
    let mut inputs = mixed();
    inputs.push(file((9_500..15_500).step_by(2)));
    inputs.push(file((9_501..15_501).step_by(2)));
    let planned = plan_job(&inputs, &spec(), 4, BUDGET).unwrap();
    let spans: Vec<KeySpan> = planned.iter().map(|range| range.span.clone()).collect();
    assert_eq!(spans, cut_job(&inputs, &spec(), 4).unwrap());
    assert!(spans.len() > 1, "{spans:?}");
    let mut passed = 0;
    for range in &planned {
        let report = try_merge_range(&inputs, &spec(), &range.span, BUDGET)
            .unwrap()
            .report;
        let done = done(&report);
        assert_eq!(done.len(), range.stretches.len(), "{range:?}");
        for (planned, done) in range.stretches.iter().zip(done) {
            assert_eq!((planned.way, planned.why), (done.0, done.1));
            match planned.way {
                Way::Merged => assert!(
                    done.2 <= planned.rows,
                    "row groups across an edge are counted whole"
                ),
                _ => assert_eq!(done.2, planned.rows),
            }
            passed += u64::from(planned.way != Way::Merged);
        }
    }
    assert!(passed > 1);
}

/// Trap: a plan that looks at keys reads as much as half the merge does.
#[test]
fn a_plan_reads_a_footer_of_each_input_and_nothing_else() {
    let once = |keys: std::ops::Range<i64>| -> Arc<dyn Input> {
        let properties = WriterProperties::builder()
            .set_max_row_group_row_count(Some(GROUP_ROWS))
            .build();
        Arc::new(Flaky {
            bytes: parquet_with(&rows(keys), properties),
            reads_left: Mutex::new(1),
        })
    };
    let inputs = [once(0..50_000), once(60_000..70_000), once(65_000..75_000)];
    assert!(inputs[0].len() > 4 * (64 << 10), "its end is not all of it");
    let planned = planned(&inputs, &spec());
    assert_eq!(planned.iter().map(|stretch| stretch.rows).sum::<u64>(), 70_000);
}
