//! The `baler` binary as programs see it: arguments in, JSON out.

use std::collections::BTreeMap;
use std::env::consts::EXE_SUFFIX;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::str::FromStr;

use anyhow::{Context, Result};
use serde_json::Value;

use crate::process;
use crate::shape::Shape;
use crate::workspace::Workspace;

/// How the binary is built.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Profile {
    Dev,
    Release,
}

impl Profile {
    /// As cargo names it.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Dev => "dev",
            Self::Release => "release",
        }
    }
}

impl FromStr for Profile {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        match text {
            "dev" => Ok(Self::Dev),
            "release" => Ok(Self::Release),
            _ => Err(()),
        }
    }
}

#[derive(Debug)]
pub(crate) struct Baler {
    program: PathBuf,
}

impl Baler {
    /// Builds the binary, unless `BALER_BIN` names one.
    pub(crate) fn build(workspace: &Workspace, profile: Profile) -> Result<Self> {
        if let Some(program) = std::env::var_os("BALER_BIN") {
            return Ok(Self {
                program: program.into(),
            });
        }
        // As the tests before it did, so that no dependency is built again with other features.
        let (folder, tests): (_, &[&str]) = match profile {
            Profile::Dev => ("debug", &["--workspace"]),
            Profile::Release => ("release", &["--release", "--workspace", "--test", "it"]),
        };
        process::run(workspace.cargo(&["test", "--no-run", "--locked"]).args(tests))?;
        Ok(Self {
            program: workspace.target().join(folder).join(format!("baler{EXE_SUFFIX}")),
        })
    }

    pub(crate) fn program(&self) -> &Path {
        &self.program
    }

    pub(crate) fn compact(&self, root: &Path, output: Option<&Path>, shape: Shape) -> Result<Report> {
        let mut command = Command::new(&self.program);
        command.arg("compact").arg(root);
        if let Some(output) = output {
            command.arg("--output").arg(output);
        }
        command.args(shape.order()).args(["--settle", "0s", "--json"]);
        println!("$ {}", process::display(&command));
        let text = process::output(&mut command)?;
        Report::parse(&text)
            .with_context(|| format!("the result of `{}`: {text}", process::display(&command)))
    }

    /// The live files as `baler files` lists them: full path and bytes.
    pub(crate) fn files(&self, root: &Path) -> Result<BTreeMap<PathBuf, u64>> {
        let text = process::output(Command::new(&self.program).arg("files").arg(root).arg("--json"))?;
        live_files(root, &text).with_context(|| format!("the output of `baler files --json`: {text}"))
    }
}

/// What `baler compact --json` says at the end.
#[derive(Debug, PartialEq)]
pub(crate) struct Report {
    pub(crate) files_before: u64,
    pub(crate) files_after: u64,
    pub(crate) rows_in: u64,
    pub(crate) rows_out: u64,
    pub(crate) rows_dropped: u64,
    pub(crate) bytes_in: u64,
    pub(crate) jobs: u64,
    pub(crate) quarantined: u64,
    pub(crate) seconds: f64,
}

impl Report {
    fn parse(text: &str) -> Result<Self> {
        let line = text
            .lines()
            .rev()
            .find(|line| !line.trim().is_empty())
            .context("nothing was printed")?;
        let json: Value = serde_json::from_str(line)?;
        number(&json, "bytes_out")?;
        Ok(Self {
            files_before: number(&json, "files_before")?,
            files_after: number(&json, "files_after")?,
            rows_in: number(&json, "rows_in")?,
            rows_out: number(&json, "rows_out")?,
            rows_dropped: number(&json, "rows_dropped")?,
            bytes_in: number(&json, "bytes_in")?,
            jobs: number(&json, "jobs")?,
            quarantined: count(&json, "quarantined")?,
            seconds: json["seconds"].as_f64().context("`seconds` is no number")?,
        })
    }
}

fn live_files(root: &Path, text: &str) -> Result<BTreeMap<PathBuf, u64>> {
    let mut files = BTreeMap::new();
    for line in text.lines() {
        let json: Value = serde_json::from_str(line)?;
        number(&json, "rows")?;
        number(&json, "level")?;
        let path = json["path"].as_str().context("`path` is no text")?;
        files.insert(root.join(path), number(&json, "bytes")?);
    }
    Ok(files)
}

fn number(json: &Value, name: &str) -> Result<u64> {
    json[name]
        .as_u64()
        .with_context(|| format!("`{name}` is no number"))
}

/// A number, or a list whose length counts.
fn count(json: &Value, name: &str) -> Result<u64> {
    json[name]
        .as_array()
        .map_or_else(|| number(json, name), |list| Ok(list.len() as u64))
}

#[cfg(test)]
mod tests {
    use super::*;

    const LINE: &str = r#"{"files_before":24,"files_after":1,"rows_in":9,"rows_out":8,"rows_dropped":1,
        "bytes_in":100,"bytes_out":50,"jobs":1,"quarantined":[],"seconds":0.5,"something_new":true}"#;

    #[test]
    fn the_report_is_the_last_line() {
        let text = format!("{{\"progress\":1}}\n{}\n\n", LINE.replace('\n', ""));
        let report = Report::parse(&text).unwrap();
        assert_eq!(
            (report.files_before, report.rows_dropped, report.quarantined),
            (24, 1, 0)
        );
    }

    #[test]
    fn every_promised_field_must_be_there() {
        let whole: Value = serde_json::from_str(LINE).unwrap();
        for name in whole
            .as_object()
            .unwrap()
            .keys()
            .filter(|name| *name != "something_new")
        {
            let mut less = whole.clone();
            less.as_object_mut().unwrap().remove(name);
            let error = format!("{:#}", Report::parse(&less.to_string()).unwrap_err());
            assert!(error.contains(&format!("`{name}`")), "{error}");
        }
    }

    #[test]
    fn live_files_may_be_relative_to_the_root() {
        let text = r#"{"path":"day=1/a.parquet","bytes":7,"rows":2,"level":1}"#;
        let files = live_files(Path::new("data"), text).unwrap();
        assert_eq!(
            files,
            BTreeMap::from([(PathBuf::from("data/day=1/a.parquet"), 7)])
        );
    }
}
