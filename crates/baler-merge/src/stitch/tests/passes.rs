//! From files to an output past the merge, and what is told about it.

use super::*;
use crate::io::{Progress, Unwatched};
use crate::key_span::KeySpan;
use crate::paths::{Path, Stretch};
use crate::plan::Shares;
use crate::row_time::{RowTime, TimeColumn};
use crate::sort_key::SortKey;
use crate::spec::{Budget, Expire, MergeSpec, SortColumn};
use crate::stitch::pass::{PassPlan, Passed, Passing};

fn opened(files: &[Bytes]) -> Vec<OpenFile> {
    let open = |file: &Bytes| {
        let file: Arc<dyn Input> = Arc::new(MemoryFile::new("f", file.clone()));
        OpenFile::open_with_statistics(&file).unwrap()
    };
    files.iter().map(open).collect()
}

fn spec() -> MergeSpec {
    MergeSpec {
        sort: vec![SortColumn::ascending("ts")],
        row_group_rows: 10_000,
        ..MergeSpec::default()
    }
}

fn passed(
    files: &[OpenFile],
    spec: &MergeSpec,
    progress: &dyn Progress,
    see: impl FnOnce(&Passing<'_>, &PassPlan),
) -> Result<(Bytes, Vec<Passed>), crate::error::MergeError> {
    let schema = files[0].schema().clone();
    let key = SortKey::new(&schema, spec.sort.clone(), &spec.rule).unwrap();
    let leaves = files[0].footer().file_metadata().schema_descr_ptr();
    let shares = Shares::of(Budget {
        memory_bytes: 64 << 20,
        threads: 3,
    });
    let passing = Passing {
        files,
        spec,
        group_rows: spec.row_group_rows as u64,
        schema: &schema,
        leaves: leaves.clone(),
        key: Some(&key),
        shares: &shares,
        range: &KeySpan::ALL,
        progress,
    };
    let plan = passing.plan()?;
    see(&passing, &plan);
    let mut bytes = Vec::new();
    let properties = Arc::new(WriterProperties::builder().build());
    let mut file = SerializedFileWriter::new(&mut bytes, leaves.root_schema_ptr(), properties).unwrap();
    let mut done = Vec::new();
    let unmerged = plan.paths.0.iter().filter(|stretch| stretch.path != Path::Merge);
    let unmerged: Vec<Stretch> = unmerged.cloned().collect();
    passing.write(&plan, &unmerged, |stretch, line| {
        done.push(line.write(stretch, &mut file)?);
        Ok(())
    })?;
    file.close().unwrap();
    Ok((bytes.into(), done))
}

/// The second file comes first by its keys, the last is large, and one lies in the others' midst.
#[test]
fn files_pass_in_the_order_of_their_keys_with_seals_keys_and_times() {
    let batches = [flat(3_000, 3_000), flat(0, 3_000), flat(20_000, 9_000)];
    let files = opened(&batches.each_ref().map(|rows| written(rows, zstd().build())));
    let spec = MergeSpec {
        row_time: Some(TimeColumn::new("ts")),
        ..spec()
    };
    let (file, done) = passed(&files, &spec, &Unwatched, |_, plan| {
        let paths: Vec<(Path, u64)> = plan
            .paths
            .0
            .iter()
            .map(|stretch| (stretch.path, stretch.rows))
            .collect();
        assert_eq!(paths, [(Path::Stitch, 6_000), (Path::Copy, 9_000)]);
    })
    .unwrap();
    let [a, b, c] = batches;
    assert_same(&read(&file), &expected(&[b, a, c]));
    assert_eq!(done[0].by_input, [(1, 3_000), (0, 3_000)]);
    assert!(done[0].keys.as_ref().unwrap().max < done[1].keys.as_ref().unwrap().min);
    assert_eq!(
        done[0].times.map(|times| (times.min, times.max)),
        Some((RowTime(0), RowTime(59_990)))
    );
    for passed in &done {
        assert_eq!(passed.seals.read, passed.seals.written);
        assert_eq!(passed.decoded, []);
    }
}

/// Sorting columns and statistics may lie about the order inside a file.
#[test]
fn a_file_out_of_order_is_merged_whatever_its_statistics_say() {
    let rows = flat(0, 2_000);
    let backwards =
        arrow::compute::take_record_batch(&rows, &UInt32Array::from_iter_values((0..2_000).rev())).unwrap();
    let files = opened(&[
        written(&flat(5_000, 6_000), zstd().build()),
        written(&backwards, zstd().build()),
    ]);
    passed(&files, &spec(), &Unwatched, |_, plan| {
        let paths: Vec<(Path, u64)> = plan
            .paths
            .0
            .iter()
            .map(|stretch| (stretch.path, stretch.rows))
            .collect();
        assert_eq!(paths, [(Path::Merge, 2_000), (Path::Copy, 6_000)]);
    })
    .unwrap();
}

#[test]
fn expiry_lets_nothing_pass() {
    let files = opened(&[written(&flat(0, 2_000), zstd().build())]);
    let expire = Expire {
        column: TimeColumn::new("ts"),
        before: RowTime(5),
    };
    let spec = MergeSpec {
        expire: Some(expire),
        ..spec()
    };
    passed(&files, &spec, &Unwatched, |_, plan| {
        assert!(plan.paths.0.iter().all(|stretch| stretch.path == Path::Merge));
    })
    .unwrap();
}

#[test]
fn a_file_shown_by_some_of_its_row_groups_has_their_rows_only() {
    let properties = zstd().set_max_row_group_row_count(Some(1_000)).build();
    let rows = flat(0, 3_000);
    let files = opened(&[written(&rows, properties)]);
    let shown = files[0].with_groups(&[0, 2]);
    assert_eq!(shown.rows(), 2_000);
    let mut batches = shown.read_columns(&[0], 1, 5_000).unwrap();
    let found = batches.next().unwrap().unwrap();
    assert_eq!(
        found.column(0).to_data(),
        rows.column(0).slice(2_000, 1_000).to_data()
    );
}

#[test]
fn a_cancelled_pass_ends() {
    struct Cancelled;
    impl Progress for Cancelled {
        fn advanced(&self, _: u64, _: u64) {}
        fn cancelled(&self) -> bool {
            true
        }
    }
    let files = opened(&[written(&flat(0, 2_000), zstd().build())]);
    let why = passed(&files, &spec(), &Cancelled, |_, _| {}).err();
    assert!(matches!(why, Some(crate::error::MergeError::Cancelled)));
}

/// Counts the reads of a file.
struct Counted(MemoryFile, std::sync::atomic::AtomicUsize);

impl Input for Counted {
    fn name(&self) -> &str {
        self.0.name()
    }
    fn len(&self) -> u64 {
        self.0.len()
    }
    fn read_at(&self, offset: u64, length: usize) -> std::io::Result<Bytes> {
        self.1.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        self.0.read_at(offset, length)
    }
}

#[test]
fn a_small_file_is_read_three_times_its_footer_its_keys_and_all_of_it() {
    let counted: Vec<Arc<Counted>> = (0..4)
        .map(|file| {
            let bytes = written(&flat(file * 4_000, 4_000), zstd().build());
            Arc::new(Counted(MemoryFile::new("f", bytes), Default::default()))
        })
        .collect();
    let open =
        |file: &Arc<Counted>| OpenFile::open_with_statistics(&(Arc::clone(file) as Arc<dyn Input>)).unwrap();
    let files: Vec<OpenFile> = counted.iter().map(open).collect();
    passed(&files, &spec(), &Unwatched, |_, _| {}).unwrap();
    for file in counted {
        assert_eq!(file.1.load(std::sync::atomic::Ordering::Relaxed), 3);
    }
}
