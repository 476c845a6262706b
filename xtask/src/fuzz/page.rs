//! The section about fuzzing on the page of proofs. What earlier runs did stays, a line each.

use anyhow::Result;

use crate::workspace::Workspace;

const PAGE: &str = "docs/proof.md";
const HEADING: &str = "## Fuzzing\n";
const ABOUT: &str = "
Bytes of strangers, mutated: entries and snapshots of a journal (as they lie, and sealed anew after each mutation), Parquet files (looked at, read, and
merged on every path), names of objects and places, and bodies of the API (decided on a state with jobs under way, every invariant checked). None may panic,
hang for 20 s or take 2 GiB, and what is accepted must mean the same when it is written and read again. `cargo xtask fuzz --minutes N --write` adds a
line for each target; the corpus, with every input that once did harm, is run by each `cargo xtask test`.

| target | executions | time | by | on |
|---|---:|---:|---|---|
";

/// A target that was fuzzed without finding anything.
pub(super) struct Ran {
    pub(super) target: String,
    pub(super) executions: u64,
    pub(super) seconds: u64,
}

pub(super) fn write(workspace: &Workspace, provenance: &str, by: &str, runs: &[Ran]) -> Result<()> {
    let path = workspace.path(PAGE);
    let before = std::fs::read_to_string(&path).unwrap_or_else(|_| "# Proof\n".to_owned());
    std::fs::write(&path, with(&before, provenance, by, runs))?;
    println!("\nwrote {PAGE}");
    Ok(())
}

/// The page with a line for each run at the end of the section's table, which is made where it is missing.
fn with(page: &str, provenance: &str, by: &str, runs: &[Ran]) -> String {
    let page = match page.contains(HEADING) {
        true => page.to_owned(),
        false => format!("{}\n\n{HEADING}{ABOUT}", page.trim_end()),
    };
    let (before, section) = page.split_once(HEADING).unwrap_or((&page, ""));
    let end = section.find("\n## ").unwrap_or(section.len());
    let (section, after) = section.split_at(end);
    let lines = runs.iter().map(|ran| {
        format!(
            "| {} | {} | {} s | {by} | {provenance} |\n",
            ran.target,
            grouped(ran.executions),
            ran.seconds
        )
    });
    let lines: String = lines.collect();
    format!("{before}{HEADING}{}\n{lines}{after}", section.trim_end())
}

/// A number with its thousands apart.
fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let groups = digits.as_bytes().rchunks(3).rev();
    let groups: Vec<&str> = groups
        .map(|group| str::from_utf8(group).unwrap_or_default())
        .collect();
    groups.join(",")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_are_added_to_the_section_and_nothing_else_is_touched() {
        let ran = |executions| Ran {
            target: "names".to_owned(),
            executions,
            seconds: 60,
        };
        let page = "# Proof\n\nwords\n\n## Kills\n\nmany\n";
        let once = with(page, "Commit a", "libFuzzer", &[ran(1_234_567)]);
        assert!(once.starts_with(page.trim_end()), "{once}");
        assert!(
            once.ends_with("| names | 1,234,567 | 60 s | libFuzzer | Commit a |\n"),
            "{once}"
        );
        let followed = format!("{once}\n## Last\n\nend\n");
        let twice = with(&followed, "Commit b", "libFuzzer", &[ran(8)]);
        assert!(
            twice.contains("Commit a |\n| names | 8 | 60 s | libFuzzer | Commit b |\n\n## Last\n\nend\n"),
            "{twice}"
        );
    }
}
