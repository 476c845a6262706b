//! Showing the same thing again and again, for people who look on and programs that follow.

use std::io::{IsTerminal, stdout};
use std::time::Duration;

use anyhow::Result;

use crate::printing::is_heard;

const EVERY: Duration = Duration::from_secs(2);

/// Clears a terminal and begins at its top.
const CLEAR: &str = "\x1b[2J\x1b[H";

/// Shows something once, or again and again until the process is stopped or nobody reads it. Who looks on goes on looking where somebody
/// does not answer for a while; the first look must succeed.
pub(super) async fn show<T>(
    again: bool,
    mut look: impl AsyncFnMut() -> Result<T>,
    mut show: impl FnMut(&T) -> Result<()>,
) -> Result<()> {
    let mut seen = look().await?;
    loop {
        if again && stdout().is_terminal() {
            print!("{CLEAR}");
        }
        show(&seen)?;
        if !again || !is_heard() {
            return Ok(());
        }
        seen = loop {
            tokio::time::sleep(EVERY).await;
            match look().await {
                Ok(seen) => break seen,
                Err(error) => eprintln!("no answer now: {error:#}"),
            }
        };
    }
}
