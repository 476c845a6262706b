//! Pages that hold figures: each table stands between two markers, and only what is between them is ever rewritten.
//!
//! ```text
//! <!-- bench growth -->
//! whatever `cargo xtask bench growth --write` found
//! <!-- end bench -->
//! ```

use std::fs;

use anyhow::{Context, Result, anyhow};

use crate::workspace::Workspace;

pub(crate) const PERFORMANCE: &str = "docs/performance.md";
pub(crate) const README: &str = "README.md";

const END: &str = "<!-- end bench -->";

/// Puts the text between the markers of this name.
pub(crate) fn write(workspace: &Workspace, page: &str, name: &str, text: &str) -> Result<()> {
    edit(workspace, page, |before| replace(before, name, text))
}

/// Puts each line in the place of the row of the table that begins with the same cell.
pub(crate) fn write_rows(workspace: &Workspace, page: &str, name: &str, rows: &[String]) -> Result<()> {
    edit(workspace, page, |before| replace_rows(before, name, rows))
}

fn edit(workspace: &Workspace, page: &str, change: impl Fn(&str) -> Result<String>) -> Result<()> {
    let path = workspace.path(page);
    let before = fs::read_to_string(&path).with_context(|| format!("cannot read {page}"))?;
    let after = change(&before).with_context(|| page.to_owned())?;
    fs::write(&path, after).with_context(|| format!("cannot write {page}"))?;
    println!("wrote {page}");
    Ok(())
}

fn replace(page: &str, name: &str, text: &str) -> Result<String> {
    let (before, _, after) = split(page, name)?;
    Ok(format!("{before}\n{}\n{after}", text.trim()))
}

fn replace_rows(page: &str, name: &str, rows: &[String]) -> Result<String> {
    let (_, between, _) = split(page, name)?;
    let mut lines: Vec<&str> = between.lines().collect();
    for row in rows {
        let key = first_cell(row).with_context(|| format!("no row of a table: {row}"))?;
        let line = lines
            .iter_mut()
            .find(|line| first_cell(line) == Some(key))
            .with_context(|| format!("the table `{name}` has no row `{key}`"))?;
        *line = row;
    }
    replace(page, name, &lines.join("\n"))
}

fn first_cell(row: &str) -> Option<&str> {
    row.strip_prefix("| ")?.split(" |").next()
}

/// What stands before, between and after the markers; those belong to the outer parts.
fn split<'a>(page: &'a str, name: &str) -> Result<(&'a str, &'a str, &'a str)> {
    let begin = format!("<!-- bench {name} -->");
    let missing = || anyhow!("there is no `{begin}` with `{END}` after it");
    let at = page.find(&begin).ok_or_else(missing)? + begin.len();
    let length = page[at..].find(END).ok_or_else(missing)?;
    if page[at..at + length].contains("<!-- bench ") {
        return Err(missing());
    }
    Ok((&page[..at], &page[at..at + length], &page[at + length..]))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::shape::Shape;

    const PAGE: &str = "# P\n\n<!-- bench a -->\nold\n<!-- end bench -->\n\ntext\n\n<!-- bench b -->\n| shape | s |\n|---|---|\n\
                        | overlap | – |\n| upsert | – |\n<!-- end bench -->\nend\n";

    #[test]
    fn only_what_is_between_the_markers_changes() {
        let page = replace(PAGE, "a", "new\n\ntable\n").unwrap();
        assert_eq!(page, PAGE.replace("old", "new\n\ntable"));
        assert_eq!(replace(&page, "a", "old").unwrap(), PAGE);
    }

    #[test]
    fn a_shape_that_was_not_measured_keeps_its_row() {
        let page = replace_rows(PAGE, "b", &["| upsert | 3.5 |".into()]).unwrap();
        assert_eq!(page, PAGE.replace("| upsert | – |", "| upsert | 3.5 |"));
        let error = replace_rows(PAGE, "b", &["| mixed | 3.5 |".into()]).unwrap_err();
        assert!(error.to_string().contains("no row `mixed`"), "{error}");
    }

    #[test]
    fn every_table_has_its_place() {
        let workspace = Workspace::find().unwrap();
        let read = |page| fs::read_to_string(workspace.path(page)).unwrap();
        let mut names: Vec<String> = ["growth", "small", "threads", "workers", "fleet"]
            .map(str::to_owned)
            .to_vec();
        for shape in Shape::ALL {
            names.push(format!("merge {}", shape.name()));
            names.push(format!("flame {}", shape.name()));
            replace_rows(&read(README), "merge", &[format!("| {} | new |", shape.name())]).unwrap();
        }
        for name in names {
            replace(&read(PERFORMANCE), &name, "new").unwrap();
        }
    }

    #[test]
    fn a_page_without_the_markers_is_refused_not_spoiled() {
        assert!(replace(PAGE, "c", "new").is_err());
        let open = PAGE.replacen("<!-- end bench -->", "", 1);
        assert!(
            replace(&open, "a", "new").is_err(),
            "the end of another block is not this one's"
        );
    }
}
