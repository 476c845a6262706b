//! `baler receipts`: what committed jobs read, wrote and dropped, how it was proved, and what it took.

use std::process::ExitCode;
use std::time::{Duration, UNIX_EPOCH};

use anyhow::{Result, bail};
use baler_core::file::Digest;
use baler_core::ids::{JobId, TableName};
use baler_core::limits::RECEIPTS_KEPT;

use super::looking::View;
use super::print_json;
use crate::cli::ReceiptsArgs;
use crate::receipts::{Receipt, StretchProof, Wanted};
use crate::report::{bytes, count, seconds};

/// Runs it.
pub async fn run(args: &ReceiptsArgs) -> Result<ExitCode> {
    let view = View::open(&args.place, args.token_file.as_deref()).await?;
    match args.job {
        Some(job) => show(&view, JobId(job), args.json).await?,
        None => list(&view, args).await?,
    }
    Ok(ExitCode::SUCCESS)
}

async fn show(view: &View, job: JobId, json: bool) -> Result<()> {
    let Some(receipt) = view.receipt(job).await? else {
        bail!(
            "there is no receipt of job {job}: only committed jobs have one, those of the last {} jobs are kept, and one is \
             written a moment after its job; `baler jobs` says how the job stands",
            count(RECEIPTS_KEPT)
        );
    };
    match json {
        true => print_json(&receipt),
        false => {
            print_whole(&receipt);
            Ok(())
        }
    }
}

async fn list(view: &View, args: &ReceiptsArgs) -> Result<()> {
    let wanted = Wanted {
        table: args.table.as_deref().map(TableName::from),
        since: args.since,
    };
    let (receipts, more) = view.receipts(&wanted).await?;
    if args.json {
        return receipts.iter().try_for_each(print_json);
    }
    for receipt in &receipts {
        println!("{}", line(receipt));
    }
    match (receipts.is_empty(), more) {
        (true, _) => println!("There are no receipts."),
        (false, 0) => {}
        (false, more) => println!("{} older ones are not shown: name the job", count(more as u64)),
    }
    Ok(())
}

fn line(receipt: &Receipt) -> String {
    let place = match receipt.partition.as_str() {
        "" => receipt.table.clone(),
        partition => format!("{}/{partition}", receipt.table),
    };
    let dropped: u64 = receipt.drops.iter().map(|drop| drop.rows).sum();
    let dropped = match dropped {
        0 => String::new(),
        rows => format!(" ({} dropped by rule)", count(rows)),
    };
    let undone = match receipt.undone {
        Some(at) => format!("; UNDONE {}", time(at.unix_ms)),
        None => String::new(),
    };
    format!(
        "job {}  {}  {place}: {} → {} files, {} → {}, {} rows{dropped}; {} attempt(s), {}{undone}",
        receipt.job,
        time(receipt.committed.unix_ms),
        receipt.inputs.len(),
        receipt.outputs.len(),
        bytes(receipt.bytes_in()),
        bytes(receipt.bytes_out()),
        count(receipt.rows_out()),
        receipt.attempts,
        effort(receipt),
    )
}

fn effort(receipt: &Receipt) -> String {
    let worked = seconds(Duration::from_millis(receipt.effort.worked_ms));
    match receipt.effort.requests {
        0 => worked,
        requests => format!(
            "{worked}, {} requests, about ${:.6}",
            count(requests),
            receipt.price_usd
        ),
    }
}

fn print_whole(receipt: &Receipt) {
    println!("{}", line(receipt));
    println!("planned    {} ({})", time(receipt.planned.unix_ms), receipt.why);
    if receipt.undone.is_some() {
        println!("undone     its inputs are live again, and its outputs are not");
    }
    for input in &receipt.inputs {
        let proof = proof(input.rows, input.copied, input.digest);
        println!("in         {}  {}, {proof}", input.path, bytes(input.bytes));
    }
    for output in &receipt.outputs {
        let proof = proof(output.rows, output.copied, output.digest);
        println!(
            "out        {}  {}, {proof}, checksum {}",
            output.path,
            bytes(output.bytes),
            output.checksum
        );
    }
    for drop in &receipt.drops {
        let (rows, rule, digest) = (count(drop.rows), &drop.rule, drop.digest);
        println!("dropped    {rows} rows by {rule}, digest {digest}");
    }
    for range in &receipt.ranges {
        println!(
            "range {:<4} {} rows proved by rows, {} by bytes; {} copied, {} stitched, {} merged; {}",
            range.range,
            count(range.rows),
            count(range.bytes),
            count(range.effort.rows_copied),
            count(range.effort.rows_stitched),
            count(range.effort.rows_merged),
            seconds(Duration::from_millis(range.effort.worked_ms))
        );
        for proved in &range.stretches {
            println!("  {}", stretch(proved));
        }
    }
    for tried in &receipt.tried {
        let error = tried.error.as_ref();
        let error = error.map_or_else(String::new, |error| format!(": {error}"));
        println!(
            "attempt    range {}, {} by {}, {}{error}",
            tried.range, tried.token, tried.worker, tried.ended
        );
    }
    match receipt.check() {
        Ok(()) => println!("its figures add up"),
        Err(wrong) => println!("WRONG: {wrong}"),
    }
}

fn stretch(proved: &StretchProof) -> String {
    let StretchProof { proof, stretch } = proved;
    let several = match stretch.stretches {
        1 => String::new(),
        many => format!(" in {} stretches", count(many)),
    };
    let sums = match stretch.dropped == Digest::default() {
        true if stretch.read == stretch.written => format!("{} on both sides", stretch.read),
        _ => format!(
            "{} read, {} written, {} dropped",
            stretch.read, stretch.written, stretch.dropped
        ),
    };
    format!(
        "{:<8} {} rows{several}: {}; proved by {proof}, {sums}",
        stretch.way,
        count(stretch.rows),
        stretch.why
    )
}

fn proof(rows: u64, copied: u64, digest: Digest) -> String {
    match copied {
        0 => format!("{} rows, digest {digest}", count(rows)),
        _ if copied == rows => format!("{} rows, all copied", count(rows)),
        _ => format!(
            "{} rows, {} of them copied, digest of the others {digest}",
            count(rows),
            count(copied)
        ),
    }
}

fn time(unix_ms: u64) -> String {
    let time = UNIX_EPOCH + Duration::from_millis(unix_ms);
    humantime::format_rfc3339_seconds(time).to_string()
}
