//! Where measured runs take place: the data, the binary, the scripts, and folders that go away again.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};

use super::figures::Figures;
use crate::interop::{Baler, Profile, Size, generate};
use crate::shape::Shape;
use crate::workspace::Workspace;
use crate::{process, provenance, venv};

/// The memory that Baler is given in every comparison.
pub(crate) const MEMORY: &str = "256MiB";

pub(crate) struct Track {
    pub(crate) workspace: Workspace,
    pub(crate) python: PathBuf,
    pub(crate) baler: Baler,
    /// What figures of this track were measured on.
    pub(crate) provenance: String,
    home: PathBuf,
}

impl Track {
    pub(crate) fn open() -> Result<Self> {
        let workspace = Workspace::find()?;
        let mut provenance = provenance::line(&workspace)?;
        if std::env::var_os("BALER_BIN").is_some() {
            provenance += ", with the binary of BALER_BIN";
        }
        Ok(Self {
            python: venv::BENCH.python(&workspace)?,
            baler: Baler::build(&workspace, Profile::Release)?,
            provenance,
            home: workspace.tools().join("bench"),
            workspace,
        })
    }

    /// A folder that is empty now, and gone when the measuring is over or has failed.
    pub(crate) fn folder(&self, name: &str) -> Result<Scratch> {
        let folder = Scratch(self.home.join(name));
        folder.clear()?;
        Ok(folder)
    }

    /// Data of one shape, under its name.
    pub(crate) fn data(&self, shape: Shape, size: Size) -> Result<Scratch> {
        let folder = self.folder(shape.name())?;
        generate(&self.workspace, &self.python, folder.path(), shape, size)?;
        Ok(folder)
    }

    /// What to type for one run of Baler.
    pub(crate) fn compact(&self, shape: Shape, source: &Path, output: &Path) -> Vec<OsString> {
        let mut words: Vec<OsString> = vec![self.baler.program().into(), "compact".into(), source.into()];
        words.extend(["--output".into(), output.into()]);
        words.extend(shape.order().iter().map(Into::into));
        words.extend(["--workers", "1", "--memory", MEMORY, "--settle", "0s", "--json"].map(Into::into));
        words
    }

    /// One whole run of Baler, from its start to its end.
    pub(crate) fn run_baler(&self, words: &[OsString], output: &Scratch) -> Result<Figures> {
        output.clear()?;
        let mut command = Command::new(&self.python);
        command.arg(self.workspace.path("bench/measure.py")).args(words);
        let line = last_line(&mut command)?;
        Figures::parse(&line, parquet_mb(output.path())?)
    }

    /// Whether Baler's last result is right; figures of a wrong one mean nothing.
    pub(crate) fn check(&self, shape: Shape, source: &Path, output: &Path) -> Result<()> {
        let mut command = Command::new(&self.python);
        command.arg(self.workspace.path("bench/check.py")).arg("rows");
        command.args([source, output]).args(["--shape", shape.name()]);
        process::run(&mut command).context("Baler's result is wrong, so its figures mean nothing")
    }
}

/// A folder that ends with its owner.
pub(crate) struct Scratch(PathBuf);

impl Scratch {
    pub(crate) fn path(&self) -> &Path {
        &self.0
    }

    pub(crate) fn clear(&self) -> Result<()> {
        if self.0.exists() {
            fs::remove_dir_all(&self.0).with_context(|| format!("removing {}", self.0.display()))?;
        }
        Ok(())
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        if let Err(error) = self.clear() {
            eprintln!("left behind: {error:#}");
        }
    }
}

/// The last line that a script printed: its figures.
pub(crate) fn last_line(command: &mut Command) -> Result<String> {
    let text = process::output(command)?;
    let line = text.lines().last().map(str::to_owned);
    line.with_context(|| format!("`{}` printed nothing", process::display(command)))
}

/// The size of Baler's result; its own state lies in a folder beside it.
fn parquet_mb(folder: &Path) -> Result<f64> {
    let mut bytes = 0;
    for entry in fs::read_dir(folder).with_context(|| format!("{}", folder.display()))? {
        let entry = entry?;
        if entry.path().extension().is_some_and(|end| end == "parquet") {
            bytes += entry.metadata()?.len();
        }
    }
    ensure!(bytes > 0, "{} holds no result", folder.display());
    Ok(bytes as f64 / 1e6)
}
