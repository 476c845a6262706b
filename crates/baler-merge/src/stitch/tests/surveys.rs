//! What a look at the key columns finds, and what the planner makes of it.

use super::*;
use crate::key_span::KeySpan;
use crate::paths::{Path, choose_paths};
use crate::sort_key::SortKey;
use crate::spec::{MergeSpec, Rule, SortColumn};
use crate::stitch::facts::{facts_of, wanted};
use crate::stitch::key_pages::KeyPages;
use crate::stitch::survey::{SurveyedGroups, survey_groups};

fn open(batches: &[RecordBatch], rows_in_group: usize) -> OpenFile {
    let mut bytes = Vec::new();
    let properties = zstd().set_max_row_group_row_count(Some(rows_in_group)).build();
    let mut writer = ArrowWriter::try_new(&mut bytes, batches[0].schema(), Some(properties)).unwrap();
    batches.iter().for_each(|rows| writer.write(rows).unwrap());
    writer.close().unwrap();
    let file: Arc<dyn Input> = Arc::new(MemoryFile::new("f", bytes));
    OpenFile::open_with_statistics(&file).unwrap()
}

fn numbers(values: impl IntoIterator<Item = i64>) -> RecordBatch {
    batch(vec![("k", Arc::new(Int64Array::from_iter_values(values)))])
}

fn spec() -> MergeSpec {
    MergeSpec {
        sort: vec![SortColumn::ascending("k")],
        row_group_rows: 1000,
        ..MergeSpec::default()
    }
}

fn surveyed(file: &OpenFile, spec: &MergeSpec) -> SurveyedGroups {
    let key = SortKey::new(file.schema(), spec.sort.clone(), &spec.rule).unwrap();
    survey_groups(file, file.schema(), &key).unwrap()
}

#[test]
fn order_uniqueness_and_ends_of_row_groups_are_found() {
    let found = surveyed(&open(&[numbers(0..25_000)], 10_000), &spec());
    assert!(found.sorted && found.unique);
    assert_eq!(found.keys.len(), 3);
    let keys: Vec<_> = found.keys.into_iter().flatten().collect();
    assert!(keys.windows(2).all(|pair| pair[0].max < pair[1].min));
    let found = surveyed(&open(&[numbers((0..20_000).map(|row| row / 2))], 10_001), &spec());
    assert!(found.sorted && !found.unique);
    assert_eq!(
        found.keys[0].as_ref().unwrap().max,
        found.keys[1].as_ref().unwrap().min
    );
    assert!(
        !surveyed(&open(&[numbers([1, 2, 4, 3])], 2), &spec()).sorted,
        "inside a row group"
    );
    assert!(
        !surveyed(&open(&[numbers([3, 4, 1, 2])], 2), &spec()).sorted,
        "from one row group to the next"
    );
}

/// What the pages tell, and how many row groups were kept.
fn surveyed_by_pages(file: &OpenFile, spec: &MergeSpec, room: usize) -> Option<(SurveyedGroups, usize)> {
    let key = SortKey::new(file.schema(), spec.sort.clone(), &spec.rule).unwrap();
    let leaves = file.footer().file_metadata().schema_descr();
    let pages = KeyPages::of(&key, file.schema(), leaves, room).unwrap();
    let found = find_leaves(leaves, leaves);
    let groups = (0..file.footer().num_row_groups()).map(|group| SourceGroup {
        input: 0,
        file,
        group,
        leaves: &found,
        kept: None,
    });
    let (surveyed, kept) = pages.survey(groups).unwrap()?;
    Some((surveyed, kept.iter().flatten().count()))
}

#[test]
fn pages_tell_of_keys_what_the_decoder_tells() {
    let descending = MergeSpec {
        sort: vec![SortColumn {
            descending: true,
            ..SortColumn::ascending("k")
        }],
        ..spec()
    };
    let ascending: Vec<i64> = (-5_000..20_000).map(|row| row * 7).collect();
    let doubled = ascending.iter().map(|key| key / 20);
    for (rows, spec, kept) in [
        (numbers(ascending.clone()), spec(), 3),
        (numbers(doubled), spec(), 0),
        (numbers(ascending.iter().rev().copied()), descending, 0),
    ] {
        let file = open(&[rows], 10_000);
        let (found, kept_here) = surveyed_by_pages(&file, &spec, 1 << 20).unwrap();
        assert_eq!(found, surveyed(&file, &spec));
        assert_eq!(kept_here, kept);
        assert_eq!(surveyed_by_pages(&file, &spec, 0).unwrap().1, 0, "without room");
    }
}

/// The decoder finds out what is the matter with them.
#[test]
fn pages_tell_nothing_of_keys_out_of_order_or_null() {
    let nulls: ArrayRef = Arc::new(Int64Array::from_iter([Some(1), None, Some(2)]));
    for rows in [
        numbers([1, 2, 4, 3]),
        numbers([3, 4, 1, 2]),
        batch(vec![("k", nulls)]),
    ] {
        assert!(surveyed_by_pages(&open(&[rows], 2), &spec(), 1 << 20).is_none());
    }
}

fn paths(files: &[OpenFile], spec: &MergeSpec) -> Vec<(Path, u64)> {
    let schema = files[0].footer().file_metadata().schema_descr();
    let facts: Vec<_> = files
        .iter()
        .enumerate()
        .map(|(input, file)| {
            let surveyed = surveyed(file, spec);
            facts_of(input, file, schema, spec, 1 << 30, &KeySpan::ALL, Some(&surveyed)).unwrap()
        })
        .collect();
    let paths = choose_paths(&facts, wanted(spec, spec.row_group_rows as u64, true));
    paths
        .0
        .iter()
        .map(|stretch| (stretch.path, stretch.rows))
        .collect()
}

#[test]
fn files_that_follow_one_another_are_stitched_whatever_their_order_in_the_list() {
    let files = [
        open(&[numbers(500..900)], 100),
        open(&[numbers(0..500)], 200),
        open(&[numbers(2000..3000)], 1000),
        open(&[numbers(3500..3600)], 100),
        open(&[numbers(3550..3700)], 100),
    ];
    let found = paths(&files, &spec());
    assert_eq!(
        found,
        [(Path::Stitch, 900), (Path::Copy, 1000), (Path::Merge, 250)]
    );
}

#[test]
fn a_keyed_rule_lets_unique_files_through_and_merges_the_others() {
    let keyed = MergeSpec {
        rule: Rule::LastWriteWins {
            key: vec!["k".into()],
            version: "k".into(),
        },
        ..spec()
    };
    let unique = [open(&[numbers(0..100)], 100), open(&[numbers(100..200)], 100)];
    assert_eq!(paths(&unique, &keyed), [(Path::Stitch, 200)]);
    let doubled = [open(&[numbers(0..100)], 100), open(&[numbers([100, 100])], 100)];
    assert_eq!(paths(&doubled, &keyed), [(Path::Merge, 102)]);
}
