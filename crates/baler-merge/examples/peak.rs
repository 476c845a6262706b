//! Merges generated files and prints the greatest memory that the process held.
//!
//! `peak <files> <MiB a file> <budget MiB> [sorted|unsorted|disjoint]` makes the files in a temporary directory, merges them in
//! a child process, and prints one line: budget, peak resident memory, rounds, bytes spilled, seconds.

use arrow::array::*;
use baler_merge::*;
use parquet::arrow::ArrowWriter;
use parquet::basic::Compression;
use parquet::file::properties::WriterProperties;
use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

type Fallible<T> = Result<T, Box<dyn std::error::Error>>;

fn main() -> Fallible<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["merge", directory, budget_mib] => merge_in(Path::new(directory), budget_mib.parse()?),
        [files, mib, budget_mib] => make_and_merge(files.parse()?, mib.parse()?, budget_mib, "sorted"),
        [files, mib, budget_mib, shape] => make_and_merge(files.parse()?, mib.parse()?, budget_mib, shape),
        _ => Err("usage: peak <files> <MiB a file> <budget MiB> [sorted|unsorted|disjoint]".into()),
    }
}

fn make_and_merge(files: u64, mib: f64, budget_mib: &str, shape: &str) -> Fallible<()> {
    let directory = tempfile::tempdir()?;
    let bytes = (mib * f64::from(1 << 20)) as u64;
    for file in 0..files {
        make_file(
            &directory.path().join(format!("{file:04}.parquet")),
            file,
            files,
            bytes,
            shape,
        )?;
    }
    let status = std::process::Command::new(std::env::current_exe()?)
        .args([
            "merge".as_ref(),
            directory.path().as_os_str(),
            budget_mib.as_ref(),
        ])
        .status()?;
    if status.success() {
        Ok(())
    } else {
        Err("the merge failed".into())
    }
}

/// About 24 bytes a row once packed: a time, a few names, a number, a text.
fn make_file(path: &Path, file: u64, files: u64, bytes: u64, shape: &str) -> Fallible<()> {
    let rows = bytes / 24;
    let noise = |row: u64| {
        (row ^ (file << 32))
            .wrapping_mul(0x9E37_79B9_7F4A_7C15)
            .rotate_left(31)
            .wrapping_mul(0xBF58_476D_1CE4_E5B9)
    };
    let time = |row: u64| match shape {
        "disjoint" => file * rows + row,
        "unsorted" => noise(row) >> 20,
        _ => row * files + file,
    };
    let properties = WriterProperties::builder()
        .set_compression(Compression::SNAPPY)
        .build();
    let mut writer: Option<ArrowWriter<BufWriter<File>>> = None;
    for start in (0..rows).step_by(8192) {
        let range = start..rows.min(start + 8192);
        let column = |name, column: ArrayRef| (name, column);
        let batch = RecordBatch::try_from_iter([
            column(
                "time",
                Arc::new(Int64Array::from_iter_values(
                    range.clone().map(|row| time(row) as i64),
                )),
            ),
            column(
                "host",
                Arc::new(StringArray::from_iter_values(
                    range.clone().map(|row| format!("host-{}", noise(row) % 1000)),
                )),
            ),
            column(
                "path",
                Arc::new(StringArray::from_iter_values(
                    range
                        .clone()
                        .map(|row| format!("/api/v1/{}/{}", noise(row) % 50, noise(row) % 7)),
                )),
            ),
            column(
                "status",
                Arc::new(Int32Array::from_iter_values(
                    range.clone().map(|row| (noise(row) % 5) as i32 * 100),
                )),
            ),
            column(
                "value",
                Arc::new(Float64Array::from_iter_values(
                    range.clone().map(|row| noise(row) as f64),
                )),
            ),
            column(
                "text",
                Arc::new(StringArray::from_iter_values(
                    range.map(|row| format!("{:08x}", noise(row) as u32)),
                )),
            ),
        ])?;
        let writer = match &mut writer {
            Some(writer) => writer,
            none => none.insert(ArrowWriter::try_new(
                BufWriter::new(File::create(path)?),
                batch.schema(),
                Some(properties.clone()),
            )?),
        };
        writer.write(&batch)?;
    }
    if let Some(writer) = writer {
        writer.close()?;
    }
    Ok(())
}

fn merge_in(directory: &Path, budget_mib: u64) -> Fallible<()> {
    let mut paths: Vec<PathBuf> = fs::read_dir(directory)?
        .map(|entry| Ok(entry?.path()))
        .collect::<io::Result<_>>()?;
    paths.sort();
    let mut inputs: Vec<Arc<dyn Input>> = Vec::new();
    for path in &paths {
        inputs.push(Arc::new(LocalFile::open(path)?));
    }
    let bytes: u64 = inputs.iter().map(|input| input.len()).sum();
    let spec = MergeSpec {
        sort: vec![SortColumn::ascending("time")],
        ..MergeSpec::default()
    };
    let budget = Budget {
        memory_bytes: budget_mib << 20,
        threads: 1,
    };
    let began = Instant::now();
    let report = merge(
        &inputs,
        &spec,
        budget,
        directory,
        &mut Directory(directory.to_owned()),
        &Unwatched,
    )?;
    println!(
        "{} files of {:.1} MiB, budget {budget_mib} MiB: peak {} MiB, {} rounds, {} MiB spilled, {} outputs, {:.1} s",
        inputs.len(),
        bytes as f64 / inputs.len() as f64 / f64::from(1 << 20),
        peak_kib()? / 1024,
        report.rounds,
        report.spilled_bytes >> 20,
        report.outputs.len(),
        began.elapsed().as_secs_f64(),
    );
    Ok(())
}

fn peak_kib() -> Fallible<u64> {
    let status = fs::read_to_string("/proc/self/status")?;
    let line = status
        .lines()
        .find(|line| line.starts_with("VmHWM"))
        .ok_or("no VmHWM")?;
    Ok(line.split_whitespace().nth(1).ok_or("no VmHWM")?.parse()?)
}

struct Directory(PathBuf);
struct LocalOutput(File);

impl OutputSink for Directory {
    fn create(&mut self, part: u32) -> io::Result<Box<dyn Output>> {
        Ok(Box::new(LocalOutput(File::create(
            self.0.join(format!("output-{part}")),
        )?)))
    }
}

impl Write for LocalOutput {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.write(bytes)
    }
    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

impl Output for LocalOutput {
    fn finish(self: Box<Self>) -> io::Result<()> {
        self.0.sync_all()
    }
}
