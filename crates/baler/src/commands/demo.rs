//! `baler demo`: makes a folder of small files, compacts it, and says what that changed.

use std::fs;
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use bytesize::ByteSize;
use serde::Serialize;

use super::{exit_code, print_json};
use crate::cli::{CacheArgs, CompactArgs, DemoArgs, MachineArgs, MergeArgs, PlainArgs, ScopeArgs};
use crate::demo_data;
use crate::report::{ProgressView, RunReport, count, seconds};
use crate::root::Root;
use crate::run;
use crate::settings::{RunSettings, TableSettings, Usage};
use crate::store::Location;

/// Marks a folder as one that the demo made, and may throw away.
const MARK: &str = ".baler-demo";

/// Scans whose fastest is reported: the first one warms the disk's cache for both.
const SCANS: u32 = 3;

#[derive(Debug, Serialize)]
struct DemoReport<'a> {
    scan_seconds_before: f64,
    scan_seconds_after: f64,
    #[serde(flatten)]
    run: &'a RunReport,
}

/// Runs it.
pub async fn run(args: &DemoArgs) -> Result<ExitCode> {
    if args.files == 0 {
        return Err(Usage("--files must be at least 1".to_owned()).into());
    }
    let progress = if args.json {
        ProgressView::silent()
    } else {
        ProgressView::on_terminal()
    };
    prepare(&args.dir)?;
    progress.begin_counting("writing");
    demo_data::write(&args.dir, args.files, || progress.advance(1))?;
    progress.end();
    let (before, rows) = time_scan(&args.dir)?;
    if !args.json {
        let files = count(u64::from(args.files));
        println!(
            "{files} small files in {}, {} rows. Compacting …\n",
            args.dir.display(),
            count(rows)
        );
    }

    let compact = compact_args(args);
    let (settings, table) = (
        RunSettings::check(&compact)?,
        TableSettings::check(&compact.plain)?,
    );
    let root = Arc::new(Root::open_for_compaction(&Location::Local(args.dir.clone()), &table).await?);
    let report = run::compact(
        root,
        &settings,
        &table,
        &progress,
        Arc::new(AtomicBool::new(false)),
    )
    .await?;

    let (after, rows_after) = time_scan(&args.dir)?;
    anyhow::ensure!(rows == rows_after, "{rows} rows before, {rows_after} after");
    match args.json {
        true => print_json(&DemoReport {
            scan_seconds_before: before.as_secs_f64(),
            scan_seconds_after: after.as_secs_f64(),
            run: &report,
        })?,
        false => print_comparison(args, &report, before, after),
    }
    Ok(exit_code(report.is_clean()))
}

/// The folder is made anew, but only if the demo made it.
fn prepare(dir: &Path) -> Result<()> {
    let ours = dir.join(MARK).is_file();
    let empty = fs::read_dir(dir).map_or(true, |mut entries| entries.next().is_none());
    if !ours && !empty {
        let dir = dir.display();
        return Err(Usage(format!(
            "{dir} exists and is not of the demo's making: give another --dir"
        ))
        .into());
    }
    if ours {
        fs::remove_dir_all(dir).with_context(|| format!("cannot clear {}", dir.display()))?;
    }
    fs::create_dir_all(dir).with_context(|| format!("cannot make {}", dir.display()))?;
    fs::write(
        dir.join(MARK),
        "Made by `baler demo`, which clears this folder when it runs again.\n",
    )?;
    Ok(())
}

fn time_scan(dir: &Path) -> Result<(Duration, u64)> {
    let mut fastest = Duration::MAX;
    let mut rows = 0;
    for _ in 0..SCANS {
        let began = Instant::now();
        rows = demo_data::scan(dir)?;
        fastest = fastest.min(began.elapsed());
    }
    Ok((fastest, rows))
}

fn compact_args(args: &DemoArgs) -> CompactArgs {
    CompactArgs {
        root: Location::Local(args.dir.clone()),
        plain: PlainArgs {
            merge: MergeArgs {
                sort_by: Some(vec!["device".to_owned(), "ts".to_owned()]),
                ..MergeArgs::default()
            },
            ..PlainArgs::default()
        },
        scope: ScopeArgs::default(),
        machine: MachineArgs {
            workers: None,
            threads: None,
            memory: ByteSize::mib(512),
            range_bytes: ByteSize::gib(1),
        },
        isolate: false,
        settle: Duration::ZERO,
        lease: Duration::from_secs(60),
        cache: CacheArgs {
            cache: None,
            cache_bytes: ByteSize::gib(10),
        },
        json: args.json,
    }
}

fn print_comparison(args: &DemoArgs, report: &RunReport, before: Duration, after: Duration) {
    print!("{report}");
    println!(
        "\nReading every row took {} before and takes {} now.",
        seconds(before),
        seconds(after)
    );
    let dir = args.dir.display();
    println!(
        "\nLook around:\n  baler files {dir}\n  baler status {dir}\n  baler verify {dir}\n  baler gc {dir} --dry-run"
    );
}
