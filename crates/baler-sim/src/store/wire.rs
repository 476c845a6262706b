//! The way from a process to the store and back. A request that was sent goes its way whatever becomes of who sent it.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use http::StatusCode;
use http_body_util::{BodyExt, Full};
use object_store::ClientOptions;
use object_store::client::{
    ClientConfigKey, HttpClient, HttpConnector, HttpError, HttpErrorKind, HttpRequest, HttpResponse,
    HttpResponseBody, HttpService,
};
use tokio::sync::oneshot;
use tokio::time::{sleep, timeout};

use super::Version;
use super::objects::{Done, Op};
use super::s3::{self, Answer};
use crate::faults::Fault;
use crate::life::Life;
use crate::scenarios::Scenario;
use crate::world::World;

/// One process's way to the store.
#[derive(Clone, Debug)]
pub(crate) struct Wire {
    pub(crate) world: Arc<World>,
    pub(crate) life: Arc<Life>,
    patience: Duration,
}

impl Wire {
    pub(crate) fn new(world: Arc<World>, life: Arc<Life>) -> Self {
        let patience = Duration::from_secs(300);
        Self {
            world,
            life,
            patience,
        }
    }
}

/// Requests are given up after as long as the client would wait.
impl HttpConnector for Wire {
    fn connect(&self, options: &ClientOptions) -> object_store::Result<HttpClient> {
        let said = options.get_config_value(&ClientConfigKey::Timeout);
        let patience = said.and_then(|text| humantime::parse_duration(&text).ok());
        let patience = patience.unwrap_or(self.patience);
        Ok(HttpClient::new(Self {
            patience,
            ..self.clone()
        }))
    }
}

/// What a body is like when it arrives.
#[derive(Clone, Copy, PartialEq)]
enum Body {
    Whole,
    Short,
    Damaged,
}

/// What becomes of a request, drawn before it is sent.
struct Fate {
    there: Duration,
    back: Duration,
    fails_before: bool,
    answer_lost: bool,
    lands_late: Option<Duration>,
    false_exists: bool,
    refused: bool,
    stale: bool,
    elsewhere: bool,
    body: Body,
}

#[async_trait]
impl HttpService for Wire {
    async fn call(&self, request: HttpRequest) -> Result<HttpResponse, HttpError> {
        let op = s3::understand(&request);
        let fate = self.draw(&op);
        let (answer, answered) = oneshot::channel();
        let wire = self.clone();
        tokio::spawn(async move {
            let came = wire.carry(&op, fate).await;
            let _nobody_waits = answer.send(came);
        });
        match timeout(self.patience, answered).await {
            Ok(Ok(came)) => came,
            Ok(Err(_)) => Err(broken(HttpErrorKind::Interrupted)),
            Err(_) => Err(broken(HttpErrorKind::Timeout)),
        }
    }
}

fn broken(kind: HttpErrorKind) -> HttpError {
    HttpError::new(kind, std::io::Error::other("simulated"))
}

impl Wire {
    fn draw(&self, op: &Op) -> Fate {
        let world = &self.world;
        let mut fate = Fate {
            there: world.latency(),
            back: world.latency(),
            fails_before: world.strikes(Fault::FailBefore),
            answer_lost: world.strikes(Fault::ApplyThenFail),
            lands_late: None,
            false_exists: false,
            refused: world.is_stormy() && world.strikes_in_storm(),
            stale: matches!(op, Op::List { .. }) && world.strikes_often(Fault::StaleList),
            elsewhere: matches!(
                op,
                Op::Get {
                    head: false,
                    range: Some(_),
                    ..
                }
            ) && world.strikes_often(Fault::WrongRange),
            body: Body::Whole,
        };
        if op.is_data() {
            fate.there += world.data_latency();
        }
        if world.strikes(Fault::Slow) {
            fate.there = world.long_latency();
        }
        if op.writes() && world.strikes(Fault::ApplyLate) {
            fate.lands_late = Some(world.long_latency());
        }
        if matches!(op, Op::BeginUpload { .. })
            && let Some(late) = world.upload_begins_late()
        {
            fate.lands_late = Some(late);
        }
        if matches!(op, Op::Put { if_absent: true, .. }) {
            fate.false_exists = world.strikes_often(Fault::FalseExists);
        }
        if op.is_multipart() && world.strikes_often(Fault::Multipart) {
            match world.coin() {
                true => fate.fails_before = true,
                false => fate.answer_lost = true,
            }
        }
        if matches!(op, Op::Get { head: false, .. }) {
            if world.strikes(Fault::ShortRead) {
                fate.body = Body::Short;
            } else if world.strikes(Fault::DamagedRead) {
                fate.body = Body::Damaged;
            }
        }
        let cut = world.cut_off(&self.life.name);
        fate.fails_before |= cut.requests;
        fate.answer_lost |= cut.answers;
        fate
    }

    async fn carry(&self, op: &Op, fate: Fate) -> Result<HttpResponse, HttpError> {
        if fate.fails_before {
            sleep(fate.back).await;
            self.note(op, "fails before");
            self.world.failed(&self.life.name);
            return Err(broken(HttpErrorKind::Connect));
        }
        if fate.refused {
            sleep(fate.there + fate.back).await;
            self.note(op, "503");
            self.world.failed(&self.life.name);
            self.reached(24);
            let answer = Answer::error(StatusCode::SERVICE_UNAVAILABLE, "SlowDown");
            let body = answer.body.clone();
            return Ok(answer.into_http(body.into()));
        }
        if let Some(late) = fate.lands_late {
            let (wire, op) = (self.clone(), op.clone());
            wire.note(&op, "will land late");
            if op.is_entry() {
                wire.reached(3);
            }
            tokio::spawn(async move {
                sleep(late).await;
                wire.world.carry_out(&wire.life, &op, "lands late");
            });
            sleep(fate.there + fate.back).await;
            return Err(broken(HttpErrorKind::Interrupted));
        }
        sleep(fate.there).await;
        let answer = self.answer(op, &fate);
        sleep(fate.back).await;
        match fate.answer_lost {
            true => {
                self.note(op, "answer lost");
                self.world.failed(&self.life.name);
                match op {
                    op if op.is_entry() => self.reached(1),
                    op if op.is_multipart() => self.reached(27),
                    _ => {}
                }
                Err(broken(HttpErrorKind::Interrupted))
            }
            false => Ok(self.deliver(answer, fate.body)),
        }
    }

    fn answer(&self, op: &Op, fate: &Fate) -> Answer {
        if fate.false_exists && !self.world.is_there(op) {
            self.note(op, "409 without an object");
            self.reached(2);
            return Answer::error(StatusCode::CONFLICT, "ConditionalRequestConflict");
        }
        let done = match op {
            Op::List { prefix, after } if fate.stale => {
                self.note(op, "stale");
                self.reached(26);
                self.world.list_stale(prefix, after)
            }
            op => self.world.carry_out(&self.life, op, ""),
        };
        match (op, done) {
            // S3 knows no condition on what is not there.
            (Op::Put { .. }, Done::Changed) => {
                if op.is_entry() {
                    self.reached(4);
                }
                Answer::error(StatusCode::PRECONDITION_FAILED, "PreconditionFailed")
            }
            (op, Done::Object { version, range, .. })
                if fate.elsewhere && range.1 - range.0 < version.bytes.len() as u64 =>
            {
                self.note(op, "another range");
                self.reached(25);
                self.elsewhere(version, range)
            }
            (_, done) => s3::answer(done),
        }
    }

    /// Another stretch than was asked for: all of the object, or as many bytes from somewhere else, under their own name or, as
    /// a broken cache would do it, under that of what was asked for.
    fn elsewhere(&self, version: Version, asked: (u64, u64)) -> Answer {
        let total = version.bytes.len() as u64;
        let length = asked.1 - asked.0;
        let places = total - length;
        let from = (asked.0 + 1 + self.world.below(places)) % (places + 1);
        let answer = |range| {
            let head = false;
            s3::answer(Done::Object {
                version: version.clone(),
                range,
                head,
            })
        };
        let found = (from, from + length);
        match self.world.below(3) {
            0 => answer((0, total)),
            1 => answer(found),
            _ => answer(found).said_to_be(asked, total),
        }
    }

    fn deliver(&self, answer: Answer, body: Body) -> HttpResponse {
        let bytes = answer.body.clone();
        let bytes = match body {
            Body::Short if answer.status.is_success() && bytes.len() > 1 => return self.cut_short(answer),
            Body::Damaged if answer.status.is_success() && !bytes.is_empty() => {
                let mut damaged = bytes.to_vec();
                let at = self.world.below(damaged.len() as u64) as usize;
                damaged[at] ^= 1 << self.world.below(8);
                self.world
                    .note(format_args!("{} a bit is flipped", self.life.name));
                self.reached(25);
                Bytes::from(damaged)
            }
            _ => bytes,
        };
        answer.into_http(bytes.into())
    }

    /// Some of the body, and then its end, or an error in place of it.
    fn cut_short(&self, answer: Answer) -> HttpResponse {
        let some = answer
            .body
            .slice(..self.world.below(answer.body.len() as u64) as usize);
        self.world
            .note(format_args!("{} a body breaks off", self.life.name));
        self.reached(25);
        let body = match self.world.coin() {
            true => HttpResponseBody::from(some),
            false => {
                let some = Full::new(some).map_err(|never: Infallible| match never {});
                let breaks = async { Some(Err(broken(HttpErrorKind::Interrupted))) };
                HttpResponseBody::new(some.with_trailers(breaks))
            }
        };
        answer.into_http(body)
    }

    fn reached(&self, scenario: u8) {
        self.world.count(|coverage| coverage.reached(Scenario(scenario)));
    }

    fn note(&self, op: &Op, what: &str) {
        self.world.note(format_args!("{} {op}: {what}", self.life.name));
    }
}
