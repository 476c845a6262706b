//! The memory that a process merges with: one budget for all its places. An attempt holds what it was granted of it, and
//! who asks for work offers what nobody holds. It is taken out of the budget before it is offered, so that two who ask at
//! once are not both granted it.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use baler_core::request::Memory;

use crate::desk::Room;

/// All memory for merging.
#[derive(Debug)]
pub struct Budget {
    all_bytes: u64,
    places: usize,
    lent: Mutex<Lent>,
}

/// What is out, and for how many places.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Lent {
    bytes: u64,
    places: usize,
}

/// A part of a budget, which goes back when it is dropped.
#[derive(Debug)]
pub struct Loan {
    budget: Arc<Budget>,
    lent: Mutex<Lent>,
}

impl Budget {
    /// So much, for so many attempts at once.
    pub fn new(all_bytes: u64, places: usize) -> Arc<Self> {
        Arc::new(Self {
            all_bytes,
            places,
            lent: Mutex::default(),
        })
    }

    /// What so many more places may be offered for: all that is free, but for the even shares of places that are still
    /// empty then.
    pub fn lend(self: &Arc<Self>, places: usize) -> Loan {
        let mut lent = locked(&self.lent);
        let taken = Lent {
            bytes: self.for_places(&lent, places),
            places,
        };
        lent.bytes += taken.bytes;
        lent.places += taken.places;
        Loan {
            budget: self.clone(),
            lent: Mutex::new(taken),
        }
    }

    /// What one more place would be offered for now.
    pub fn room(&self) -> Room {
        let free_bytes = self.for_places(&locked(&self.lent), 1);
        self.with_free(1, free_bytes)
    }

    fn for_places(&self, lent: &Lent, places: usize) -> u64 {
        let free = self.all_bytes.saturating_sub(lent.bytes);
        let share = (self.even() * places as u64).min(free);
        self.spare(lent, places).max(share)
    }

    /// What is free beyond the shares of the places that are empty once so many more are taken.
    fn spare(&self, lent: &Lent, places: usize) -> u64 {
        let empty = self.places.saturating_sub(lent.places + places) as u64;
        let free = self.all_bytes.saturating_sub(lent.bytes);
        free.saturating_sub(self.even() * empty)
    }

    fn even(&self) -> u64 {
        self.all_bytes / self.places.max(1) as u64
    }

    fn with_free(&self, slots: usize, free_bytes: u64) -> Room {
        Room {
            slots,
            memory: Memory {
                all_bytes: self.all_bytes,
                places: self.places,
                free_bytes,
            },
        }
    }
}

impl Loan {
    /// What to ask for work with.
    pub fn room(&self) -> Room {
        let lent = *locked(&self.lent);
        self.budget.with_free(lent.places, lent.bytes)
    }

    /// What there is to merge with.
    pub fn bytes(&self) -> u64 {
        locked(&self.lent).bytes
    }

    /// For one attempt, with what it was granted. Who has one place only has nothing to keep for others.
    pub fn part(&self, granted_bytes: u64) -> Self {
        let mut rest = locked(&self.lent);
        let bytes = match self.budget.places {
            0 | 1 => rest.bytes,
            _ => granted_bytes.min(rest.bytes),
        };
        let part = Lent {
            bytes,
            places: rest.places.min(1),
        };
        rest.bytes -= part.bytes;
        rest.places -= part.places;
        Self {
            budget: self.budget.clone(),
            lent: Mutex::new(part),
        }
    }

    /// It turned out to need no more than this: others get the rest.
    pub fn shrink_to(&self, bytes: u64) {
        let mut own = locked(&self.lent);
        if self.budget.places > 1 && own.bytes > bytes {
            locked(&self.budget.lent).bytes -= own.bytes - bytes;
            own.bytes = bytes;
        }
    }

    /// What is over is offered for the next together with what others left meanwhile.
    pub fn top_up(&self) {
        let mut own = locked(&self.lent);
        let mut lent = locked(&self.budget.lent);
        let spare = self.budget.spare(&lent, 0);
        lent.bytes += spare;
        own.bytes += spare;
    }
}

impl Drop for Loan {
    fn drop(&mut self) {
        let own = *locked(&self.lent);
        let mut lent = locked(&self.budget.lent);
        lent.bytes -= own.bytes;
        lent.places -= own.places;
    }
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn free(budget: &Arc<Budget>, places: usize) -> u64 {
        budget.lend(places).bytes()
    }

    #[test]
    fn what_one_holds_no_other_is_offered() {
        let budget = Budget::new(1000, 2);
        let asking = budget.lend(2);
        assert_eq!(asking.bytes(), 1000);
        assert_eq!(free(&budget, 1), 0, "it is offered already");
        let (small, large) = (asking.part(70), asking.part(900));
        drop(asking);
        assert_eq!((small.bytes(), large.bytes()), (70, 900));
        drop(small);
        assert_eq!(free(&budget, 1), 100);
        drop(large);
        assert_eq!(free(&budget, 2), 1000);
    }

    /// Trap: whoever asks first takes all, and a place beside it has nothing to begin with.
    #[test]
    fn places_that_are_empty_keep_their_shares() {
        let budget = Budget::new(1000, 2);
        let (one, other) = (budget.lend(1), budget.lend(1));
        assert_eq!((one.bytes(), other.bytes()), (500, 500));
    }

    #[test]
    fn the_next_attempt_of_a_place_has_what_others_left_too() {
        let budget = Budget::new(1000, 2);
        let asking = budget.lend(2);
        let (small, other) = (asking.part(70), asking.part(200));
        drop(asking);
        small.top_up();
        assert_eq!(small.bytes(), 800);
        let next = small.part(500);
        assert_eq!((next.room().slots, small.room().slots), (1, 0));
        drop(small);
        other.top_up();
        assert_eq!(other.bytes(), 500);
    }

    #[test]
    fn an_attempt_that_needs_less_gives_the_rest_back() {
        let budget = Budget::new(1000, 2);
        let large = budget.lend(2).part(900);
        large.shrink_to(300);
        assert_eq!(free(&budget, 1), 700);
        large.shrink_to(800);
        assert_eq!(large.bytes(), 300);
    }

    #[test]
    fn who_is_alone_has_all_of_it() {
        let budget = Budget::new(1000, 1);
        let only = budget.lend(1).part(70);
        only.shrink_to(10);
        assert_eq!(only.bytes(), 1000);
    }
}
