//! Looking for new files, apart from polling: the inbox of a plain root is listed now and then, folder by folder. Native
//! tables are told what is new, and nothing is listed for them.

use std::time::Duration;

use anyhow::Result;

use super::Station;
use crate::adoption::{Adopted, Adoption};
use crate::discovery::Look;
use crate::report::ProgressView;
use crate::root::plain_table;
use crate::settings::ScopeSettings;
use crate::watch::jittered;

/// After a listing under which the state changed, or that failed, the next one comes this soon.
const AGAIN: Duration = Duration::from_secs(5);

impl Station {
    /// Lists at once, and then now and then, or when it is nudged.
    pub(super) async fn look_for_new_files(&self) {
        let Some(every) = self.rescan.every.filter(|_| !self.root.is_native()) else {
            return std::future::pending().await;
        };
        loop {
            let pause = match self.look().await {
                Ok(adopted) => self.pause_after(&adopted, every),
                Err(error) => {
                    tracing::error!("new files could not be looked for: {error:#}");
                    AGAIN.min(every).max(every / 4)
                }
            };
            tokio::select! {
                biased;
                () = tokio::time::sleep(jittered(pause)) => {}
                () = self.nudge.notified() => {}
            }
        }
    }

    fn pause_after(&self, adopted: &Adopted, every: Duration) -> Duration {
        for path in &adopted.changed {
            tracing::warn!("{path} was rewritten after it was compacted, and is not taken");
        }
        for skipped in &adopted.findings.skipped {
            tracing::debug!("{} is skipped: {}", skipped.path, skipped.reason);
        }
        for folder in &adopted.findings.unreadable {
            tracing::warn!("{folder} could not be listed");
        }
        match adopted.unsettled {
            true => AGAIN.min(every),
            false if adopted.findings.waiting > 0 => self
                .rescan
                .settle
                .clamp(Duration::from_secs(1), every.max(Duration::from_secs(1))),
            false => every,
        }
    }

    async fn look(&self) -> Result<Adopted> {
        self.watch.catch_up().await?;
        let look = Look {
            table: plain_table(),
            evidence: self.root.replica.state().sequence,
            settle: self.rescan.settle,
            now: self.root.now(),
            scope: ScopeSettings::default(),
            adopt_foreign: self.rescan.adopt_foreign,
        };
        Adoption::begin(self.root.clone(), look, ProgressView::silent())
            .end()
            .await
    }
}
