//! `drive TARGET CORPUS SECONDS SEED`: mutates the files of a corpus for so long. An input that ends the process is left in `fuzz-last`
//! in the present folder.

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use baler_fuzz::{TARGETS, drive, files_of};

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let [name, corpus, seconds, seed] = &args[..] else {
        eprintln!("usage: drive TARGET CORPUS SECONDS SEED");
        return ExitCode::from(2);
    };
    let target = TARGETS.iter().find(|target| target.name == name);
    let (Some(target), Ok(seconds), Ok(seed)) = (target, seconds.parse(), seed.parse()) else {
        eprintln!("there is no such target, or a number is none");
        return ExitCode::from(2);
    };
    let corpus = match files_of(&PathBuf::from(corpus), target) {
        Ok(files) => files.into_iter().map(|(_, bytes)| bytes).collect::<Vec<_>>(),
        Err(error) => {
            eprintln!("{corpus}: {error}");
            return ExitCode::FAILURE;
        }
    };
    let bounds = (u64::MAX, Duration::from_secs(seconds));
    let driven = drive(target, &corpus, seed, bounds, |input| {
        // Kept on disk: an abort leaves no other trace. Where it cannot be written, the seed still leads there.
        let _kept = std::fs::write("fuzz-last", input);
    });
    println!("executions {}", driven.executions);
    ExitCode::SUCCESS
}
