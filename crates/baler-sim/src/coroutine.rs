//! Work that waits in the middle of plain code, such as a merge that reads its inputs. It has a thread of its own, but
//! either that thread runs or the simulator does, never both: the two hand over to each other, so what happens is the same
//! in every run of a seed.

use std::cell::RefCell;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::task::{Context, Poll, Waker};
use std::thread::JoinHandle;

use baler_journal::host::{Host, Within};
use tokio::runtime::Handle;

/// What the thread says when it hands over.
enum Said {
    Waits,
    Done,
}

/// The thread's side.
struct Seat {
    turns: Receiver<Waker>,
    said: Sender<Said>,
    waker: Waker,
}

thread_local! {
    static SEAT: RefCell<Option<Seat>> = const { RefCell::new(None) };
}

/// The simulator's side.
pub(crate) struct Coroutine {
    /// Dropped first where it is given up: the thread notices, and unwinds.
    turns: Option<Sender<Waker>>,
    said: Receiver<Said>,
    thread: Option<JoinHandle<()>>,
}

impl Coroutine {
    pub(crate) fn begin(host: Arc<dyn Host>, work: Box<dyn FnOnce() + Send>) -> Self {
        let (turns, turn) = channel::<Waker>();
        let (say, said) = channel();
        let runtime = Handle::current();
        let thread = std::thread::spawn(move || {
            let Ok(waker) = turn.recv() else {
                return;
            };
            let _within = Within::enter(host);
            let _inside = runtime.enter();
            let last = say.clone();
            SEAT.set(Some(Seat {
                turns: turn,
                said: say,
                waker,
            }));
            let _cut_short = catch_unwind(AssertUnwindSafe(work));
            let _nobody_waits = last.send(Said::Done);
        });
        Self {
            turns: Some(turns),
            said,
            thread: Some(thread),
        }
    }

    fn join(&mut self) {
        self.turns = None;
        if let Some(thread) = self.thread.take() {
            let _ended = thread.join();
        }
    }
}

impl Future for Coroutine {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        let waker = context.waker().clone();
        let went_on = self.turns.as_ref().is_some_and(|turns| turns.send(waker).is_ok());
        match self.said.recv() {
            Ok(Said::Waits) if went_on => Poll::Pending,
            _ => {
                self.join();
                Poll::Ready(())
            }
        }
    }
}

impl Drop for Coroutine {
    fn drop(&mut self) {
        self.join();
    }
}

/// The process died while this thread waited.
struct Died;

/// Waits on the thread of a coroutine.
pub(crate) fn wait(mut future: Pin<&mut dyn Future<Output = ()>>) {
    let mut seat = SEAT.take().expect("only coroutines wait");
    loop {
        let waker = seat.waker.clone();
        if future.as_mut().poll(&mut Context::from_waker(&waker)).is_ready() {
            SEAT.set(Some(seat));
            return;
        }
        let told = seat.said.send(Said::Waits).is_ok();
        match seat.turns.recv() {
            Ok(waker) if told => seat.waker = waker,
            _ => resume_unwind(Box::new(Died)),
        }
    }
}
