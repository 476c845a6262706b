//! A fleet on modelled time: everything is real but the wire, the disk and the merge. The tests of `baler::it::model` do it,
//! and fail where a bound is missed; this makes tables of the rows that they print.

use std::fmt::Write;

use anyhow::{Result, ensure};

use super::page;
use crate::args::Options;
use crate::process;
use crate::provenance;
use crate::workspace::Workspace;

/// A table, as the model names it, and what stands above it.
struct Table {
    name: &'static str,
    about: &'static str,
    head: &'static str,
}

const TABLES: &[Table] = &[
    Table {
        name: "small jobs",
        about: "512 jobs of about 128 MB, each in a partition of its own:",
        head: "| shape | workers | MB/s | efficiency | s from a free slot to a claim, p50 / p99 | requests a job |",
    },
    Table {
        name: "large job",
        about: "One job of 8.6 GB, as large as jobs get, cut into 16 ranges:",
        head: "| shape | workers | MB/s | efficiency | seconds | s from a free slot to a claim, p50 / p99 |",
    },
    Table {
        name: "contention",
        about: "64 workers that begin at once on the same 512 jobs; times in seconds, p50 / p99; counts for each job:",
        head: "| shape | workers | claim | commit | the conditional write, p99 | entries | conflicts | renewals | reads | requests |",
    },
    Table {
        name: "drain",
        about: "8 workers, and a writer that hands over a job's files at three quarters of the pace that they can merge; seconds, p50 / \
                p99:",
        head: "| shape | workers | from file written to committed | adding without a fleet | adding beside it |",
    },
];

/// What the model prints a row with.
const ROW: &str = "fleet ";

pub(crate) fn run(args: &[String]) -> Result<()> {
    let options = Options::parse_with_flags(args, &[], &["write"])?;
    let workspace = Workspace::find()?;
    let provenance = provenance::line(&workspace)?;
    // How fast the tests are built makes no difference to a clock that waits for them.
    let cargo = [
        "test",
        "--locked",
        // All of it, as everywhere: a part would be built with other features, and again.
        "--workspace",
        "--test",
        "it",
        "--",
        "--nocapture",
        "--test-threads=1",
        "model::",
    ];
    let mut rows = Vec::new();
    let modelled = process::lines(workspace.cargo(&cargo).env("BALER_SOAK", "1"), |line| {
        rows.extend(row(line));
    });
    let text = format!("{provenance}; *modelled*.\n\n{}", render(&rows)?);
    println!("\n{text}");
    if options.flag("write") {
        page::write(&workspace, page::PERFORMANCE, "fleet", &text)?;
    }
    modelled
}

/// The table's name and the row, where a line has one.
fn row(line: &str) -> Option<(String, String)> {
    let (_, told) = line.split_once(ROW)?;
    let (table, cells) = told.split_once(": |")?;
    Some((table.to_owned(), format!("|{cells}")))
}

fn render(rows: &[(String, String)]) -> Result<String> {
    let mut text = String::new();
    for table in TABLES {
        let of_table: Vec<&str> = rows
            .iter()
            .filter(|(name, _)| name == table.name)
            .map(|(_, row)| row.as_str())
            .collect();
        ensure!(
            !of_table.is_empty(),
            "the model printed no row of `{}`",
            table.name
        );
        let rule = "|---".repeat(table.head.matches('|').count() - 1);
        writeln!(text, "{}\n\n{}\n{rule}|", table.about, table.head)?;
        for row in of_table {
            writeln!(text, "{row}")?;
        }
        text.push('\n');
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_found_wherever_a_line_has_them() {
        let line = "test model::x ... fleet small jobs: | bucket only | 8 |";
        let (table, row) = row(line).unwrap();
        assert_eq!(
            (table.as_str(), row.as_str()),
            ("small jobs", "| bucket only | 8 |")
        );
        assert_eq!(super::row("test fleet::shapes::a_fleet ... ok"), None);
    }

    #[test]
    fn a_table_without_rows_is_no_table() {
        let one = |table: &Table| (table.name.to_owned(), "| x |".to_owned());
        let all: Vec<_> = TABLES.iter().map(one).collect();
        let text = render(&all).unwrap();
        assert_eq!(text.matches("| x |").count(), TABLES.len());
        assert!(render(&all[1..]).is_err());
    }
}
