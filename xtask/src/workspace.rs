//! Where the workspace lies and where it builds, as cargo says (so `CARGO_TARGET_DIR` counts).

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};
use serde_json::Value;

use crate::process;

#[derive(Debug)]
pub(crate) struct Workspace {
    root: PathBuf,
    target: PathBuf,
}

impl Workspace {
    pub(crate) fn find() -> Result<Self> {
        let text = process::output(process::cargo().args(["metadata", "--no-deps", "--format-version=1"]))?;
        let metadata: Value = serde_json::from_str(&text).context("the output of cargo metadata")?;
        let path = |name: &str| -> Result<PathBuf> {
            let text = metadata[name]
                .as_str()
                .with_context(|| format!("cargo metadata has no {name}"))?;
            Ok(PathBuf::from(text))
        };
        Ok(Self {
            root: path("workspace_root")?,
            target: path("target_directory")?,
        })
    }

    pub(crate) fn path(&self, relative: &str) -> PathBuf {
        self.root.join(relative)
    }

    pub(crate) fn target(&self) -> &Path {
        &self.target
    }

    /// Where chores install what they need and leave their data; never outside the target directory.
    pub(crate) fn tools(&self) -> PathBuf {
        self.target.join("tools")
    }

    /// A cargo command that runs at the root of the workspace.
    pub(crate) fn cargo(&self, args: &[&str]) -> Command {
        let mut command = process::cargo();
        command.args(args).current_dir(&self.root);
        command
    }

    pub(crate) fn git(&self, args: &[&str]) -> Result<String> {
        process::output(Command::new("git").args(args).current_dir(&self.root))
    }
}
