//! Any inputs, any rule, any budget: the rows, their order, the report and every claim in the outputs are what the naive
//! way says.

use crate::claims::{check_claims, footer};
use crate::naive::{Expected, Row, compare, merge_naively, table};
use crate::support::*;
use crate::writers::{Settings, settings, write};
use arrow::array::RecordBatch;
use baler_merge::*;
use proptest::prelude::*;
use std::sync::Arc;

/// Where a file's keys lie beside those of the others.
#[derive(Debug, Clone, Copy)]
enum Layout {
    Disjoint,
    Touching,
    Overlapping,
    Anywhere,
}

/// How far a file keeps the order that is asked for.
#[derive(Debug, Clone, Copy)]
enum Sorting {
    Sorted,
    Partly,
    Not,
}

#[derive(Debug, Clone)]
struct FilePlan {
    rows: usize,
    seed: u64,
    sorting: Sorting,
    settings: Settings,
}

#[derive(Debug, Clone)]
pub(crate) struct Case {
    layout: Layout,
    files: Vec<FilePlan>,
    pub(crate) spec: MergeSpec,
    pub(crate) budget: Budget,
    payload_bytes: usize,
}

/// A stream of numbers that look random and are the same each time.
struct Numbers(u64);

impl Numbers {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    fn below(&mut self, end: usize) -> usize {
        (self.next() % end as u64) as usize
    }

    fn often<T>(&mut self, value: T) -> Option<T> {
        (self.below(10) > 0).then_some(value)
    }
}

const SPAN: i64 = 40;

impl Case {
    fn files(&self) -> Vec<Vec<Row>> {
        let mut id = 0;
        let each = self.files.iter().enumerate().map(|(at, plan)| {
            let mut rows = self.rows(at as i64, plan);
            for row in &mut rows {
                row.id = id;
                id += 1;
                row.payload = payload(id, self.payload_bytes);
            }
            rows
        });
        each.collect()
    }

    fn rows(&self, at: i64, plan: &FilePlan) -> Vec<Row> {
        let mut numbers = Numbers(plan.seed);
        // Later files come first, so that the order of files is not the order of keys.
        let place = self.files.len() as i64 - at;
        let (start, span) = match self.layout {
            Layout::Disjoint => (place * SPAN, SPAN),
            Layout::Touching => (place * SPAN, SPAN + 1),
            Layout::Overlapping => (0, SPAN * 4),
            Layout::Anywhere => (numbers.below(200) as i64, 1 + numbers.below(150) as i64),
        };
        let nulls = matches!(self.layout, Layout::Overlapping | Layout::Anywhere);
        let mut rows: Vec<Row> = (0..plan.rows)
            .map(|_| {
                let key = start + numbers.below(span as usize) as i64;
                random_row(&mut numbers, key, nulls)
            })
            .collect();
        let sort = self.sort();
        if !matches!(plan.sorting, Sorting::Not) {
            rows.sort_by(|a, b| compare(a, b, &sort));
        }
        if matches!(plan.sorting, Sorting::Partly) && rows.len() > 1 {
            let cut = numbers.below(rows.len());
            rows.rotate_left(cut);
        }
        rows
    }

    /// The order of the outputs.
    fn sort(&self) -> Vec<SortColumn> {
        match &self.spec.rule {
            Rule::LastWriteWins { key, .. } if self.spec.sort.is_empty() => {
                key.iter().map(SortColumn::ascending).collect()
            }
            _ => self.spec.sort.clone(),
        }
    }

    /// A budget that bites and a small target make row groups smaller.
    fn row_groups_may_be_full(&self) -> bool {
        self.payload_bytes < 1_000 && self.spec.target_file_bytes > 1 << 20
    }

    /// The files as they are written.
    pub(crate) fn inputs(&self) -> Vec<Arc<dyn Input>> {
        let files = self.files();
        let plans = files.iter().zip(&self.files);
        plans
            .map(|(rows, plan)| input(write(&table(rows), &plan.settings)))
            .collect()
    }

    /// The columns by which outputs are told apart.
    pub(crate) fn bounds(&self) -> Vec<SortColumn> {
        let mut sort = self.sort();
        if let Rule::LastWriteWins { key, .. } = &self.spec.rule {
            sort.truncate(key.len());
        }
        sort
    }
}

fn random_row(numbers: &mut Numbers, key: i64, nulls: bool) -> Row {
    const SCORES: [f64; 5] = [f64::NAN, -0.0, 0.0, 1.5, f64::NEG_INFINITY];
    let name = ["", "a", "b\0", "bé", "a rather long name that is cut nowhere"][numbers.below(5)];
    let tags = numbers.below(4);
    Row {
        key: if nulls { numbers.often(key) } else { Some(key) },
        name: numbers.often(name.to_owned()),
        version: {
            let version = numbers.below(4) as i32;
            numbers.often(version)
        },
        gone: {
            let gone = numbers.below(3) == 0;
            numbers.often(gone)
        },
        time: {
            let time = numbers.below(23_000) as i64 - 3_000;
            numbers.often(time)
        },
        score: {
            let score = SCORES[numbers.below(5)];
            numbers.often(score)
        },
        tags: (tags < 3).then(|| (0..tags).map(|tag| numbers.often(tag as i32)).collect()),
        payload: String::new(),
        id: 0,
    }
}

/// Text that does not compress.
fn payload(id: i64, bytes: usize) -> String {
    let mut numbers = Numbers(id as u64);
    let mut text = String::with_capacity(bytes + 16);
    while text.len() < bytes {
        text.push_str(&format!("{:016x}", numbers.next()));
    }
    text.truncate(bytes);
    text
}

fn budget() -> impl Strategy<Value = Budget> {
    let memory = prop::sample::select(vec![0, 9 << 20, 16 << 20, 64 << 20, 512 << 20]);
    (memory, 1..=3usize).prop_map(|(memory_bytes, threads)| Budget {
        memory_bytes,
        threads,
    })
}

fn sort_column(name: &'static str) -> impl Strategy<Value = SortColumn> {
    any::<(bool, bool)>().prop_map(move |(descending, nulls_first)| SortColumn {
        name: name.into(),
        descending,
        nulls_first,
    })
}

/// For tables of which a file has so many rows.
fn spec(rows: usize) -> impl Strategy<Value = MergeSpec> {
    let shape = (
        prop::sample::select(vec![1u64, 20 * rows as u64, 100 * rows as u64, 512 << 20]),
        prop::sample::select(vec![rows.div_ceil(60), rows.div_ceil(7), 2 * rows, 1 << 20]),
        prop::sample::select(vec![Codec::Zstd(1), Codec::Snappy, Codec::Lz4, Codec::None]),
    );
    let order = (sort_column("key"), sort_column("name"), 0..3usize);
    let limit = || prop::option::of(-2..20i64);
    let rules = (any::<bool>(), 1..3usize, any::<bool>(), limit(), limit());
    (shape, order, rules).prop_map(|(shape, (by_key, by_name, sort_columns), rules)| {
        let (keyed, key_columns, tombstones, drop_before, expire_before) = rules;
        let names = ["key".to_owned(), "name".to_owned()];
        let mut sort = vec![by_key, by_name];
        sort.truncate(sort_columns);
        let key_columns = if sort.is_empty() {
            key_columns
        } else {
            key_columns.min(sort.len())
        };
        MergeSpec {
            sort,
            rule: match keyed {
                true => Rule::LastWriteWins {
                    key: names[..key_columns].to_vec(),
                    version: "version".into(),
                },
                false => Rule::KeepAll,
            },
            row_time: Some(TimeColumn::new("time")),
            deleted: (keyed && tombstones).then(|| Deleted {
                column: "gone".into(),
                drop_before: drop_before.map(RowTime),
            }),
            expire: expire_before.map(|before| Expire {
                column: TimeColumn::new("time"),
                before: RowTime(before),
            }),
            target_file_bytes: shape.0,
            row_group_rows: shape.1,
            codec: shape.2,
            hash: RowHash::default(),
            decode_all: shape.0.is_multiple_of(3),
        }
    })
}

fn files(rows_max: usize, files_max: usize) -> impl Strategy<Value = Vec<FilePlan>> {
    let sorting = prop::sample::select(vec![
        Sorting::Sorted,
        Sorting::Sorted,
        Sorting::Partly,
        Sorting::Not,
    ]);
    let plan = (0..rows_max, any::<u64>(), sorting, settings(rows_max));
    let plan = plan.prop_map(|(rows, seed, sorting, settings)| FilePlan {
        rows,
        seed,
        sorting,
        settings,
    });
    prop::collection::vec(plan, 1..=files_max)
}

pub(crate) fn case(rows_max: usize, files_max: usize, payload_bytes: usize) -> impl Strategy<Value = Case> {
    let layout = prop::sample::select(vec![
        Layout::Disjoint,
        Layout::Touching,
        Layout::Overlapping,
        Layout::Anywhere,
    ]);
    (layout, files(rows_max, files_max), spec(rows_max), budget()).prop_map(
        move |(layout, files, spec, budget)| Case {
            layout,
            files,
            spec,
            budget,
            payload_bytes,
        },
    )
}

fn check(case: &Case) {
    let files = case.files();
    let merged = try_merge_within(&case.inputs(), &case.spec, case.budget).unwrap();
    let expected = merge_naively(&files, &case.spec, &case.sort());
    match merged.files.is_empty() {
        true => assert_eq!(expected.rows.len(), 0),
        false => assert_eq!(merged.rows().columns(), table(&expected.rows).columns()),
    }
    check_report(&merged.report, &expected, &files, case);
    check_plan(&merged.report, case);
    check_outputs(&merged, case);
}

/// What a plan takes for nothing but what it read, the merge does; and it leaves no row out.
fn check_plan(report: &Report, case: &Case) {
    let planned = plan_job(&case.inputs(), &case.spec, 1, case.budget).unwrap();
    let planned = &planned[0].stretches;
    let rows: u64 = planned.iter().map(|stretch| stretch.rows).sum();
    assert_eq!(rows, report.rows_in());
    if planned.iter().all(|stretch| stretch.provided.is_none()) {
        let planned = planned
            .iter()
            .map(|stretch| (stretch.way, stretch.why, stretch.rows));
        let done = report.stretches.iter();
        let done = done.map(|stretch| (stretch.way, stretch.why, stretch.rows));
        assert!(planned.eq(done), "{:?}", report.stretches);
    }
}

fn check_report(report: &Report, expected: &Expected, files: &[Vec<Row>], case: &Case) {
    report.prove().unwrap();
    assert_eq!(report.sorted_by, case.sort());
    assert_eq!(report.inputs.len(), files.len());
    for (input, rows) in report.inputs.iter().zip(files) {
        let told = (input.rows_in_footer, input.rows_read);
        assert_eq!(told, (rows.len() as u64, rows.len() as u64));
        if input.rows_copied == 0 {
            assert_eq!(input.digest, digest(&table(rows)));
        }
    }
    let rules: Vec<&str> = report.drops.iter().map(|dropped| dropped.rule).collect();
    assert_eq!(rules, expected.drops.keys().copied().collect::<Vec<_>>());
    for dropped in &report.drops {
        let rows = &expected.drops[dropped.rule];
        let told = (dropped.rows, dropped.digest);
        assert_eq!(
            told,
            (rows.len() as u64, digest(&table(rows))),
            "{}",
            dropped.rule
        );
    }
}

fn check_outputs(merged: &Merged, case: &Case) {
    for (output, file) in merged.report.outputs.iter().zip(&merged.files) {
        check_claims(file);
        let rows = read(file);
        let rows = arrow::compute::concat_batches(&rows[0].schema(), &rows).unwrap();
        check_keys(output, &rows, &case.bounds());
        assert_eq!(output.times, times(&rows));
        let footer = footer(file);
        assert_eq!(output.row_groups as usize, footer.num_row_groups());
        let uncompressed: i64 = footer
            .row_groups()
            .iter()
            .map(|group| group.total_byte_size())
            .sum();
        assert_eq!(output.uncompressed_bytes as i64, uncompressed);
        let sizes: Vec<usize> = footer
            .row_groups()
            .iter()
            .map(|group| group.num_rows() as usize)
            .collect();
        let target = case.spec.row_group_rows;
        assert!(sizes.iter().all(|rows| *rows <= target), "{sizes:?} for {target}");
        if case.row_groups_may_be_full() {
            let near = sizes.windows(2).all(|pair| pair[0] + pair[1] > target / 2);
            assert!(near, "{sizes:?} for {target}");
        }
    }
    for pair in merged.report.outputs.windows(2) {
        if let (Some(left), Some(right)) = (&pair[0].keys, &pair[1].keys) {
            assert!(left.max <= right.min, "outputs follow each other");
        }
    }
}

fn check_keys(output: &OutputReport, rows: &RecordBatch, bounds: &[SortColumn]) {
    let keys = (!bounds.is_empty()).then(|| KeyRange {
        min: encoded_key(rows, 0, bounds),
        max: encoded_key(rows, rows.num_rows() - 1, bounds),
    });
    assert_eq!(output.keys, keys);
}

/// A key as the format of key ranges has it: version 1, then each column's nulls, integers and strings.
fn encoded_key(rows: &RecordBatch, row: usize, bounds: &[SortColumn]) -> Vec<u8> {
    use arrow::array::{Array, AsArray};
    let mut key = vec![1];
    for sort in bounds {
        let column = rows.column_by_name(&sort.name).unwrap();
        if column.is_null(row) {
            key.push(if sort.nulls_first { 0 } else { 2 });
            continue;
        }
        let mut value = Vec::new();
        if sort.name == "key" {
            let number = column.as_primitive::<arrow::datatypes::Int64Type>().value(row);
            value.extend((i128::from(number) ^ i128::MIN).to_be_bytes());
        } else {
            for byte in column.as_string::<i32>().value(row).bytes() {
                value.push(byte);
                value.extend((byte == 0).then_some(0xFF));
            }
            value.extend([0, 1]);
        }
        key.push(1);
        key.extend(
            value
                .iter()
                .map(|byte| if sort.descending { !byte } else { *byte }),
        );
    }
    key
}

fn times(rows: &RecordBatch) -> Option<RowTimes> {
    use arrow::array::{Array, AsArray};
    let column = rows.column_by_name("time").unwrap();
    let micros = column.as_primitive::<arrow::datatypes::TimestampMicrosecondType>();
    let ends = micros.values().iter().min().zip(micros.values().iter().max());
    let (min, max) = ends.filter(|_| micros.null_count() == 0)?;
    Some(RowTimes {
        min: RowTime(min.div_euclid(1_000)),
        max: RowTime(-(-max).div_euclid(1_000)),
    })
}

pub(crate) fn cases(few: u32, many: u32) -> ProptestConfig {
    let soak = std::env::var_os("BALER_SOAK").is_some();
    ProptestConfig {
        max_shrink_iters: if soak { 400 } else { 40 },
        failure_persistence: None,
        ..ProptestConfig::with_cases(if soak { many } else { few })
    }
}

proptest! {
    #![proptest_config(cases(64, 4_000))]
    #[test]
    fn small_inputs_give_what_the_naive_way_gives(case in case(60, 12, 12)) {
        check(&case);
    }
}

proptest! {
    #![proptest_config(cases(5, 100))]
    /// A few rows fill what the smallest budget holds.
    #[test]
    fn bulky_inputs_give_what_the_naive_way_gives(case in case(120, 6, 40_000)) {
        check(&case);
    }
}

proptest! {
    #![proptest_config(cases(4, 60))]
    /// Many pages and row groups in each file.
    #[test]
    fn long_inputs_give_what_the_naive_way_gives(case in case(6_000, 4, 30)) {
        check(&case);
    }
}

#[test]
fn no_inputs_are_refused_with_advice() {
    let why = try_merge(&[], &MergeSpec::default(), 0).err();
    assert!(matches!(why, Some(MergeError::Spec(advice)) if advice.contains("at least one input")));
}
