//! The `baler` binary: parse, run, say how it went.

use std::io::{Write, stderr};
use std::process::ExitCode;

use anyhow::Result;
use baler::cli::{Cli, Command};
use baler::commands;
use baler::settings::Usage;
use clap::Parser;

fn main() -> ExitCode {
    baler_heap::settle();
    let cli = Cli::parse();
    start_logging();
    match run(cli) {
        Ok(code) => code,
        Err(error) => {
            // Where nobody listens there is still the exit code.
            let _nobody_listens = writeln!(stderr(), "error: {error:#}");
            ExitCode::from(if error.is::<Usage>() { 2 } else { 1 })
        }
    }
}

fn run(cli: Cli) -> Result<ExitCode> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()?;
    let code = runtime.block_on(async {
        match cli.command {
            Command::Compact(args) => commands::compact::run(&args).await,
            Command::Plan(args) => commands::plan::run(&args).await,
            #[cfg(feature = "http")]
            Command::Serve(args) => commands::serve::run(&args).await,
            #[cfg(feature = "http")]
            Command::Worker(args) => commands::worker::run(&args).await,
            Command::Status(args) => commands::status::run(&args).await,
            Command::Files(args) => commands::files::run(&args).await,
            Command::Table(command) => commands::table::run(&command).await,
            Command::Add(args) => commands::add::run(&args).await,
            Command::Pin(args) => commands::pin::run(&args).await,
            Command::Unpin(args) => commands::pin::unpin(&args).await,
            Command::Jobs(args) => commands::jobs::run(&args).await,
            Command::Receipts(args) => commands::receipts::run(&args).await,
            Command::Undo(args) => commands::undo::run(&args).await,
            Command::Cancel(args) => commands::cancel::run(&args).await,
            Command::Pause(args) => commands::pause::run(&args).await,
            Command::Resume(args) => commands::pause::resume(&args).await,
            Command::Gc(args) => commands::gc::run(&args).await,
            Command::Audit(args) => commands::audit::run(&args).await,
            Command::Verify(args) => commands::verify::run(&args).await,
            Command::Retry(args) => commands::retry::run(&args).await,
            Command::Journal(command) => commands::journal::run(&command).await,
            Command::Upgrade(args) => commands::upgrade::run(&args).await,
            #[cfg(feature = "http")]
            Command::Chaos(args) => commands::chaos::run(&args).await,
            Command::Demo(args) => commands::demo::run(&args).await,
            Command::Completions(args) => commands::completions::run(&args),
            Command::Man(args) => commands::man::run(&args),
            Command::MergeChild => commands::merge_child::run().await,
        }
    });
    // A merge that was asked to stop may still be in the middle of a batch: nothing depends on it any more.
    runtime.shutdown_background();
    code
}

/// Logs go to standard error, and only where something is wrong or `BALER_LOG` asks for more.
fn start_logging() {
    use tracing_subscriber::EnvFilter;
    let filter = EnvFilter::try_from_env("BALER_LOG").unwrap_or_else(|_| EnvFilter::new("warn"));
    tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(std::io::stderr)
        .without_time()
        .init();
}
