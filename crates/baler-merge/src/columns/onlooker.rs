//! Proves the order while it goes on being found: on whatever thread has time, one stretch of it after another.

use crate::crew::{Crew, Handle};
use crate::error::MergeError;
use crate::order::{Order, Verifier};
use std::sync::{Arc, Mutex, PoisonError};

/// Sees every order, and is never more than one behind.
pub(crate) struct Onlooker<'a> {
    verifier: Arc<Mutex<Verifier<'a>>>,
    looking: Option<Handle<Result<(), MergeError>>>,
}

impl<'a> Onlooker<'a> {
    pub(crate) fn new(verifier: Verifier<'a>) -> Self {
        Self {
            verifier: Arc::new(Mutex::new(verifier)),
            looking: None,
        }
    }

    /// Has the next order checked. What was wrong with the one before is said now.
    pub(super) fn show(&mut self, crew: &Crew<'a>, order: Arc<Order>) -> Result<(), MergeError> {
        self.catch_up(crew)?;
        let verifier = Arc::clone(&self.verifier);
        self.looking = Some(crew.ask_first(move || {
            let mut verifier = verifier.lock().unwrap_or_else(PoisonError::into_inner);
            verifier.check(&order)
        }));
        Ok(())
    }

    /// Checks that no row is left.
    pub(super) fn finish(mut self, crew: &Crew<'a>) -> Result<(), MergeError> {
        self.catch_up(crew)?;
        let mut verifier = self.verifier.lock().unwrap_or_else(PoisonError::into_inner);
        verifier.finish()
    }

    fn catch_up(&mut self, crew: &Crew<'a>) -> Result<(), MergeError> {
        match self.looking.take() {
            Some(looking) => crew.wait_idle(looking),
            None => Ok(()),
        }
    }
}
