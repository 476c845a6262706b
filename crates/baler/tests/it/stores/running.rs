//! Runs that are under way: several at once, watched, killed.

use std::process::Child;
use std::time::{Duration, Instant};

use super::place::Place;
use crate::support::{Ended, ended};

/// Longer than anything here takes on a loaded machine.
const PATIENCE: Duration = Duration::from_secs(120);

/// Waits for each of them.
pub(super) fn all_ended(children: Vec<Child>) -> Vec<Ended> {
    let wait = |child: Child| ended(child.wait_with_output().unwrap());
    children.into_iter().map(wait).collect()
}

/// SIGKILL. Answers whether it was still running.
pub(super) fn kill(mut child: Child) -> bool {
    let running = child.try_wait().unwrap().is_none();
    child.kill().unwrap();
    child.wait().unwrap();
    running
}

/// Waits until something lies below this folder, or the run has ended.
pub(super) async fn wait_for(place: &Place, folder: &str, child: &mut Child) {
    let began = Instant::now();
    while place.names(folder).await.is_empty() && child.try_wait().unwrap().is_none() {
        assert!(began.elapsed() < PATIENCE, "{}: nothing in {folder}", place.name);
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
}

/// Waits until a name below the folder begins like this.
pub(super) async fn wait_for_name(place: &Place, folder: &str, begin: &str) {
    let began = Instant::now();
    while !place
        .names(folder)
        .await
        .iter()
        .any(|name| name.starts_with(begin))
    {
        assert!(began.elapsed() < PATIENCE, "{}: no {folder}/{begin}", place.name);
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}
