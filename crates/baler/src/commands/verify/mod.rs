//! `baler verify`: every live file is there, whole, and holds the rows that were written to it. With `--deep` also by every
//! byte, by the receipts of the jobs that made it, and by what else lies there.

mod chain;
mod checking;

use std::process::ExitCode;
use std::sync::Arc;

use anyhow::Result;
use baler_core::file::{File, Origin};
use baler_core::ids::TableName;
use baler_core::table::MergeSpec;
use serde::Serialize;

use super::{exit_code, print_json};
use crate::audit::{self, Kind};
use crate::cli::VerifyArgs;
use crate::report::{ProgressView, bytes, count};
use crate::root::Root;
use chain::{Chain, Link};
use checking::{Depth, Wrong};

/// What was found out about a file.
#[derive(Debug, Serialize)]
struct Verified {
    path: String,
    ok: bool,
    /// How its rows were proved: `digest`; `rows` where they were only read and counted; `footer` where not even that was
    /// asked for; `bytes` where the format is not Baler's own; `listing` for what should not be there.
    proved_by: &'static str,
    /// Whether the receipts of the jobs behind it agree: `agrees`, `absent`, or `disagrees`.
    #[serde(skip_serializing_if = "Option::is_none")]
    receipt: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    problem: Option<String>,
    /// What to do about it.
    #[serde(skip_serializing_if = "Option::is_none")]
    advice: Option<String>,
}

/// Files, bytes, rows and problems so far.
#[derive(Default)]
struct Sums {
    files: u64,
    bytes: u64,
    rows: u64,
    wrong: u64,
}

/// Runs it.
pub async fn run(args: &VerifyArgs) -> Result<ExitCode> {
    let root = Root::open_to_read(&args.root).await?;
    let only = args.table.as_deref().map(TableName::from);
    let progress = if args.json {
        ProgressView::silent()
    } else {
        ProgressView::on_terminal()
    };
    progress.begin_counting("verifying");
    let mut sums = Sums::default();
    let mut chain = Chain::of(&root)?;
    for (name, table) in root.tables(only.as_ref())? {
        let merge = table.spec.merge.clone();
        for file in table.files.values() {
            let verified = verify(&root, &mut chain, &name, file, &merge, depth(args)).await;
            progress.advance(1);
            sums.files += 1;
            sums.rows += file.rows;
            sums.bytes += file.bytes();
            tell(&verified, &progress, args.json, &mut sums)?;
        }
    }
    if args.deep {
        for strange in strangers(&root).await? {
            tell(&strange, &progress, args.json, &mut sums)?;
        }
    }
    progress.end();
    if !args.json {
        println!(
            "{} files, {}, {} rows: {} wrong",
            count(sums.files),
            bytes(sums.bytes),
            count(sums.rows),
            count(sums.wrong)
        );
    }
    Ok(exit_code(sums.wrong == 0))
}

fn depth(args: &VerifyArgs) -> Depth {
    match (args.quick, args.deep) {
        (true, _) => Depth::Quick,
        (_, true) => Depth::Deep,
        _ => Depth::Usual,
    }
}

fn tell(verified: &Verified, progress: &ProgressView, json: bool, sums: &mut Sums) -> Result<()> {
    sums.wrong += u64::from(!verified.ok);
    if json {
        return print_json(verified);
    }
    if let Some(problem) = &verified.problem {
        progress.print(&format!("WRONG  {}: {problem}", verified.path));
        if let Some(advice) = &verified.advice {
            progress.print(&format!("       {advice}"));
        }
    }
    Ok(())
}

async fn verify(
    root: &Root,
    chain: &mut Chain,
    table: &TableName,
    file: &Arc<File>,
    merge: &MergeSpec,
    depth: Depth,
) -> Verified {
    let wrong = checking::check(&root.site, file, merge, depth).await.err();
    let link = match depth {
        Depth::Deep => Some(chain.follow(table, file).await),
        Depth::Usual | Depth::Quick => None,
    };
    let (receipt, disagreement) = match link {
        None | Some(Link::None) => (None, None),
        Some(Link::Agrees) => (Some("agrees"), None),
        Some(Link::Absent) => (Some("absent"), None),
        Some(Link::Disagrees(why)) => (Some("disagrees"), Some(why)),
    };
    let advice = match &wrong {
        Some(wrong) => Some(advice(root, file, wrong)),
        None => disagreement.as_ref().map(|_| {
            "journal and receipt cannot both be right: keep copies of `_baler` and compare them with the file".to_owned()
        }),
    };
    let problem = wrong.map(|wrong| wrong.to_string()).or(disagreement);
    Verified {
        path: file.path.to_string(),
        ok: problem.is_none(),
        proved_by: proved_by(file, merge, depth),
        receipt,
        problem,
        advice,
    }
}

fn proved_by(file: &File, merge: &MergeSpec, depth: Depth) -> &'static str {
    match (depth, file.digest) {
        _ if merge.format() != MergeSpec::PARQUET => "bytes",
        (Depth::Quick, _) => "footer",
        (_, Some(_)) => "digest",
        (Depth::Deep, None) => "rows",
        (Depth::Usual, None) => "footer",
    }
}

/// A file that a job made can be made again, while what it was made of is kept.
fn advice(root: &Root, file: &File, wrong: &Wrong) -> String {
    let state = root.replica.state();
    let undo = match file.origin {
        Origin::Job(job) if state.committed.contains_key(&job) => {
            format!(
                ", or `baler undo {} {job}`, if its inputs are still kept",
                root.site.root
            )
        }
        _ => String::new(),
    };
    match wrong {
        Wrong::Gone(_) => format!("restore it from a copy{undo}; until then its rows are missing"),
        Wrong::Damaged(_) => format!("restore it from a copy{undo}; until then do not trust its rows"),
        Wrong::Unread(_) => "it could not be read: look into that, and verify again".to_owned(),
    }
}

/// What lies in the root and should not.
async fn strangers(root: &Root) -> Result<Vec<Verified>> {
    let audit = audit::audit(root).await?;
    let strange = audit.findings.into_iter();
    let strange = strange.filter(|finding| matches!(finding.kind, Kind::Foreign | Kind::LateWrite));
    let verified = strange.map(|finding| Verified {
        path: finding.path,
        ok: false,
        proved_by: "listing",
        receipt: None,
        problem: Some(finding.why),
        advice: Some(finding.kind.advice().to_owned()),
    });
    Ok(verified.collect())
}
