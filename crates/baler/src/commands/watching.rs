//! Showing the same thing again and again, for people who look on and programs that follow.

use std::io::{IsTerminal, stdout};
use std::time::Duration;

use anyhow::Result;

use crate::root::Root;

const EVERY: Duration = Duration::from_secs(2);

/// Clears a terminal and begins at its top.
const CLEAR: &str = "\x1b[2J\x1b[H";

/// Shows something once, or again and again until the process is stopped.
pub(super) async fn show(root: &Root, again: bool, mut show: impl FnMut() -> Result<()>) -> Result<()> {
    loop {
        if again && stdout().is_terminal() {
            print!("{CLEAR}");
        }
        show()?;
        if !again {
            return Ok(());
        }
        tokio::time::sleep(EVERY).await;
        root.replica.catch_up().await?;
    }
}
