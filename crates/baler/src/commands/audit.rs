//! `baler audit`: compares the bucket with the journal, and changes nothing.

use std::process::ExitCode;

use anyhow::Result;

use super::{exit_code, print_json};
use crate::audit::{self, Audit, Finding, Kind};
use crate::cli::RootArgs;
use crate::report::{bytes, count};
use crate::root::Root;

/// Runs it.
pub async fn run(args: &RootArgs) -> Result<ExitCode> {
    let root = Root::open_to_read(&args.root).await?;
    let audit = audit::audit(&root).await?;
    match args.json {
        true => {
            audit.findings.iter().try_for_each(print_json)?;
            print_json(&serde_json::json!({
                "clean": audit.is_clean(),
                "counts": audit.counts,
                "uploads_unknown": audit.uploads_unknown,
            }))?;
        }
        false => print_for_people(&audit),
    }
    Ok(exit_code(audit.is_clean()))
}

fn print_for_people(audit: &Audit) {
    let (odd, others): (Vec<&Finding>, Vec<&Finding>) =
        audit.findings.iter().partition(|finding| finding.kind.is_odd());
    for finding in &odd {
        println!("{}", line(finding));
    }
    for finding in others.iter().filter(|finding| finding.kind == Kind::Upload) {
        println!("{}", line(finding));
    }
    for (kind, number) in &audit.counts {
        println!("{:>10}  {}", count(*number), name(*kind));
    }
    if let Some(why) = &audit.uploads_unknown {
        println!("Whether uploads were left open is not known: {why}");
    }
    let mut kinds: Vec<Kind> = odd.iter().map(|finding| finding.kind).collect();
    kinds.extend(
        others
            .iter()
            .map(|finding| finding.kind)
            .filter(|kind| *kind == Kind::Kept),
    );
    kinds.dedup();
    for kind in kinds {
        println!("{}: {}", name(kind), kind.advice());
    }
    match odd.len() {
        0 => println!("Bucket and journal agree"),
        odd => println!("{} object(s) are not as the journal says", count(odd as u64)),
    }
}

fn line(finding: &Finding) -> String {
    format!(
        "{:<11} {:>10}  {}  ({})",
        name(finding.kind),
        bytes(finding.bytes),
        finding.path,
        finding.why
    )
}

fn name(kind: Kind) -> &'static str {
    match kind {
        Kind::Missing => "missing",
        Kind::Differs => "differs",
        Kind::Foreign => "foreign",
        Kind::LateWrite => "late write",
        Kind::Upload => "upload",
        Kind::Live => "live",
        Kind::Journal => "journal",
        Kind::Receipt => "receipt",
        Kind::SetAside => "set aside",
        Kind::Consumed => "consumed",
        Kind::Kept => "kept",
        Kind::Leftover => "leftover",
        Kind::UnderWay => "under way",
        Kind::Scratch => "scratch",
        Kind::Quarantined => "quarantined",
        Kind::New => "new",
        Kind::Other => "other",
    }
}
