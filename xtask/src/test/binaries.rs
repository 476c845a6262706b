//! The test binaries of the workspace, built at once, so that they can run beside each other.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};
use serde_json::Value;

use crate::workspace::Workspace;

/// A test binary.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Binary {
    pub(crate) package: String,
    /// `it` for integration tests; else the name of the library or program whose unit tests it holds.
    pub(crate) target: String,
    executable: PathBuf,
    folder: PathBuf,
}

/// Builds all of them.
pub(crate) fn build(workspace: &Workspace) -> Result<Vec<Binary>> {
    let format = "--message-format=json-render-diagnostics";
    let mut cargo = workspace.cargo(&["test", "--workspace", "--locked", "--no-run", "--quiet", format]);
    let output = cargo
        .stdin(Stdio::null())
        .stderr(Stdio::inherit())
        .output()
        .context("cargo could not be started")?;
    if !output.status.success() {
        bail!("the tests do not build ({})", output.status);
    }
    let text = String::from_utf8(output.stdout).context("the output of cargo test")?;
    let binaries: Vec<Binary> = text.lines().filter_map(binary).collect();
    match binaries.is_empty() {
        true => bail!("cargo built no tests"),
        false => Ok(binaries),
    }
}

/// The test binary that a line of cargo's tells of, if it does.
fn binary(line: &str) -> Option<Binary> {
    let message: Value = serde_json::from_str(line).ok()?;
    let is_test = message["reason"] == "compiler-artifact" && message["profile"]["test"] == true;
    let executable = message["executable"].as_str().filter(|_| is_test)?;
    let folder = Path::new(message["manifest_path"].as_str()?).parent()?;
    Some(Binary {
        package: folder.file_name()?.to_str()?.to_owned(),
        target: message["target"]["name"].as_str()?.to_owned(),
        executable: executable.into(),
        folder: folder.to_owned(),
    })
}

impl Binary {
    pub(crate) fn name(&self) -> String {
        format!("tests: {} {}", self.package, self.target)
    }

    /// Runs it as cargo would.
    pub(crate) fn command(&self) -> Command {
        let mut command = Command::new(&self.executable);
        command
            .current_dir(&self.folder)
            .env("CARGO_MANIFEST_DIR", &self.folder);
        command
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_test_binaries_are_found() {
        let line = |test: bool, executable: &str| {
            format!(
                r#"{{"reason":"compiler-artifact","manifest_path":"/w/crates/baler/Cargo.toml","target":{{"name":"it"}},"profile":{{"test":{test}}},"executable":{executable}}}"#
            )
        };
        let found = binary(&line(true, r#""/w/target/it-1""#)).unwrap();
        assert_eq!(
            (found.name().as_str(), &*found.folder),
            ("tests: baler it", Path::new("/w/crates/baler"))
        );
        assert_eq!(binary(&line(false, r#""/w/target/baler""#)), None);
        assert_eq!(binary(&line(true, "null")), None);
        assert_eq!(binary("warning: not of interest"), None);
    }
}
