//! Words that no tracked file may hold: paths of somebody's machine, traces of a merge, notes to oneself.

use std::path::Path;

use anyhow::{Result, bail};

use crate::workspace::Workspace;

/// Written in two halves, so that this file passes its own check.
const WORDS: &[&str] = &[
    concat!("/ho", "me/"),
    concat!("/Us", "ers/"),
    concat!("/ro", "ot/"),
    concat!("/wo", "rk/"),
    concat!("<<<<", "<<< "),
    concat!(">>>>", ">>> "),
    concat!("NOCOM", "MIT"),
];

pub(crate) fn check(workspace: &Workspace) -> Result<()> {
    let mut found = Vec::new();
    for name in workspace.git(&["ls-files", "-z"])?.split_terminator('\0') {
        // A file deleted but not yet committed, and one that is not text, have nothing to say.
        let Ok(text) = std::fs::read_to_string(workspace.path(name)) else {
            continue;
        };
        found.extend(findings(Path::new(name), &text));
    }
    if !found.is_empty() {
        bail!("these lines must not be committed:\n{}", found.join("\n"));
    }
    Ok(())
}

fn findings(path: &Path, text: &str) -> Vec<String> {
    let numbered = text.lines().zip(1..);
    let bad = numbered.filter(|(line, _)| WORDS.iter().any(|word| begins_in(line, word)));
    bad.map(|(line, number)| format!("{}:{number}: {}", path.display(), line.trim()))
        .collect()
}

/// Whether the word stands in the line on its own: the end of a longer path or word does not count.
fn begins_in(line: &str, word: &str) -> bool {
    line.match_indices(word).any(|(at, _)| {
        !line[..at].ends_with(|before: char| before.is_alphanumeric() || "._-/<>}~".contains(before))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_of_ones_own_machine_is_found_with_its_line() {
        let text = format!("fine\nlet data = \"{}me/data\";\n", concat!("/ho", "me/"));
        let found = findings(Path::new("a.rs"), &text);
        assert_eq!(found.len(), 1);
        assert!(found[0].starts_with("a.rs:2: let data"), "{found:?}");
    }

    #[test]
    fn part_of_another_path_is_not() {
        let text = format!(
            "target{}x and x.com{}y",
            concat!("/wo", "rk/"),
            concat!("/ho", "me/")
        );
        assert!(findings(Path::new("a.md"), &text).is_empty());
    }
}
