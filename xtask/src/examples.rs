//! The examples of the library, run as whoever reads about them would, each with what it must come to.

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};

use crate::workspace::Workspace;
use crate::{process, venv};

/// Those that come to an end by themselves, and what each of them says last.
const ENDING: &[(&str, &str)] = &[
    ("embedded", "the files are packed, with all rows"),
    ("remote_workers", "one file is left of each day"),
    ("bucket_only", "one file is left of each day"),
    ("own_format", "500 keys, 12800 counts"),
];

/// How long each of them may take.
const PATIENCE: Duration = Duration::from_secs(120);

/// Small files for the one that works on a folder until it is stopped.
const SMALL_FILES: &str = "\
import sys, pyarrow as pa, pyarrow.parquet as pq
for i in range(20):
    pq.write_table(pa.table({'key': [i, i + 20, i + 40]}), f'{sys.argv[1]}/{i:02}.parquet')
";

/// How many rows lie in how many files, unless some of them went while it counted.
const COUNT: &str = "\
import sys, glob, pyarrow.parquet as pq
files = glob.glob(sys.argv[1] + '/*.parquet')
try:
    print(len(files), sum(pq.read_metadata(file).num_rows for file in files))
except FileNotFoundError:
    print('they change')
";

pub(crate) fn run(workspace: &Workspace) -> Result<()> {
    // As `cargo test` builds them: a part of the workspace would be built with other features, and again.
    process::run(&mut workspace.cargo(&["build", "--workspace", "--examples", "--locked"]))?;
    for (name, last) in ENDING {
        ends_with(&program(workspace, name), last).with_context(|| format!("example {name}"))?;
    }
    standalone(workspace).context("example standalone")
}

fn program(workspace: &Workspace, name: &str) -> PathBuf {
    workspace.target().join("debug/examples").join(name)
}

fn ends_with(program: &Path, last: &str) -> Result<()> {
    let mut example = Example::start(Command::new(program))?;
    let mut said = String::new();
    for line in example.lines()? {
        said = line?;
        println!("  {said}");
    }
    let ended = example.0.wait()?;
    ensure!(ended.success(), "it ended with {ended}");
    ensure!(said.contains(last), "its last line is not about `{last}`");
    Ok(())
}

/// A folder of small files becomes one with the same rows; then it is stopped as from a terminal.
fn standalone(workspace: &Workspace) -> Result<()> {
    let folder = workspace.tools().join("example-standalone");
    if folder.exists() {
        std::fs::remove_dir_all(&folder)?;
    }
    std::fs::create_dir_all(&folder)?;
    let python = venv::TEST.python(workspace)?;
    let script = |text: &str| process::output(Command::new(&python).args(["-c", text]).arg(&folder));
    script(SMALL_FILES)?;
    let mut command = Command::new(program(workspace, "standalone"));
    command.arg(&folder);
    let mut example = Example::start(command)?;
    let begun = Instant::now();
    while script(COUNT)?.trim() != "1 60" {
        ensure!(
            begun.elapsed() < PATIENCE,
            "its files are not merged into one with all rows"
        );
        thread::sleep(Duration::from_millis(200));
    }
    process::output(Command::new("kill").args(["-INT", &example.0.id().to_string()]))?;
    let ended = example.0.wait()?;
    ensure!(ended.success(), "it ended with {ended}");
    println!("  20 files became one, with all rows");
    std::fs::remove_dir_all(&folder)?;
    Ok(())
}

/// A running example, killed if it takes too long, or if it is dropped before its end.
struct Example(Child);

impl Example {
    fn start(mut command: Command) -> Result<Self> {
        println!("$ {}", process::display(&command));
        let child = command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn();
        Ok(Self(child.context("it could not be started")?))
    }

    /// What it says, until its end or until it takes too long.
    fn lines(&mut self) -> Result<impl Iterator<Item = Result<String>> + use<>> {
        let stdout = self.0.stdout.take().context("it has no standard output")?;
        let (said, heard) = std::sync::mpsc::channel();
        thread::spawn(move || {
            BufReader::new(stdout)
                .lines()
                .map_while(Result::ok)
                .try_for_each(|line| said.send(line))
        });
        let until = Instant::now() + PATIENCE;
        Ok(std::iter::from_fn(move || {
            let left = until.saturating_duration_since(Instant::now());
            match heard.recv_timeout(left) {
                Ok(line) => Some(Ok(line)),
                Err(std::sync::mpsc::RecvTimeoutError::Disconnected) => None,
                Err(std::sync::mpsc::RecvTimeoutError::Timeout) => Some(too_long()),
            }
        }))
    }
}

fn too_long() -> Result<String> {
    bail!("it takes more than {} s", PATIENCE.as_secs())
}

impl Drop for Example {
    fn drop(&mut self) {
        let _gone_already = self.0.kill();
        let _gone_already = self.0.wait();
    }
}
