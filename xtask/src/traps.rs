//! Holds docs/traps.md to the sources: every test that the page names exists, and every trap names one.

use std::path::PathBuf;

use anyhow::{Context, Result, bail};

use crate::workspace::Workspace;

const PAGE: &str = "docs/traps.md";

/// Modules that stand inside the file of the module above.
const INLINE: &[&str] = &["tests", "found_out"];

pub(crate) fn check(workspace: &Workspace) -> Result<()> {
    let page =
        std::fs::read_to_string(workspace.path(PAGE)).with_context(|| format!("cannot read {PAGE}"))?;
    let mut found = Vec::new();
    let rows: Vec<Row> = rows(&page).collect();
    for row in &rows {
        if row.tests.is_empty() {
            found.push(format!("{PAGE}:{}: no test is named", row.line));
        }
        let missing = row.tests.iter().filter(|test| !exists(workspace, test));
        found.extend(missing.map(|test| format!("{PAGE}:{}: there is no {test}", row.line)));
    }
    if rows.is_empty() {
        bail!("{PAGE} names no trap at all");
    }
    if !found.is_empty() {
        bail!(
            "name the test as `crate::module::name`, by its new name if it was renamed:\n{}",
            found.join("\n")
        );
    }
    Ok(())
}

/// A trap of the page.
struct Row<'a> {
    line: usize,
    tests: Vec<&'a str>,
}

/// The rows of the page's tables, without their heads.
fn rows(page: &str) -> impl Iterator<Item = Row<'_>> {
    let numbered = page.lines().zip(1..);
    let cells = numbered.filter(|(line, _)| line.starts_with("| ") && !line.starts_with("| trap |"));
    cells.map(|(text, line)| Row {
        line,
        tests: quoted(text).filter(|word| word.contains("::")).collect(),
    })
}

fn quoted(line: &str) -> impl Iterator<Item = &str> {
    line.split('`').skip(1).step_by(2)
}

/// Whether a file of the test's module has a function of that name.
fn exists(workspace: &Workspace, test: &str) -> bool {
    let Some((module, name)) = test.rsplit_once("::") else {
        return false;
    };
    let has = |path: PathBuf| {
        let text = std::fs::read_to_string(path).unwrap_or_default();
        text.contains(&format!("fn {name}("))
    };
    let mut files = files_of(module).into_iter();
    files.any(|file| has(workspace.path(&file)))
}

/// Where a module may be written: in a file of its own, or inside the one above.
fn files_of(module: &str) -> Vec<String> {
    let mut parts: Vec<&str> = module.split("::").collect();
    let package = match parts.remove(0) {
        "xtask" => "xtask".to_owned(),
        package => format!("crates/{package}"),
    };
    // `it` is the binary of a crate's integration tests.
    let folder = match parts.first() {
        Some(&"it") => "tests",
        _ => "src",
    };
    let mut files = Vec::new();
    let mut add = |path: &str| files.extend([format!("{path}.rs"), format!("{path}/mod.rs")]);
    add(&format!("{package}/{folder}/{}", parts.join("/")));
    if parts.last().is_some_and(|last| INLINE.contains(last)) {
        parts.pop();
        add(&format!("{package}/{folder}/{}", parts.join("/")));
    }
    files
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAGE: &str = "\
# Traps

| trap | tests |
|---|---|
| one | `baler::it::kills::a`, `baler-core::decide::tests::files::b` |
| none, but `code` | |

- `not::a::row`
";

    #[test]
    fn every_row_has_its_tests() {
        let rows: Vec<(usize, usize)> = rows(PAGE).map(|row| (row.line, row.tests.len())).collect();
        assert_eq!(rows, [(5, 2), (6, 0)]);
    }

    #[test]
    fn a_module_is_found_in_its_file_or_in_the_one_above() {
        assert!(files_of("baler::it::kills").contains(&"crates/baler/tests/it/kills.rs".to_owned()));
        assert!(
            files_of("baler::it::stores::faults")
                .contains(&"crates/baler/tests/it/stores/faults.rs".to_owned())
        );
        let files = files_of("baler::store::http::retry::tests");
        assert_eq!(files[0], "crates/baler/src/store/http/retry/tests.rs");
        assert_eq!(files[2], "crates/baler/src/store/http/retry.rs");
        assert_eq!(files_of("xtask::text::tests")[2], "xtask/src/text.rs");
    }

    #[test]
    fn a_test_that_is_gone_is_missed() {
        let workspace = Workspace::find().unwrap();
        assert!(exists(&workspace, "xtask::traps::tests::every_row_has_its_tests"));
        assert!(!exists(
            &workspace,
            concat!("xtask::traps::tests::every_row", "_is_gone")
        ));
        assert!(!exists(
            &workspace,
            "xtask::nowhere::tests::every_row_has_its_tests"
        ));
    }
}
