//! Granting work: at once, or as soon as some comes up. Whoever waits costs nothing: one follower reads the journal for
//! all of them, seldom while nothing happens.

use std::time::Duration;

use anyhow::{Result, anyhow};
use baler_core::request::{Grant, Poll, Reply, Request};
use baler_journal::host;
use tokio::time::Instant;

use super::{Watch, locked};

/// A state this young is not read again for a poll.
const FRESH: Duration = Duration::from_secs(1);

/// How often the journal is read while somebody works.
const FOLLOW_MIN: Duration = Duration::from_secs(1);

/// How seldom it is read while nothing happens.
const FOLLOW_MAX: Duration = Duration::from_secs(10);

impl Watch {
    /// Grants what there is. The state is tried first without writing: a root at rest stays untouched.
    pub async fn grant(&self, mut poll: Poll) -> Result<Vec<Grant>> {
        if self.root.would_decide(&Request::Poll(poll.clone())).is_empty() {
            return Ok(Vec::new());
        }
        poll.host = self.host()?;
        match self.submit(Request::Poll(poll)).await? {
            Reply::Granted(grants) => Ok(grants),
            other => Err(anyhow!("a poll was answered {other:?}")),
        }
    }

    /// Whether a poll like this would find something: now, or at some time before this long has passed.
    pub async fn stirred(&self, poll: &Poll, wait: Duration) -> Result<bool> {
        let deadline = tokio::time::Instant::now() + wait;
        let request = Request::Poll(poll.clone());
        let states = self.root.replica.watch();
        self.refresh().await?;
        loop {
            let seen = states.now().sequence;
            if !self.root.would_decide(&request).is_empty() {
                return Ok(true);
            }
            let changed = states.after(seen);
            match tokio::time::timeout_at(deadline, changed).await {
                Ok(Some(_)) => {}
                Ok(None) => return Err(anyhow!("the replica has stopped")),
                Err(_) => return Ok(false),
            }
        }
    }

    async fn refresh(&self) -> Result<()> {
        let old = locked(&self.caught_up).elapsed() > FRESH;
        match old {
            true => Ok(self.catch_up().await?),
            false => Ok(()),
        }
    }

    /// Grants what there is, or what comes up in this time. Who does not wait is content with what is known already: its
    /// poll shares an append with whatever else is asked at this moment.
    pub async fn grant_within(&self, poll: Poll, wait: Duration) -> Result<Vec<Grant>> {
        if wait.is_zero() {
            return self.grant(poll).await;
        }
        let deadline = tokio::time::Instant::now() + wait;
        let states = self.root.replica.watch();
        self.refresh().await?;
        loop {
            let seen = states.now().sequence;
            let grants = self.grant(poll.clone()).await?;
            if !grants.is_empty() {
                return Ok(grants);
            }
            let changed = states.after(seen);
            match tokio::time::timeout_at(deadline, changed).await {
                Ok(Some(_)) => {}
                Ok(None) => return Err(anyhow!("the replica has stopped")),
                Err(_) => return Ok(Vec::new()),
            }
        }
    }

    /// Reads what others append, for as long as it is polled: every second while jobs are open, less and less often
    /// while there are none.
    pub async fn follow(&self) {
        let mut pause = FOLLOW_MIN;
        loop {
            let before = self.root.replica.state().sequence;
            tokio::time::sleep(jittered(host::look_every(pause))).await;
            let young = locked(&self.caught_up).elapsed() < pause;
            if !young && let Err(error) = self.catch_up().await {
                tracing::warn!("the journal could not be read: {error}");
            }
            let state = self.root.replica.state();
            let busy = state.sequence > before || !state.jobs.is_empty();
            pause = match busy {
                true => FOLLOW_MIN,
                false => (pause * 3 / 2).min(FOLLOW_MAX),
            };
        }
    }
}

/// Up to a tenth longer, so that processes that began together do not stay together.
pub(crate) fn jittered(pause: Duration) -> Duration {
    pause + pause.mul_f64(host::fraction() / 10.0)
}

impl Watch {
    /// How long ago the state was known to be the latest.
    pub fn age(&self) -> Duration {
        let caught_up = *locked(&self.caught_up);
        Instant::now().saturating_duration_since(caught_up)
    }
}
