//! Messages between workers and coordinators: what HTTP would carry, lost, delayed, doubled and replayed.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use anyhow::anyhow;
use async_trait::async_trait;
use axum::Router;
use axum::body::Body;
use axum::http::Request;
use baler::desk::{Coordinator, DeskError};
use baler_journal::host::Owned;
use bytes::Bytes;
use tokio::sync::oneshot;
use tokio::time::{sleep, timeout};
use tower::ServiceExt;

use super::Birth;
use crate::checkers;
use crate::faults::Fault;
use crate::life::Life;
use crate::plan::CROWD;
use crate::scenarios::Scenario;
use crate::world::World;

/// Who listens.
#[derive(Default)]
pub(crate) struct Network(Mutex<Vec<Option<Door>>>);

/// Where a coordinator that lives is reached.
type Door = (Arc<Life>, Router);

impl fmt::Debug for Network {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Network")
    }
}

impl Network {
    pub(crate) fn new(coordinators: u64) -> Self {
        Self(Mutex::new(vec![None; coordinators as usize]))
    }

    pub(crate) fn listen(&self, number: usize, life: Arc<Life>, router: Router) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)[number] = Some((life, router));
    }

    pub(crate) fn close(&self, number: usize) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)[number] = None;
    }

    fn who(&self, number: usize) -> Option<(Arc<Life>, Router)> {
        let listening = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        listening[number].clone().filter(|(life, _)| !life.is_dead())
    }
}

/// A worker's way to one coordinator.
#[derive(Clone, Debug)]
pub(crate) struct Link {
    world: Arc<World>,
    network: Arc<Network>,
    from: Arc<Life>,
    to: usize,
    name: Arc<str>,
    lease: Duration,
}

/// A message on its way.
#[derive(Clone)]
struct Message {
    path: String,
    body: Option<Vec<u8>>,
}

impl Link {
    pub(crate) fn new(birth: &Birth, to: usize) -> Self {
        Self {
            world: birth.world.clone(),
            network: birth.network.clone(),
            from: birth.life.clone(),
            to,
            name: format!("coordinator {to}").into(),
            lease: birth.plan.lease,
        }
    }

    fn delay(&self) -> Duration {
        match self.world.strikes(Fault::MessageSlow) {
            true => self.world.long_latency(),
            false => self.world.latency(),
        }
    }

    /// Brings a message there, has it answered, and brings the answer back.
    async fn carry(&self, message: Message) -> Option<(u16, Bytes)> {
        let (there, back) = (self.delay(), self.delay());
        let lost = self.world.strikes(Fault::MessageLost);
        let answer_lost = self.world.strikes(Fault::MessageLost);
        if self.world.strikes(Fault::MessageReplayed) {
            self.again(message.clone(), self.world.long_latency());
        }
        if self.world.strikes(Fault::MessageTwice) {
            self.again(message.clone(), self.delay());
        }
        sleep(there).await;
        if lost {
            self.world.note(format_args!(
                "{} {} to {}: lost",
                self.from.name, message.path, self.to
            ));
            return None;
        }
        let answer = self.hand_over(message).await?;
        sleep(back).await;
        (!answer_lost).then_some(answer)
    }

    fn again(&self, message: Message, after: Duration) {
        self.world.count(|coverage| coverage.reached(Scenario(16)));
        let link = self.clone();
        tokio::spawn(async move {
            sleep(after).await;
            let _nobody_waits = link.hand_over(message).await;
        });
    }

    /// The coordinator's own process answers, if it lives for long enough.
    async fn hand_over(&self, message: Message) -> Option<(u16, Bytes)> {
        let (life, router) = self.network.who(self.to)?;
        self.world.note(format_args!(
            "{} {} to {}",
            self.from.name, message.path, life.name
        ));
        let (done, answer) = oneshot::channel();
        let (world, lease, asked) = (self.world.clone(), self.lease, message.body.clone());
        let renews = message.path.ends_with("/renew");
        let handling = async move {
            let method = if message.body.is_some() { "POST" } else { "GET" };
            let request = Request::builder().method(method).uri(message.path);
            let request = request.body(Body::from(message.body.unwrap_or_default())).ok();
            let answer = router.oneshot(request?).await.ok()?;
            let status = answer.status().as_u16();
            let body = axum::body::to_bytes(answer.into_body(), usize::MAX).await.ok()?;
            if renews && status == 200 {
                let (now, asked) = (world.now_ms(), asked.unwrap_or_default());
                if world.look(|oracle, _| oracle.model.leases_held()) >= CROWD / 2 {
                    world.count(|coverage| coverage.reached(Scenario(15)));
                }
                world.look(|oracle, _| {
                    oracle.model.shows(&asked);
                    let wrong = checkers::leases::told(&oracle.model, now, lease, &asked, &body);
                    wrong.into_iter().for_each(|what| oracle.found(3, what));
                });
            }
            let _nobody_waits = done.send((status, body));
            Some(())
        };
        tokio::spawn(Owned::by(life, handling));
        answer.await.ok()
    }
}

#[async_trait]
impl Coordinator for Link {
    fn name(&self) -> &str {
        &self.name
    }

    async fn exchange(
        &self,
        path: &str,
        body: Option<Vec<u8>>,
        patience: Duration,
    ) -> Result<Bytes, DeskError> {
        let (done, answered) = oneshot::channel();
        let (link, path) = (self.clone(), path.to_owned());
        tokio::spawn(async move {
            match link.carry(Message { path, body }).await {
                Some(answer) => drop(done.send(answer)),
                // Nobody is there, or the answer is lost: whoever waits learns nothing.
                None => sleep(Duration::from_secs(3_600)).await,
            }
        });
        match timeout(patience, answered).await {
            Ok(Ok((200..300, body))) => Ok(body),
            Ok(Ok((status, body))) => {
                let words = String::from_utf8_lossy(&body).into_owned();
                Err(DeskError::Passing(anyhow!("{status}: {words}")))
            }
            _ => Err(DeskError::Passing(anyhow!("no answer"))),
        }
    }
}
