//! Which processes live, which of them listen, and what workers behind coordinators know that they hold.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::{Grant, Model, range_of, token_of};

/// The account of it.
#[derive(Debug, Default)]
pub(crate) struct Lives {
    /// Whether processes die in this world, and nothing else fails.
    pub(crate) only_deaths: bool,
    alive: BTreeSet<String>,
    /// Since when each coordinator that lives listens.
    listening: BTreeMap<String, u64>,
    /// Leases that a worker showed, so that it knew of them.
    shown: BTreeSet<Grant>,
}

impl Lives {
    pub(crate) fn is_alive(&self, name: &str) -> bool {
        self.alive.contains(name)
    }

    /// Whether a coordinator has listened since then.
    pub(crate) fn listened_since(&self, then_ms: u64) -> bool {
        self.listening.values().any(|since_ms| *since_ms <= then_ms)
    }

    pub(crate) fn has_shown(&self, grant: &Grant) -> bool {
        self.shown.contains(grant)
    }
}

impl Model {
    pub(crate) fn begins_to_live(&mut self, name: &str) {
        self.lives.alive.insert(name.to_owned());
    }

    pub(crate) fn lives_no_more(&mut self, name: &str) {
        self.lives.alive.remove(name);
        self.listens_no_more(name);
    }

    pub(crate) fn listens(&mut self, name: &str, now_ms: u64) {
        self.lives.listening.insert(name.to_owned(), now_ms);
    }

    pub(crate) fn listens_no_more(&mut self, name: &str) {
        self.lives.listening.remove(name);
    }

    /// A worker shows these leases to a coordinator.
    pub(crate) fn shows(&mut self, asked: &[u8]) {
        if !self.lives.only_deaths {
            return;
        }
        let asked: Value = serde_json::from_slice(asked).unwrap_or_default();
        let leases = asked["leases"].as_array().into_iter().flatten();
        let grants = leases.filter_map(|shown| {
            let attempt = &shown[0];
            let job = attempt["job"].as_u64()?;
            Some((job, range_of(&attempt["range"]), token_of(&attempt["token"])))
        });
        self.lives.shown.extend(grants);
    }
}
