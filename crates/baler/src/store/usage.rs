//! How many requests and bytes a bucket took.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::{Kind, PriceList, Purpose};

/// What was sent and received since the bucket was opened.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Usage {
    /// By what it was for.
    pub purposes: BTreeMap<Purpose, Traffic>,
    /// Answers that said "slow down".
    pub throttled: u64,
    /// Requests that were sent again. They are among the requests too.
    pub retries: u64,
}

/// Requests and bytes for one purpose.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Traffic {
    /// Requests of each kind, those that failed too.
    pub requests: BTreeMap<Kind, u64>,
    /// Bytes of bodies received.
    pub bytes_in: u64,
    /// Bytes of bodies sent.
    pub bytes_out: u64,
}

impl Usage {
    /// All requests.
    pub fn requests(&self) -> u64 {
        self.purposes
            .values()
            .flat_map(|traffic| traffic.requests.values())
            .sum()
    }

    /// What one purpose took.
    pub fn of(&self, purpose: Purpose) -> Traffic {
        self.purposes.get(&purpose).cloned().unwrap_or_default()
    }

    /// What the requests cost, in US dollars. Data transfer is not in it: within a region it is free.
    pub fn price(&self, prices: &PriceList) -> f64 {
        let kinds = self.purposes.values().flat_map(|traffic| &traffic.requests);
        kinds
            .map(|(kind, requests)| prices.requests(*kind, *requests))
            .sum()
    }
}
