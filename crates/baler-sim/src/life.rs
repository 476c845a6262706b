//! One process of the simulated fleet, from its start to its end: its chance, whether it goes on, stands still or is dead,
//! and its blocking work.

use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::Waker;
use std::time::Duration;

use baler_journal::host::{self, Gate, Host};
use futures::future::BoxFuture;

use crate::coroutine::{self, Coroutine};
use crate::dice::Dice;

/// A process.
#[derive(Debug)]
pub(crate) struct Life {
    /// Who, and which start of it this is.
    pub(crate) name: String,
    dice: Mutex<Dice>,
    /// How much smaller than real ones its outputs' parts are.
    smaller: usize,
    /// How often it looks whether there is something to do, at most.
    look_every: Duration,
    gate: Mutex<(Gate, Vec<Waker>)>,
    /// Whether a task of it has panicked.
    broken: AtomicBool,
}

impl Life {
    pub(crate) fn begin(seed: u64, name: String) -> Arc<Self> {
        let mut parts = Dice::new(seed, "parts");
        let mut looks = Dice::new(seed, "looks");
        Arc::new(Self {
            dice: Mutex::new(Dice::new(seed, &name)),
            smaller: parts.one_of(&[1, 20_000, 60_000]),
            look_every: Duration::from_secs(looks.one_of(&[1, 5, 10, 20])),
            gate: Mutex::new((Gate::Open, Vec::new())),
            broken: AtomicBool::new(false),
            name,
        })
    }

    /// Nothing of it is ever polled again.
    pub(crate) fn kill(&self) {
        self.set(Gate::Dead);
    }

    /// Nothing of it is polled for now.
    pub(crate) fn pause(&self) {
        let mut gate = locked(&self.gate);
        if gate.0 == Gate::Open {
            gate.0 = Gate::Shut;
        }
    }

    /// It goes on, if it lives.
    pub(crate) fn resume(&self) {
        if locked(&self.gate).0 == Gate::Shut {
            self.set(Gate::Open);
        }
    }

    /// Whether a task of it has panicked, whatever became of the others.
    pub(crate) fn is_broken(&self) -> bool {
        self.broken.load(Ordering::Relaxed)
    }

    pub(crate) fn is_dead(&self) -> bool {
        locked(&self.gate).0 == Gate::Dead
    }

    fn set(&self, to: Gate) {
        let waiting = {
            let mut gate = locked(&self.gate);
            gate.0 = to;
            std::mem::take(&mut gate.1)
        };
        waiting.into_iter().for_each(Waker::wake);
    }
}

impl Host for Life {
    fn chance(&self) -> u64 {
        locked(&self.dice).bits()
    }

    fn gate(&self, waker: &Waker) -> Gate {
        let mut gate = locked(&self.gate);
        if gate.0 == Gate::Shut {
            gate.1.push(waker.clone());
        }
        gate.0
    }

    /// Whoever stops waiting for it does not end it: so it is with threads.
    fn run(self: Arc<Self>, work: Box<dyn FnOnce() + Send>) -> BoxFuture<'static, ()> {
        Box::pin(async move {
            let _it_died = host::spawn(Coroutine::begin(self, work)).await;
        })
    }

    /// Flags that are looked at twenty times a second, and a journal that is read each second, would be most of what a
    /// simulated hour costs.
    fn look_every(&self, pause: Duration) -> Duration {
        pause.max(self.look_every)
    }

    /// Tiny outputs go in parts too.
    fn scaled(&self, bytes: usize) -> usize {
        bytes / self.smaller
    }

    fn block_on(&self, future: Pin<&mut dyn Future<Output = ()>>) {
        coroutine::wait(future);
    }

    fn panicked(&self) {
        self.broken.store(true, Ordering::Relaxed);
    }
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
