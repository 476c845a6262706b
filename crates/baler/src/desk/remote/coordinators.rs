//! The coordinators of one root. Their number may grow: one that did not answer at first joins the others when it does.

use std::sync::{Arc, PoisonError, RwLock};

use super::client::Coordinator;

/// The coordinators of one root.
#[derive(Debug, Default)]
pub struct Coordinators {
    clients: RwLock<Vec<Arc<dyn Coordinator>>>,
}

impl Coordinators {
    /// One more.
    pub fn join(&self, coordinator: Arc<dyn Coordinator>) {
        let mut clients = self.clients.write().unwrap_or_else(PoisonError::into_inner);
        clients.push(coordinator);
    }

    /// Their URLs, for people to read.
    pub fn names(&self) -> String {
        let names: Vec<String> = self.all().iter().map(|client| client.name().to_owned()).collect();
        names.join(", ")
    }

    pub(super) fn len(&self) -> usize {
        self.all().len()
    }

    /// They never become fewer.
    pub(super) fn get(&self, index: usize) -> Arc<dyn Coordinator> {
        self.all()[index].clone()
    }

    fn all(&self) -> Vec<Arc<dyn Coordinator>> {
        self.clients
            .read()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }
}
