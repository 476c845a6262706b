//! Work that waits in the middle of plain code, such as a merge that reads its inputs. It has a thread of its own, but
//! either that thread runs or the simulator does, never both: the two hand over to each other, so what happens is the same
//! in every run of a seed. Threads that are done wait for the next such work: to begin one takes longer than most merges.

use std::cell::RefCell;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::task::{Context, Poll, Waker};

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
    /// Threads that wait for work of this one's.
    static IDLE: RefCell<Vec<Sender<Task>>> = const { RefCell::new(Vec::new()) };
}

/// Work for a thread.
struct Task {
    host: Arc<dyn Host>,
    runtime: Handle,
    work: Box<dyn FnOnce() + Send>,
    turns: Receiver<Waker>,
    said: Sender<Said>,
}

impl Task {
    fn run(self) {
        let last = self.said.clone();
        self.run_until_done();
        // Nothing of it is left on this thread by now.
        let _nobody_waits = last.send(Said::Done);
    }

    fn run_until_done(self) {
        let Ok(waker) = self.turns.recv() else {
            return;
        };
        let _within = Within::enter(self.host);
        let _inside = self.runtime.enter();
        SEAT.set(Some(Seat {
            turns: self.turns,
            said: self.said,
            waker,
        }));
        let _cut_short = catch_unwind(AssertUnwindSafe(self.work));
        SEAT.set(None);
    }
}

fn idle_thread() -> Sender<Task> {
    IDLE.with_borrow_mut(Vec::pop).unwrap_or_else(|| {
        let (give, tasks) = channel::<Task>();
        std::thread::spawn(move || tasks.into_iter().for_each(Task::run));
        give
    })
}

/// The simulator's side.
pub(crate) struct Coroutine {
    /// Dropped first where it is given up: the thread notices, and unwinds.
    turns: Option<Sender<Waker>>,
    said: Receiver<Said>,
    /// Whose work this is, until it is done.
    thread: Option<Sender<Task>>,
}

impl Coroutine {
    pub(crate) fn begin(host: Arc<dyn Host>, work: Box<dyn FnOnce() + Send>) -> Self {
        let (give_turn, turns) = channel();
        let (say, said) = channel();
        let thread = idle_thread();
        let _it_lives = thread.send(Task {
            host,
            runtime: Handle::current(),
            work,
            turns,
            said: say,
        });
        Self {
            turns: Some(give_turn),
            said,
            thread: Some(thread),
        }
    }

    /// Waits until the thread is done with it.
    fn join(&mut self) {
        self.turns = None;
        if self.thread.is_some() {
            while !matches!(self.said.recv(), Ok(Said::Done) | Err(_)) {}
            self.is_done();
        }
    }

    /// Its thread may have other work now.
    fn is_done(&mut self) {
        if let Some(thread) = self.thread.take() {
            // Where the simulator's own thread ends, those that wait for it end too.
            let _ended = IDLE.try_with(|idle| idle.borrow_mut().push(thread));
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
            Ok(Said::Waits) => {
                self.join();
                Poll::Ready(())
            }
            Ok(Said::Done) | Err(_) => {
                self.is_done();
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
