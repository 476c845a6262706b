//! Coordinator and worker in the process of the writer: nothing else runs anywhere.
//!
//! ```text
//! cargo run --example embedded
//! ```

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
    let table = || baler.state().tables.values().next().cloned();
    while table().is_none_or(|table| table.files.len() != 1) || !baler.state().jobs.is_empty() {
        let waiting = baler.pressure("data");
        println!("{} files of {} bytes wait", waiting.files, waiting.bytes);
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
    println!("one file is left, with all rows");
    baler.stop().await
}
