//! Threads that take jobs from one queue. Whoever waits for a job's end works too.

use std::any::Any;
use std::collections::VecDeque;
use std::convert::Infallible;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;

type Job<'j> = Box<dyn FnOnce() + Send + 'j>;

/// A queue of jobs and those who work it off.
pub(crate) struct Crew<'j> {
    queue: Mutex<Queue<'j>>,
    /// A job came, a job ended, or no more will come.
    news: Condvar,
}

struct Queue<'j> {
    jobs: VecDeque<Job<'j>>,
    closed: bool,
}

/// The end of a job.
pub(crate) struct Handle<T>(Arc<Mutex<Option<Ended<T>>>>);

type Ended<T> = Result<T, Box<dyn Any + Send>>;

/// Runs `lead` with `threads - 1` others who work off what it asks for.
pub(crate) fn with_crew<'j, T>(threads: usize, lead: impl FnOnce(&Crew<'j>) -> T) -> T {
    let crew = Crew {
        queue: Mutex::new(Queue {
            jobs: VecDeque::new(),
            closed: false,
        }),
        news: Condvar::new(),
    };
    thread::scope(|scope| {
        for _ in 1..threads {
            scope.spawn(|| crew.work());
        }
        // However the lead ends, the others must come to an end too.
        let _closes = Closes(&crew);
        lead(&crew)
    })
}

struct Closes<'c, 'j>(&'c Crew<'j>);

impl Drop for Closes<'_, '_> {
    fn drop(&mut self) {
        let mut queue = self.0.lock();
        queue.closed = true;
        queue.jobs.clear();
        self.0.news.notify_all();
    }
}

fn with_handle<'j, T: Send + 'j>(job: impl FnOnce() -> T + Send + 'j) -> (Job<'j>, Handle<T>) {
    let handle = Handle(Arc::default());
    let ended = Arc::clone(&handle.0);
    let job = move || {
        let result = catch_unwind(AssertUnwindSafe(job));
        *ended.lock().unwrap_or_else(PoisonError::into_inner) = Some(result);
    };
    (Box::new(job), handle)
}

impl<'j> Crew<'j> {
    /// Puts a job at the end of the queue.
    pub(crate) fn ask<T: Send + 'j>(&self, job: impl FnOnce() -> T + Send + 'j) -> Handle<T> {
        let (job, handle) = with_handle(job);
        self.lock().jobs.push_back(job);
        self.news.notify_all();
        handle
    }

    /// Puts a job before all others: somebody will soon wait for it.
    pub(crate) fn ask_first<T: Send + 'j>(&self, job: impl FnOnce() -> T + Send + 'j) -> Handle<T> {
        let (job, handle) = with_handle(job);
        self.lock().jobs.push_front(job);
        self.news.notify_all();
        handle
    }

    /// Waits for the end of a job, and works on others meanwhile. A panic in it goes on here.
    pub(crate) fn wait<T>(&self, handle: Handle<T>) -> T {
        match self.wait_busy(handle, || Ok::<_, Infallible>(false)) {
            Ok(ended) => ended,
            Err(never) => match never {},
        }
    }

    /// The same; `own_work` comes before the queue, as long as it says that it did something.
    #[expect(clippy::needless_pass_by_value, reason = "an end is given once")]
    pub(crate) fn wait_busy<T, E>(
        &self,
        handle: Handle<T>,
        mut own_work: impl FnMut() -> Result<bool, E>,
    ) -> Result<T, E> {
        loop {
            let ended = || handle.0.lock().unwrap_or_else(PoisonError::into_inner).take();
            if let Some(ended) = ended() {
                return Ok(ended.unwrap_or_else(|panic| resume_unwind(panic)));
            }
            if own_work()? {
                continue;
            }
            let mut queue = self.lock();
            // Looked at again under the queue's lock: who ends a job takes it before telling.
            if let Some(ended) = ended() {
                return Ok(ended.unwrap_or_else(|panic| resume_unwind(panic)));
            }
            match queue.jobs.pop_front() {
                Some(job) => {
                    drop(queue);
                    job();
                    self.tell();
                }
                None => drop(self.news.wait(queue).unwrap_or_else(PoisonError::into_inner)),
            }
        }
    }

    fn work(&self) {
        let mut queue = self.lock();
        loop {
            if let Some(job) = queue.jobs.pop_front() {
                drop(queue);
                job();
                self.tell();
                queue = self.lock();
            } else if queue.closed {
                return;
            } else {
                queue = self.news.wait(queue).unwrap_or_else(PoisonError::into_inner);
            }
        }
    }

    fn tell(&self) {
        drop(self.lock());
        self.news.notify_all();
    }

    fn lock(&self) -> MutexGuard<'_, Queue<'j>> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_jobs_end_on_any_number_of_threads() {
        for threads in [1, 2, 5] {
            let sum: u64 = with_crew(threads, |crew| {
                let handles: Vec<_> = (0..500u64).map(|number| crew.ask(move || number * 2)).collect();
                handles.into_iter().map(|handle| crew.wait(handle)).sum()
            });
            assert_eq!(sum, 499 * 500);
        }
    }

    #[test]
    fn what_is_asked_for_first_is_done_before_what_waits() {
        let done = Mutex::new(Vec::new());
        with_crew(1, |crew| {
            let later = [1, 2].map(|number| {
                crew.ask({
                    let done = &done;
                    move || done.lock().unwrap().push(number)
                })
            });
            crew.wait(crew.ask_first(|| done.lock().unwrap().push(0)));
            later.into_iter().for_each(|handle| crew.wait(handle));
        });
        assert_eq!(*done.lock().unwrap(), [0, 1, 2]);
    }

    #[test]
    fn a_panic_in_a_job_reaches_who_waits_for_it_and_nobody_hangs() {
        for threads in [1, 3] {
            let ended = catch_unwind(|| {
                with_crew(threads, |crew| {
                    let fine = crew.ask(|| 1);
                    let bad = crew.ask(|| -> u32 { panic!("on purpose") });
                    crew.wait(fine) + crew.wait(bad)
                })
            });
            assert!(ended.is_err());
        }
    }
}
