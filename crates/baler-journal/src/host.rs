//! What a process takes from the machine that it runs on: chance, tasks, and threads that may block.
//!
//! A program has all of it from the operating system and from tokio. A simulator runs many processes on one thread: each is
//! a `Host`, whose chance comes from a seed, whose tasks stand still while it is paused and for ever once it is dead, and
//! whose blocking work takes turns with everything else. So nothing in Baler draws a random number, begins a task or waits
//! on a thread but through here.

use std::any::Any;
use std::cell::RefCell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use futures::future::{BoxFuture, Either};
use tokio::runtime::Handle;
use tokio::task::JoinHandle;

/// A process of a simulator.
pub trait Host: Send + Sync {
    /// Random bits.
    fn chance(&self) -> u64;

    /// Whether its tasks may go on now.
    fn gate(&self, waker: &Waker) -> Gate;

    /// Runs work that may wait by `block_on`.
    fn run(self: Arc<Self>, work: Box<dyn FnOnce() + Send>) -> BoxFuture<'static, ()>;

    /// How often it looks at a flag that a program looks at this often.
    fn look_every(&self, pause: Duration) -> Duration;

    /// What stands for this many bytes where all files are tiny.
    fn scaled(&self, bytes: usize) -> usize;

    /// Waits inside such work.
    fn block_on(&self, future: Pin<&mut dyn Future<Output = ()>>);

    /// One of its tasks panicked. Others of the process may go on without it, and hide that.
    fn panicked(&self);
}

/// Whether a process goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Gate {
    /// It does.
    Open,
    /// It stands still; whoever asked is woken when it goes on.
    Shut,
    /// It is dead.
    Dead,
}

thread_local! {
    static HERE: RefCell<Option<Arc<dyn Host>>> = const { RefCell::new(None) };
}

fn here() -> Option<Arc<dyn Host>> {
    HERE.with_borrow(Clone::clone)
}

/// Until it is dropped, this thread acts for a simulated process.
pub struct Within(Option<Arc<dyn Host>>);

impl Within {
    /// From now on.
    pub fn enter(host: Arc<dyn Host>) -> Self {
        Self(HERE.replace(Some(host)))
    }
}

impl Drop for Within {
    fn drop(&mut self) {
        HERE.set(self.0.take());
    }
}

impl std::fmt::Debug for Within {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Within")
    }
}

/// Whether this is a process of a simulator: then all its work is done on one thread.
pub fn is_simulated() -> bool {
    here().is_some()
}

/// The number of this process, for people.
pub fn process() -> u32 {
    if is_simulated() { 0 } else { std::process::id() }
}

/// 64 random bits.
pub fn chance() -> u64 {
    here().map_or_else(rand::random, |host| host.chance())
}

/// 128 random bits.
pub fn wide_chance() -> u128 {
    u128::from(chance()) << 64 | u128::from(chance())
}

/// A random number in `0.0..1.0`.
pub fn fraction() -> f64 {
    (chance() >> 11) as f64 / (1u64 << 53) as f64
}

/// How long to wait between two looks at a flag, such as that the process is to end.
pub fn look_every(pause: Duration) -> Duration {
    here().map_or(pause, |host| host.look_every(pause))
}

/// So many bytes, or what stands for them where all files are tiny.
pub fn scaled(bytes: usize) -> usize {
    here().map_or(bytes, |host| host.scaled(bytes))
}

/// Begins a task of this process.
pub fn spawn<T: Send + 'static>(task: impl Future<Output = T> + Send + 'static) -> JoinHandle<T> {
    tokio::spawn(own(task))
}

/// A task as one of this process: it goes on while the process does. For tasks that are begun in another way.
pub fn own<F: Future + Send>(task: F) -> Either<F, Owned<F>> {
    match here() {
        None => Either::Left(task),
        Some(host) => Either::Right(Owned::by(host, task)),
    }
}

/// A task of a simulated process.
pub struct Owned<F> {
    host: Arc<dyn Host>,
    task: Option<Pin<Box<F>>>,
}

impl<F: Future> Owned<F> {
    /// A task of this process.
    pub fn by(host: Arc<dyn Host>, task: F) -> Self {
        let task = Some(Box::pin(task));
        Self { host, task }
    }
}

impl<F: Future> Future for Owned<F> {
    type Output = F::Output;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<F::Output> {
        let _within = Within::enter(self.host.clone());
        match self.host.gate(context.waker()) {
            Gate::Open => {}
            Gate::Shut => return Poll::Pending,
            Gate::Dead => {
                self.task = None;
                return Poll::Pending;
            }
        }
        let Self { host, task } = &mut *self;
        let Some(task) = task else {
            return Poll::Pending;
        };
        let _looks = Looks(host.as_ref());
        task.as_mut().poll(context)
    }
}

/// Sees a task panic while it is dropped.
struct Looks<'a>(&'a dyn Host);

impl Drop for Looks<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.panicked();
        }
    }
}

/// What it leaves behind is left by its process.
impl<F> Drop for Owned<F> {
    fn drop(&mut self) {
        let _within = Within::enter(self.host.clone());
        self.task = None;
    }
}

impl<F> std::fmt::Debug for Owned<F> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Owned")
    }
}

/// Work on a thread panicked, or the runtime ended under it.
#[derive(Clone, Debug, thiserror::Error)]
#[error("{0}")]
pub struct Broken(String);

/// Runs work on a thread that may block.
pub async fn blocking<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Result<T, Broken> {
    let Some(host) = here() else {
        let ended = tokio::task::spawn_blocking(work).await;
        return ended.map_err(|error| Broken(error.to_string()));
    };
    let (done, ended) = std::sync::mpsc::channel();
    host.run(Box::new(move || {
        let _nobody_waits = done.send(catch_unwind(AssertUnwindSafe(work)));
    }))
    .await;
    match ended.try_recv() {
        Ok(Ok(result)) => Ok(result),
        Ok(Err(panic)) => Err(Broken(words_of(panic.as_ref()))),
        Err(_) => Err(Broken("the work was cut short".to_owned())),
    }
}

fn words_of(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
    let text = text.or_else(|| panic.downcast_ref::<String>().cloned());
    text.unwrap_or_else(|| "it panicked".to_owned())
}

/// Waits for a future on a thread that may block.
pub fn block_on<T>(runtime: &Handle, future: impl Future<Output = T>) -> T {
    let Some(host) = here() else {
        return runtime.block_on(future);
    };
    let _inside = runtime.enter();
    let mut result = None;
    host.block_on(pin!(async { result = Some(future.await) }));
    result.expect("it was waited for to its end")
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use super::*;

    /// Counts up, and is shut or dead as it is told.
    struct Counting(Mutex<(u64, Gate)>);

    /// What is counted where a task panicked.
    const PANICKED: u64 = 1_000;

    impl Host for Counting {
        fn chance(&self) -> u64 {
            let mut state = self.0.lock().expect("a state");
            state.0 += 1;
            state.0
        }

        fn gate(&self, _: &Waker) -> Gate {
            self.0.lock().expect("a state").1
        }

        fn run(self: Arc<Self>, work: Box<dyn FnOnce() + Send>) -> BoxFuture<'static, ()> {
            Box::pin(async { work() })
        }

        fn look_every(&self, pause: Duration) -> Duration {
            pause
        }

        fn scaled(&self, bytes: usize) -> usize {
            bytes
        }

        fn block_on(&self, future: Pin<&mut dyn Future<Output = ()>>) {
            let ended = future.poll(&mut Context::from_waker(Waker::noop()));
            assert!(ended.is_ready(), "nothing waits in these tests");
        }

        fn panicked(&self) {
            self.0.lock().expect("a state").0 += PANICKED;
        }
    }

    fn counting() -> Arc<Counting> {
        Arc::new(Counting(Mutex::new((0, Gate::Open))))
    }

    #[test]
    fn chance_is_the_hosts_within_and_the_systems_outside() {
        let within = Within::enter(counting());
        assert_eq!((chance(), wide_chance()), (1, 2 << 64 | 3));
        drop(within);
        assert_ne!(chance(), chance());
    }

    #[tokio::test]
    async fn tasks_of_a_dead_process_do_nothing_more() {
        let host = counting();
        let task = {
            let _within = Within::enter(host.clone());
            spawn(async {
                tokio::task::yield_now().await;
                spawn(async { chance() }).await.expect("a task")
            })
        };
        assert_eq!(task.await.expect("a task"), 1, "tasks of its tasks are its own");
        host.0.lock().expect("a state").1 = Gate::Dead;
        let _within = Within::enter(host.clone());
        let dead = spawn(async { chance() });
        assert!(
            tokio::time::timeout(Duration::from_millis(20), dead)
                .await
                .is_err()
        );
    }

    #[tokio::test]
    async fn a_task_that_panics_is_seen_though_nobody_waits_for_it() {
        let host = counting();
        let _within = Within::enter(host.clone());
        let ended = spawn(async { std::panic::resume_unwind(Box::new("on purpose")) }).await;
        assert!(ended.is_err_and(|error| error.is_panic()));
        assert_eq!(host.0.lock().expect("a state").0, PANICKED);
    }

    #[tokio::test]
    async fn blocking_work_says_how_it_ended() {
        let _within = Within::enter(counting());
        assert_eq!(blocking(|| 7).await.expect("a result"), 7);
        let broken = blocking(|| -> u8 { std::panic::resume_unwind(Box::new("on purpose")) }).await;
        assert_eq!(broken.expect_err("a panic").to_string(), "on purpose");
    }
}
