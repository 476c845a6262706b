//! Baler and its peers on the same data, by turns: a shared machine is slow for all of them or for none.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};
use serde_json::Value;

use super::table::{Figures, Table};
use crate::args::{Options, Usage};
use crate::interop::{Baler, Profile, Size, generate};
use crate::shape::Shape;
use crate::workspace::Workspace;
use crate::{process, venv};

const BALER: &str = "baler";
const ENGINES: &[&str] = &[
    "duckdb",
    "polars",
    "datafusion",
    "chdb",
    "delta_compact",
    "delta_zorder",
    "duckdb_concat",
    "polars_concat",
    "cat",
];
const SHAPES: &[Shape] = &[Shape::Overlap, Shape::Disjoint, Shape::Upsert];

pub(crate) fn run(args: &[String]) -> Result<()> {
    let options = Options::parse(args, &["shape", "engines", "runs", "files", "rows"])?;
    let shapes = options.list("shape", SHAPES)?;
    let default = [BALER, "duckdb", "polars"].map(str::to_owned);
    let engines: Vec<String> = options.list("engines", &default)?;
    let runs = options.one("runs", 5)?;
    let size = Size {
        files: options.one("files", Size::FULL.files)?,
        rows: options.one("rows", Size::FULL.rows)?,
    };
    if let Some(unknown) = engines
        .iter()
        .find(|name| *name != BALER && !ENGINES.contains(&name.as_str()))
    {
        return Err(Usage::new(format!(
            "unknown engine `{unknown}`: {BALER} {}",
            ENGINES.join(" ")
        ))
        .into());
    }

    let workspace = Workspace::find()?;
    let contest = Contest {
        python: venv::BENCH.python(&workspace)?,
        baler: Baler::build(&workspace, Profile::Release)?,
        home: workspace.tools().join("bench"),
        workspace,
    };
    let mut tables = Vec::new();
    for shape in shapes {
        tables.push(contest.compare(shape, size, &engines, runs)?);
    }
    for table in tables {
        println!("\n{table}");
    }
    Ok(())
}

/// What every turn needs.
struct Contest {
    workspace: Workspace,
    python: PathBuf,
    baler: Baler,
    home: PathBuf,
}

impl Contest {
    fn compare(&self, shape: Shape, size: Size, engines: &[String], runs: usize) -> Result<Table> {
        let source = self.home.join(shape.name());
        remove(&source)?;
        generate(&self.workspace, &self.python, &source, shape, size)?;
        let mut table = Table::new(format!(
            "{}: {} files of {} rows",
            shape.name(),
            size.files,
            size.rows
        ));
        for turn in 1..=runs {
            for engine in engines {
                let figures = self.measure(engine, shape, &source)?;
                println!("{} {turn}/{runs} {engine}: {figures}", shape.name());
                table.add(engine, figures);
            }
        }
        if engines.iter().any(|engine| engine == BALER) {
            self.check(shape, &source)
                .context("Baler's result is wrong, so its figures mean nothing")?;
        }
        remove(&source)?;
        Ok(table)
    }

    fn measure(&self, engine: &str, shape: Shape, source: &Path) -> Result<Figures> {
        let output = self.output(engine);
        remove(&output)?;
        let mut command = Command::new(&self.python);
        if engine == BALER {
            command
                .arg(self.workspace.path("bench/measure.py"))
                .arg(self.baler.program())
                .arg("compact");
            command
                .arg(source)
                .arg("--output")
                .arg(&output)
                .args(shape.order());
            command.args(["--workers", "1", "--memory", "256MiB", "--settle", "0s", "--json"]);
        } else {
            command
                .arg(self.workspace.path("bench/peers.py"))
                .args([engine, shape.name()])
                .args([source, &output]);
        }
        let text = process::output(&mut command)?;
        let line = text
            .lines()
            .last()
            .with_context(|| format!("{engine} printed nothing"))?;
        let json: Value = serde_json::from_str(line).with_context(|| format!("{engine} printed {line}"))?;
        let figure = |name: &str| {
            json[name]
                .as_f64()
                .with_context(|| format!("{engine}: no `{name}` in {line}"))
        };
        let output_mb = if engine == BALER {
            parquet_mb(&output)?
        } else {
            figure("out_mb")?
        };
        Ok(Figures {
            cpu_s: figure("cpu_s")?,
            wall_s: figure("wall_s")?,
            rss_mb: figure("rss_mb")?,
            output_mb,
        })
    }

    fn check(&self, shape: Shape, source: &Path) -> Result<()> {
        let mut command = Command::new(&self.python);
        command
            .arg(self.workspace.path("bench/check.py"))
            .arg("rows")
            .args([source, &self.output(BALER)]);
        process::run(command.args(["--shape", shape.name()]))
    }

    fn output(&self, engine: &str) -> PathBuf {
        self.home.join("output").join(engine)
    }
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

fn remove(folder: &Path) -> Result<()> {
    if folder.exists() {
        fs::remove_dir_all(folder).with_context(|| format!("removing {}", folder.display()))?;
    }
    Ok(())
}
