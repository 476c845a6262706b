//! What is to go wrong, and what happened.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::watch;

/// Something that goes wrong with one request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fault {
    /// The connection closes before the request reaches the server.
    DropRequest,
    /// It reaches the server, and the connection closes without an answer.
    LoseResponse,
    /// It reaches the server, and the answer comes so much later.
    DelayResponse(Duration),
    /// It reaches the server, and the answer ends after so many bytes, head included.
    CutResponse(usize),
    /// It reaches the server, and the answer ends after its head and so many bytes of its body.
    CutBody(usize),
    /// The proxy answers; the server never hears of it.
    Answer(u16),
    /// It reaches the server, and the proxy answers otherwise.
    ForwardThenAnswer(u16),
    /// The proxy answers; the request reaches the server so much later.
    ApplyLate(u16, Duration),
}

/// A request that came through.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Exchange {
    /// As in `PUT`.
    pub method: String,
    /// As in `/bucket/_baler/journal/00000000000000000042`, with the query.
    pub target: String,
    /// What happened to it.
    pub fault: Option<Fault>,
}

#[derive(Debug, Default)]
pub(super) struct Script {
    planned: Mutex<Vec<Planned>>,
    exchanges: Mutex<Vec<Exchange>>,
    /// What befalls requests that nothing was planned for, and how many of a hundred.
    storm: Mutex<Option<(u32, Fault)>>,
    late: watch::Sender<usize>,
}

#[derive(Debug)]
struct Planned {
    method: &'static str,
    path_part: String,
    matches_left: usize,
    fault: Fault,
}

impl Script {
    pub(super) fn plan(&self, method: &'static str, path_part: &str, nth: usize, fault: Fault) {
        lock(&self.planned).push(Planned {
            method,
            path_part: path_part.to_owned(),
            matches_left: nth,
            fault,
        });
    }

    pub(super) fn faults_left(&self) -> usize {
        lock(&self.planned).len()
    }

    pub(super) fn clear(&self) {
        lock(&self.planned).clear();
        *lock(&self.storm) = None;
    }

    pub(super) fn storm(&self, percent: u32, fault: Fault) {
        *lock(&self.storm) = Some((percent, fault));
    }

    fn gust(&self) -> Option<Fault> {
        let storm = lock(&self.storm);
        let (percent, fault) = storm.as_ref()?;
        (rand::random_range(0..100) < *percent).then(|| fault.clone())
    }

    pub(super) fn take_exchanges(&self) -> Vec<Exchange> {
        std::mem::take(&mut *lock(&self.exchanges))
    }

    /// Records the request and says what goes wrong with it. Every rule counts it.
    pub(super) fn meet(&self, method: &str, target: &str) -> Option<Fault> {
        let mut planned = lock(&self.planned);
        for rule in planned.iter_mut() {
            if rule.method == method && target.contains(&rule.path_part) {
                rule.matches_left = rule.matches_left.saturating_sub(1);
            }
        }
        let due = planned.iter().position(|rule| {
            rule.matches_left == 0 && rule.method == method && target.contains(&rule.path_part)
        });
        let fault = due.map(|at| planned.remove(at).fault).or_else(|| self.gust());
        lock(&self.exchanges).push(Exchange {
            method: method.to_owned(),
            target: target.to_owned(),
            fault: fault.clone(),
        });
        fault
    }

    pub(super) fn late_one_waits(&self) {
        self.late.send_modify(|waiting| *waiting += 1);
    }

    pub(super) fn late_one_landed(&self) {
        self.late.send_modify(|waiting| *waiting -= 1);
    }

    pub(super) async fn late_ones_landed(&self) {
        let mut waiting = self.late.subscribe();
        let _the_sender_lives = waiting.wait_for(|waiting| *waiting == 0).await;
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
