//! The states that a replica learns of, for those who wait for the next one. They are woken in the order in which they began
//! to wait: so a run of the simulator is the same each time.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use baler_core::ids::Sequence;
use baler_core::state::State;
use tokio::sync::Notify;

/// Follows the states of a replica.
#[derive(Clone, Debug)]
pub struct States(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    state: Mutex<Arc<State>>,
    ended: AtomicBool,
    news: Notify,
}

impl Shared {
    fn state(&self) -> MutexGuard<'_, Arc<State>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The replica's side. When it is dropped, no more states come.
#[derive(Debug)]
pub(super) struct Teller(Arc<Shared>);

impl Teller {
    pub(super) fn of(state: State) -> Self {
        Self(Arc::new(Shared {
            state: Mutex::new(Arc::new(state)),
            ended: AtomicBool::new(false),
            news: Notify::new(),
        }))
    }

    pub(super) fn states(&self) -> States {
        States(self.0.clone())
    }

    pub(super) fn tell(&self, state: State) {
        *self.0.state() = Arc::new(state);
        self.0.news.notify_waiters();
    }
}

impl Drop for Teller {
    fn drop(&mut self) {
        self.0.ended.store(true, Ordering::Release);
        self.0.news.notify_waiters();
    }
}

impl States {
    /// The newest.
    pub fn now(&self) -> Arc<State> {
        self.0.state().clone()
    }

    /// Waits for one after this entry; `None` if the replica has stopped.
    pub async fn after(&self, seen: Sequence) -> Option<Arc<State>> {
        loop {
            // Begun before looking, so that nothing falls between the two.
            let news = self.0.news.notified();
            let state = self.now();
            if state.sequence > seen {
                return Some(state);
            }
            if self.0.ended.load(Ordering::Acquire) {
                return None;
            }
            news.await;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(sequence: u64) -> State {
        State {
            sequence: Sequence(sequence),
            ..State::default()
        }
    }

    #[tokio::test]
    async fn those_who_wait_hear_of_the_next_state_in_turn_and_of_the_end() {
        let teller = Teller::of(at(1));
        let (states, turns) = (teller.states(), Arc::new(Mutex::new(Vec::new())));
        let mut waiting = Vec::new();
        for number in 0..20 {
            let (states, turns) = (states.clone(), turns.clone());
            waiting.push(tokio::spawn(async move {
                let heard = states.after(Sequence(1)).await.map(|state| state.sequence);
                turns.lock().expect("turns").push(number);
                heard
            }));
            tokio::task::yield_now().await;
        }
        teller.tell(at(2));
        for waiting in waiting {
            assert_eq!(waiting.await.expect("a task"), Some(Sequence(2)));
        }
        assert_eq!(*turns.lock().expect("turns"), (0..20).collect::<Vec<_>>());
        let after_the_last = tokio::spawn(async move { states.after(Sequence(2)).await });
        tokio::task::yield_now().await;
        drop(teller);
        assert!(after_the_last.await.expect("a task").is_none());
    }
}
