//! Merges a directory of Parquet files and prints what it cost: wall, CPU, peak memory, output size.
//!
//! `merge_directory <directory> <output directory> <budget MiB> <threads> <key,key> [version]` keeps all rows, or with a version column the
//! newest row of each key.

use baler_merge::*;
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

type Fallible<T> = Result<T, Box<dyn std::error::Error>>;

fn main() -> Fallible<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let (directory, output, budget_mib, threads, keys, version) = match arguments[..] {
        [directory, output, budget_mib, threads, keys] => {
            (directory, output, budget_mib, threads, keys, None)
        }
        [directory, output, budget_mib, threads, keys, version] => {
            (directory, output, budget_mib, threads, keys, Some(version))
        }
        _ => {
            return Err(
                "usage: merge_directory <directory> <output> <budget MiB> <threads> <key,key> [version]"
                    .into(),
            );
        }
    };
    let keys: Vec<String> = keys.split(',').map(str::to_owned).collect();
    let spec = MergeSpec {
        sort: keys.iter().map(SortColumn::ascending).collect(),
        rule: match version {
            Some(version) => Rule::LastWriteWins {
                key: keys,
                version: version.into(),
            },
            None => Rule::KeepAll,
        },
        ..MergeSpec::default()
    };
    let budget = Budget {
        memory_bytes: budget_mib.parse::<u64>()? << 20,
        threads: threads.parse()?,
    };
    fs::create_dir_all(output)?;
    let inputs = inputs_in(Path::new(directory))?;
    let began = Instant::now();
    let sink = &mut Directory(output.into());
    let report = merge(&inputs, &spec, budget, Path::new(output), sink, &Unwatched)?;
    let wall = began.elapsed().as_secs_f64();
    let bytes: u64 = report.outputs.iter().map(|output| output.bytes).sum();
    println!(
        "{} inputs, {} rows in, {} out: wall {wall:.2} s, CPU {:.2} s, peak {} MiB, output {:.1} MB, spilled {} MiB",
        inputs.len(),
        report.rows_in(),
        report.rows_out(),
        cpu_seconds()?,
        peak_kib()? >> 10,
        bytes as f64 / 1e6,
        report.spilled_bytes >> 20,
    );
    Ok(())
}

fn inputs_in(directory: &Path) -> Fallible<Vec<Arc<dyn Input>>> {
    let entries = fs::read_dir(directory)?.map(|entry| Ok(entry?.path()));
    let mut paths: Vec<PathBuf> = entries.collect::<io::Result<_>>()?;
    paths.sort();
    let mut inputs: Vec<Arc<dyn Input>> = Vec::new();
    for path in &paths {
        inputs.push(Arc::new(LocalFile::open(path)?));
    }
    Ok(inputs)
}

/// Of the whole process, in user and kernel mode: ticks of a hundredth of a second.
fn cpu_seconds() -> Fallible<f64> {
    let stat = fs::read_to_string("/proc/self/stat")?;
    let fields: Vec<&str> = stat.rsplit(')').next().unwrap_or("").split_whitespace().collect();
    let ticks = |at: usize| {
        fields
            .get(at)
            .and_then(|field| field.parse::<f64>().ok())
            .unwrap_or(0.0)
    };
    Ok((ticks(11) + ticks(12)) / 100.0)
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
        let file = File::create(self.0.join(format!("output-{part}.parquet")))?;
        Ok(Box::new(LocalOutput(file)))
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
        Ok(())
    }
}
