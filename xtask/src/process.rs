//! Running other programs: shown as they start, named when they fail, never reading the terminal.

use std::io::{BufRead, BufReader};
use std::process::{Command, ExitStatus, Stdio};

use anyhow::{Context, Result, bail};

/// The cargo that runs this chore.
pub(crate) fn cargo() -> Command {
    Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()))
}

/// Runs to the end; what it prints is for the reader.
pub(crate) fn run(command: &mut Command) -> Result<()> {
    println!("$ {}", display(command));
    let status = command
        .stdin(Stdio::null())
        .status()
        .with_context(|| not_started(command))?;
    check(command, status)
}

/// Runs to the end; what it prints on stdout is the result.
pub(crate) fn output(command: &mut Command) -> Result<String> {
    let output = command
        .stdin(Stdio::null())
        .stderr(Stdio::inherit())
        .output()
        .with_context(|| not_started(command))?;
    let text = String::from_utf8(output.stdout).with_context(|| format!("`{}`", display(command)))?;
    if !output.status.success() {
        print!("{text}");
    }
    check(command, output.status)?;
    Ok(text)
}

/// Runs to the end; what it prints is shown only if it fails, else its last line with words in it.
pub(crate) fn quietly(command: &mut Command) -> Result<()> {
    let output = command
        .stdin(Stdio::null())
        .output()
        .with_context(|| not_started(command))?;
    let text = String::from_utf8_lossy(&output.stdout);
    if output.status.success() {
        let last = text.lines().rev().find(|line| !line.trim().is_empty());
        println!("$ {}\n{}", display(command), last.unwrap_or_default());
    } else {
        println!(
            "$ {}\n{text}{}",
            display(command),
            String::from_utf8_lossy(&output.stderr)
        );
    }
    check(command, output.status)
}

/// Runs to the end, showing each line of stdout and handing it on as well.
pub(crate) fn lines(command: &mut Command, mut each: impl FnMut(&str)) -> Result<()> {
    println!("$ {}", display(command));
    let mut child = command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn()
        .with_context(|| not_started(command))?;
    let stdout = child.stdout.take().context("the child has no stdout")?;
    for line in BufReader::new(stdout).lines() {
        let line = line?;
        println!("{line}");
        each(&line);
    }
    check(command, child.wait()?)
}

pub(crate) fn display(command: &Command) -> String {
    let words = std::iter::once(command.get_program()).chain(command.get_args());
    words
        .map(|word| word.to_string_lossy())
        .collect::<Vec<_>>()
        .join(" ")
}

fn not_started(command: &Command) -> String {
    format!("`{}` could not be started", display(command))
}

fn check(command: &Command, status: ExitStatus) -> Result<()> {
    if !status.success() {
        bail!("`{}` failed ({status})", display(command));
    }
    Ok(())
}
