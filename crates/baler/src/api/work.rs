//! Workers elsewhere: they ask for work, tell what became of it, and show that they live.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use axum::body::Bytes;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use baler_core::event::ReleaseReason;
use baler_core::ids::JournalId;
use baler_core::request::{Grant, Poll, Reply, Request};
use futures::future::{join, join_all, try_join_all};

use super::Api;
use super::answer::{Refused, asked, json};
use crate::desk::assign;
use crate::desk::protocol::{Hello, PollAnswer, PollAsk, RenewAnswer, RenewAsk, VERSION};

/// The longest that a poll waits for work.
const WAIT_MAX: Duration = Duration::from_secs(30);

/// Slots that one worker is believed to have.
const SLOTS_MAX: usize = 1_024;

pub(super) async fn hello(State(api): State<Arc<Api>>) -> Result<Response, Refused> {
    let root = &api.station.root;
    json(&Hello {
        version: VERSION,
        root: root.site.root.to_string(),
        journal: root.journal()?,
        lease_ms: u64::try_from(api.station.watch.lease().as_millis()).unwrap_or(u64::MAX),
        outputs: api.outputs.clone(),
    })
}

/// Updates first: a slot that an ended attempt freed may get the next one in the same answer, and by the same append.
pub(super) async fn poll(State(api): State<Arc<Api>>, body: Bytes) -> Result<Response, Refused> {
    let ask: PollAsk = asked(&body)?;
    api.check_journal(ask.journal)?;
    let slots = ask.slots.min(SLOTS_MAX);
    let granting = async {
        match slots {
            0 => Ok(Vec::new()),
            _ => api.grant(&ask, slots).await,
        }
    };
    let (replies, grants) = join(api.take_updates(&ask), granting).await;
    // A result that was taken is told, whatever became of the wish.
    let (replies, grants) = match (replies, grants) {
        (Ok(replies), Ok(grants)) => (replies, grants),
        (Ok(replies), Err(_)) if !replies.is_empty() => (replies, Vec::new()),
        (Ok(_), Err(refused)) => return Err(refused),
        (Err(refused), grants) => {
            api.take_back(grants.unwrap_or_default()).await;
            return Err(refused);
        }
    };
    let assignments = grants.into_iter().map(|grant| assign(&api.station.root, grant));
    let assignments = assignments.collect::<anyhow::Result<_>>()?;
    json(&PollAnswer { replies, assignments })
}

pub(super) async fn renew(State(api): State<Arc<Api>>, body: Bytes) -> Result<Response, Refused> {
    let ask: RenewAsk = asked(&body)?;
    api.check_journal(ask.journal)?;
    api.station.watch.workers().spent(&ask.worker, ask.spent);
    let verdicts = api.station.watch.renew(&ask.leases).await;
    json(&RenewAnswer { verdicts })
}

pub(super) async fn rewatch(State(api): State<Arc<Api>>, body: Bytes) -> Result<Response, Refused> {
    let ask: RenewAsk = asked(&body)?;
    api.check_journal(ask.journal)?;
    api.refuse_when_stopping()?;
    api.station.watch.workers().spent(&ask.worker, ask.spent);
    let attempts: Vec<_> = ask.leases.iter().map(|(attempt, _)| *attempt).collect();
    let verdicts = api.station.watch.rewatch(&attempts).await;
    json(&RenewAnswer { verdicts })
}

impl Api {
    /// Token numbers of another journal, or of one from before a restore, mean nothing here.
    fn check_journal(&self, shown: JournalId) -> Result<(), Refused> {
        let ours = self.station.root.journal()?;
        match shown == ours {
            true => Ok(()),
            false => Err(Refused(
                StatusCode::CONFLICT,
                format!("this root's journal is {ours}, not {shown}: start the worker again"),
            )),
        }
    }

    /// Another coordinator is a better place to begin something.
    fn refuse_when_stopping(&self) -> Result<(), Refused> {
        match self.station.drain.load(Ordering::Relaxed) {
            false => Ok(()),
            true => Err(Refused(
                StatusCode::SERVICE_UNAVAILABLE,
                "this coordinator is about to stop".to_owned(),
            )),
        }
    }

    async fn take_updates(&self, ask: &PollAsk) -> Result<Vec<Reply>, Refused> {
        let replica = &self.station.root.replica;
        let told = ask.updates.iter().map(|word| replica.submit(word.clone().into()));
        Ok(try_join_all(told).await?)
    }

    /// The worker will not hear of these: nobody else should wait until their leases are over.
    async fn take_back(&self, grants: Vec<Grant>) {
        let replica = &self.station.root.replica;
        let given_back = grants.into_iter().map(|grant| {
            replica.submit(Request::Release {
                attempt: grant.attempt(),
                why: ReleaseReason::Drained,
                culprits: vec![],
            })
        });
        for error in join_all(given_back).await.into_iter().filter_map(Result::err) {
            tracing::warn!("what nobody works on is free once its lease is over: {error}");
        }
    }

    async fn grant(&self, ask: &PollAsk, slots: usize) -> Result<Vec<Grant>, Refused> {
        self.refuse_when_stopping()?;
        let workers = self.station.watch.workers();
        workers.asks(&ask.worker, slots, ask.memory.as_ref());
        workers.spent(&ask.worker, ask.spent);
        let poll = Poll {
            worker: ask.worker.clone(),
            watcher: self.station.watch.id(),
            embedded: false,
            host: None,
            slots,
            memory: ask.memory,
            isolates: ask.offer.isolates,
            scope: ask.offer.scope.clone(),
        };
        let wait = Duration::from_millis(ask.wait_ms).min(WAIT_MAX);
        Ok(self.station.watch.grant_within(poll, wait).await?)
    }
}
