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
    /// With their numbers.
    jobs: VecDeque<(u64, Job<'j>)>,
    /// Jobs that were asked for so far.
    asked: u64,
    closed: bool,
}

/// The end of a job.
pub(crate) struct Handle<T> {
    number: u64,
    ended: Arc<Mutex<Option<Ended<T>>>>,
}

type Ended<T> = Result<T, Box<dyn Any + Send>>;

impl<T> Handle<T> {
    /// What came of it, once it has ended. A panic in it goes on here.
    fn take(&self) -> Option<T> {
        let ended = self.ended.lock().unwrap_or_else(PoisonError::into_inner).take();
        ended.map(|ended| ended.unwrap_or_else(|panic| resume_unwind(panic)))
    }
}

/// Runs `lead` with `threads - 1` others who work off what it asks for.
pub(crate) fn with_crew<'j, T>(threads: usize, lead: impl FnOnce(&Crew<'j>) -> T) -> T {
    let crew = Crew {
        queue: Mutex::new(Queue {
            jobs: VecDeque::new(),
            asked: 0,
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

impl<'j> Crew<'j> {
    /// Puts a job at the end of the queue.
    pub(crate) fn ask<T: Send + 'j>(&self, job: impl FnOnce() -> T + Send + 'j) -> Handle<T> {
        self.put(job, VecDeque::push_back)
    }

    /// Puts a job before all others: somebody will soon wait for it.
    pub(crate) fn ask_first<T: Send + 'j>(&self, job: impl FnOnce() -> T + Send + 'j) -> Handle<T> {
        self.put(job, VecDeque::push_front)
    }

    fn put<T: Send + 'j>(
        &self,
        job: impl FnOnce() -> T + Send + 'j,
        put: impl FnOnce(&mut VecDeque<(u64, Job<'j>)>, (u64, Job<'j>)),
    ) -> Handle<T> {
        let ended = Arc::new(Mutex::new(None));
        let end = Arc::clone(&ended);
        let job = move || {
            let result = catch_unwind(AssertUnwindSafe(job));
            *end.lock().unwrap_or_else(PoisonError::into_inner) = Some(result);
        };
        let mut queue = self.lock();
        queue.asked += 1;
        let number = queue.asked;
        put(&mut queue.jobs, (number, Box::new(job)));
        drop(queue);
        self.news.notify_all();
        Handle { number, ended }
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
            if let Some(ended) = handle.take() {
                return Ok(ended);
            }
            if own_work()? {
                continue;
            }
            if let Some(ended) = self.wait_once(&handle, |jobs| jobs.pop_front()) {
                return Ok(ended);
            }
        }
    }

    /// Waits for the end of a short job without taking up any other, which may be long.
    #[expect(clippy::needless_pass_by_value, reason = "an end is given once")]
    pub(crate) fn wait_idle<T>(&self, handle: Handle<T>) -> T {
        let itself = |jobs: &mut VecDeque<(u64, Job<'j>)>| {
            let place = jobs.iter().position(|(number, _)| *number == handle.number)?;
            jobs.remove(place)
        };
        loop {
            if let Some(ended) = self.wait_once(&handle, itself) {
                return ended;
            }
        }
    }

    /// The end of a job if it has come. Else does the job that `choose` takes from the queue, or waits for news.
    fn wait_once<T>(
        &self,
        handle: &Handle<T>,
        choose: impl FnOnce(&mut VecDeque<(u64, Job<'j>)>) -> Option<(u64, Job<'j>)>,
    ) -> Option<T> {
        let mut queue = self.lock();
        // Looked at under the queue's lock: who ends a job takes it before telling.
        if let Some(ended) = handle.take() {
            return Some(ended);
        }
        match choose(&mut queue.jobs) {
            Some((_, job)) => {
                drop(queue);
                job();
                self.tell();
            }
            None => drop(self.news.wait(queue).unwrap_or_else(PoisonError::into_inner)),
        }
        None
    }

    fn work(&self) {
        let mut queue = self.lock();
        loop {
            if let Some((_, job)) = queue.jobs.pop_front() {
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

    /// Trap: who waits for a moment takes up a long job, and everybody waits for it.
    #[test]
    fn who_waits_for_a_short_job_takes_up_no_other() {
        with_crew(1, |crew| {
            let long = crew.ask(|| 1);
            assert_eq!(crew.wait_idle(crew.ask(|| 2)), 2);
            assert!(long.take().is_none(), "it was not begun");
            assert_eq!(crew.wait(long), 1);
        });
        let sum: u64 = with_crew(3, |crew| {
            let handles: Vec<_> = (0..500u64).map(|number| crew.ask(move || number)).collect();
            handles.into_iter().map(|handle| crew.wait_idle(handle)).sum()
        });
        assert_eq!(sum, 499 * 250);
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
