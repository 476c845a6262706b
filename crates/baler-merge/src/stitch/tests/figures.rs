//! How long stitching takes and how much it holds. `BALER_DATA` names a directory of Parquet files that follow one another.

use super::*;
use crate::group::write_group;
use crate::io::LocalFile;
use std::time::Instant;

/// CPU seconds of this process, and the most memory it held, in MB.
fn used() -> (f64, f64) {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap();
    let fields: Vec<&str> = stat.rsplit(')').next().unwrap().split_whitespace().collect();
    let ticks: u64 = fields[11..13]
        .iter()
        .map(|field| field.parse::<u64>().unwrap())
        .sum();
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let peak = status.lines().find(|line| line.starts_with("VmHWM")).unwrap();
    let kilobytes: f64 = peak.split_whitespace().nth(1).unwrap().parse().unwrap();
    (ticks as f64 / 100.0, kilobytes / 1024.0)
}

#[test]
#[ignore = "a measurement: set BALER_DATA and build with --release"]
fn stitching_files_that_follow_one_another() {
    let dir = std::env::var("BALER_DATA").unwrap();
    let mut paths: Vec<_> = std::fs::read_dir(dir)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    paths.sort();
    let (cpu_before, _) = used();
    let begun = Instant::now();
    let open = |path: &std::path::PathBuf| {
        let file: Arc<dyn Input> = Arc::new(LocalFile::open(path).unwrap());
        OpenFile::open_with_statistics(&file).unwrap()
    };
    let files: Vec<OpenFile> = paths.iter().map(open).collect();
    let (schema, leaves) = (
        files[0].schema().clone(),
        files[0].footer().file_metadata().schema_descr_ptr(),
    );
    let files = Files::with_schema(files, leaves.clone());
    let out = tempfile::NamedTempFile::new().unwrap();
    let properties = Arc::new(WriterProperties::builder().build());
    let mut file =
        SerializedFileWriter::new(out.reopen().unwrap(), leaves.root_schema_ptr(), properties).unwrap();
    let (mut due, mut groups) = (Vec::new(), Vec::new());
    for source in files.sources() {
        due.push(source);
        if due.iter().map(SourceGroup::rows).sum::<u64>() >= 1_000_000 {
            groups.push(std::mem::take(&mut due));
        }
    }
    groups.extend((!due.is_empty()).then_some(due));
    for sources in groups {
        let (mut columns, decoded) = made(sources, &leaves, &schema);
        write_group(&mut file, |_| Ok(columns.remove(0))).unwrap();
        assert_eq!(decoded, []);
    }
    let footer = file.close().unwrap();
    let (cpu, peak) = used();
    println!(
        "{} files, {} rows into {} row groups: {:.2} s CPU, {:.2} s, peak {peak:.0} MB, {:.1} MB out",
        paths.len(),
        footer.file_metadata().num_rows(),
        footer.num_row_groups(),
        cpu - cpu_before,
        begun.elapsed().as_secs_f64(),
        out.path().metadata().unwrap().len() as f64 / 1e6,
    );
    let mut sizes = std::collections::BTreeMap::new();
    for chunk in footer.row_groups().iter().flat_map(|group| group.columns()) {
        *sizes.entry(chunk.column_path().string()).or_insert(0) += chunk.compressed_size();
    }
    println!("{sizes:?}");
    if let Ok(copy) = std::env::var("BALER_OUT") {
        std::fs::copy(out.path(), copy).unwrap();
    }
}
