//! Coordinator and worker in the process of the writer: nothing else runs anywhere.
//!
//! ```text
//! cargo run --example embedded
//! ```

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::Result;
use baler::embed::Baler;
use baler::settings::{Merging, TableSettings};
use baler::station::RescanSettings;

#[tokio::main]
async fn main() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let rescan = RescanSettings {
        every: Some(Duration::from_millis(200)),
        settle: Duration::ZERO,
        adopt_foreign: false,
    };
    let baler = Baler::builder(&folder.path().display().to_string())
        .folder(TableSettings::unsaid(), rescan)
        .worker(Merging::of_this_machine()?)
        .start()
        .await?;

    baler::demo_data::write(folder.path(), 200, || {})?;
    println!("the writer has written 200 files");
    // What came too late for the last merge waits until it is worth another.
    while data_files(folder.path())? > 2 || !baler.state().jobs.is_empty() {
        let waiting = baler.pressure("data");
        println!("{} files of {} bytes wait", waiting.files, waiting.bytes);
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
    println!("the files are packed, with all rows");
    baler.stop().await
}

fn data_files(folder: &Path) -> Result<usize> {
    let names = fs::read_dir(folder)?.map(|entry| Ok(entry?.path()));
    let names: Vec<PathBuf> = names.collect::<Result<_>>()?;
    let is_data = |path: &&PathBuf| path.extension().is_some_and(|extension| extension == "parquet");
    Ok(names.iter().filter(is_data).count())
}
