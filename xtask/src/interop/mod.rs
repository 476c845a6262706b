//! Interoperability: what Baler leaves behind is read by DuckDB and pyarrow, which must find exactly what went in.
//! Twice for each shape of data: in place, and with `--output`; and a second run must find nothing to do.

mod baler;
mod folder;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};

use baler::Report;
pub(crate) use baler::{Baler, Profile};
use folder::Folder;

use crate::args::Options;
use crate::shape::Shape;
use crate::steps::Steps;
use crate::workspace::Workspace;
use crate::{process, venv};

pub(crate) const HELP: &str = "\
Usage: cargo xtask interop [--shape overlap,disjoint,mixed,upsert] [--files N] [--rows N] [--profile dev|release]

Makes data of each shape (default: all, 24 files of 5000 rows), compacts it in place and with
--output, has DuckDB and pyarrow compare the rows, and runs again to see that nothing is left to do.
BALER_BIN tests that binary instead of building one. The data stay under target/tools/interop.";

/// Larger than all that these tests make: one file must remain.
const TARGET_SIZE_BYTES: u64 = 512 << 20;

/// How much data: the number of files and the rows in each.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Size {
    pub(crate) files: u64,
    pub(crate) rows: u64,
}

impl Size {
    pub(crate) const SMALL: Self = Self {
        files: 24,
        rows: 5_000,
    };
    pub(crate) const FULL: Self = Self {
        files: 256,
        rows: 50_000,
    };
}

pub(crate) fn run(args: &[String]) -> Result<()> {
    let options = Options::parse(args, &["shape", "files", "rows", "profile"])?;
    let shapes = options.list("shape", &Shape::ALL)?;
    let size = Size {
        files: options.one("files", Size::SMALL.files)?,
        rows: options.one("rows", Size::SMALL.rows)?,
    };
    let profile = options.one("profile", Profile::Dev)?;
    let workspace = Workspace::find()?;
    let mut steps = Steps::default();
    for shape in shapes {
        steps.run(shape.name(), || story(&workspace, profile, shape, size).map(drop));
    }
    steps.finish()
}

/// The whole story of one shape; says in a few words what happened.
pub(crate) fn story(workspace: &Workspace, profile: Profile, shape: Shape, size: Size) -> Result<String> {
    let stage = Stage::set(workspace, profile, shape, size)?;
    let in_place = stage.compact_in_place().context("in place")?;
    let output = stage.compact_to_output().context("with --output")?;
    Ok(format!(
        "{} files to {}, {} MB; in place {:.1} s, with --output {:.1} s",
        in_place.files_before,
        in_place.files_after,
        in_place.bytes_in / 1_000_000,
        in_place.seconds,
        output.seconds
    ))
}

/// The data of one story, and what acts on them.
struct Stage {
    baler: Baler,
    python: PathBuf,
    check: PathBuf,
    shape: Shape,
    size: Size,
    /// The input as it was; nothing may change it.
    source: PathBuf,
    data: PathBuf,
    output: PathBuf,
}

impl Stage {
    fn set(workspace: &Workspace, profile: Profile, shape: Shape, size: Size) -> Result<Self> {
        let home = workspace.tools().join("interop").join(shape.name());
        if home.exists() {
            fs::remove_dir_all(&home).with_context(|| format!("removing {}", home.display()))?;
        }
        let stage = Self {
            baler: Baler::build(workspace, profile)?,
            python: venv::TEST.python(workspace)?,
            check: workspace.path("bench/check.py"),
            shape,
            size,
            source: home.join("source"),
            data: home.join("data"),
            output: home.join("output"),
        };
        generate(workspace, &stage.python, &stage.source, shape, size)?;
        folder::copy(&stage.source, &stage.data)?;
        Ok(stage)
    }

    fn compact_in_place(&self) -> Result<Report> {
        let report = self.baler.compact(&self.data, None, self.shape)?;
        self.judge(&report, &self.data)?;
        self.again(&self.data, None)?;
        Ok(report)
    }

    fn compact_to_output(&self) -> Result<Report> {
        let source = Folder::read(&self.source)?;
        let report = self.baler.compact(&self.source, Some(&self.output), self.shape)?;
        source
            .same_as(&Folder::read(&self.source)?)
            .context("--output must leave its source untouched")?;
        self.judge(&report, &self.output)?;
        self.again(&self.source, Some(&self.output))?;
        Ok(report)
    }

    /// Whether the report, the directory, `baler files` and the two readers agree.
    fn judge(&self, report: &Report, result: &Path) -> Result<()> {
        let found = Folder::read(result)?.data();
        let bytes = found.values().sum::<u64>();
        let rows = |count: u64| format!("{count} rows");
        ensure!(
            report.quarantined == 0,
            "{} files were quarantined",
            report.quarantined
        );
        ensure!(
            report.rows_out + report.rows_dropped == report.rows_in,
            "{} came out and {} were dropped, of {}",
            rows(report.rows_out),
            rows(report.rows_dropped),
            rows(report.rows_in)
        );
        ensure!(
            report.files_before == self.size.files,
            "files_before is {}",
            report.files_before
        );
        let files = found.len() as u64;
        ensure!(
            report.files_after == files,
            "files_after is {}, but {files} are there",
            report.files_after
        );
        ensure!(
            files <= bytes / TARGET_SIZE_BYTES + 1,
            "{files} files remain, more than {bytes} bytes need at the target size"
        );
        let live = self.baler.files(result)?;
        ensure!(
            live == found,
            "`baler files` lists {live:?}, but the directory holds {found:?}"
        );
        process::run(
            Command::new(&self.python)
                .arg(&self.check)
                .arg("rows")
                .args([&self.source, result])
                .args(["--shape", self.shape.name()]),
        )
    }

    /// A second run finds nothing to do and writes nothing.
    fn again(&self, root: &Path, output: Option<&Path>) -> Result<()> {
        let state = output.unwrap_or(root);
        let (files, journal) = (Folder::read(state)?, folder::journal(state)?);
        let report = self.baler.compact(root, output, self.shape)?;
        ensure!(
            report.jobs == 0,
            "the second run found {} jobs to do",
            report.jobs
        );
        files
            .same_as(&Folder::read(state)?)
            .context("the second run changed files")?;
        let after = folder::journal(state)?;
        let new: Vec<_> = after.difference(&journal).collect();
        ensure!(new.is_empty(), "the second run wrote journal entries: {new:?}");
        Ok(())
    }
}

/// Makes the data of one shape.
pub(crate) fn generate(
    workspace: &Workspace,
    python: &Path,
    into: &Path,
    shape: Shape,
    size: Size,
) -> Result<()> {
    let (files, rows) = (size.files.to_string(), size.rows.to_string());
    process::run(
        Command::new(python)
            .arg(workspace.path("bench/gen.py"))
            .arg(into)
            .args(["--shape", shape.name(), "--files", &files, "--rows", &rows]),
    )
}
