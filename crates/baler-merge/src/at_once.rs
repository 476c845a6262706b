//! The same work many times over, on several threads at once.

use std::cell::Cell;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

thread_local! {
    static ALONE: Cell<bool> = const { Cell::new(false) };
}

/// Does everything on the calling thread: for those who must know in which order things happen.
pub fn alone<T>(work: impl FnOnce() -> T) -> T {
    struct Before(bool);
    impl Drop for Before {
        fn drop(&mut self) {
            ALONE.set(self.0);
        }
    }
    let _before = Before(ALONE.replace(true));
    work()
}

/// What `work` gives for each number below `count`, in order. No more than `threads` are at it together, the caller's included.
pub(crate) fn at_once<T: Send>(count: usize, threads: usize, work: impl Fn(usize) -> T + Sync) -> Vec<T> {
    let next = AtomicUsize::new(0);
    let threads = if ALONE.get() { 1 } else { threads };
    let one_after_another = || {
        let mut done = Vec::new();
        loop {
            let number = next.fetch_add(1, Ordering::Relaxed);
            if number >= count {
                return done;
            }
            done.push((number, work(number)));
        }
    };
    let mut done = thread::scope(|scope| {
        let helpers: Vec<_> = (1..count.min(threads))
            .map(|_| scope.spawn(one_after_another))
            .collect();
        let mut done = one_after_another();
        for helper in helpers {
            done.extend(
                helper
                    .join()
                    .unwrap_or_else(|panic| std::panic::resume_unwind(panic)),
            );
        }
        done
    });
    done.sort_unstable_by_key(|(number, _)| *number);
    done.into_iter().map(|(_, result)| result).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn alone_nobody_helps() {
        let here = thread::current().id();
        let threads = alone(|| at_once(50, 16, |_| thread::current().id()));
        assert!(threads.into_iter().all(|thread| thread == here));
        assert!(!ALONE.get());
    }

    #[test]
    fn results_come_in_order_and_no_more_than_the_limit_run_together() {
        let (running, most) = (AtomicUsize::new(0), AtomicUsize::new(0));
        let squares = at_once(200, 16, |number| {
            most.fetch_max(running.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
            thread::sleep(std::time::Duration::from_millis(1));
            running.fetch_sub(1, Ordering::SeqCst);
            number * number
        });
        assert_eq!(
            squares,
            (0..200).map(|number| number * number).collect::<Vec<_>>()
        );
        let most = most.into_inner();
        assert!((2..=16).contains(&most), "{most} at once");
        assert!(at_once(0, 16, |number| number).is_empty());
    }
}
