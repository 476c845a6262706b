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

    /// So much more.
    pub fn add(&mut self, more: &Self) {
        self.throttled += more.throttled;
        self.retries += more.retries;
        for (purpose, more) in &more.purposes {
            let traffic = self.purposes.entry(*purpose).or_default();
            traffic.bytes_in += more.bytes_in;
            traffic.bytes_out += more.bytes_out;
            for (kind, number) in &more.requests {
                *traffic.requests.entry(*kind).or_default() += number;
            }
        }
    }

    /// What came after an earlier moment.
    #[must_use]
    pub fn since(&self, earlier: &Self) -> Self {
        let purposes = self.purposes.iter().map(|(purpose, now)| {
            let then = earlier.of(*purpose);
            let kinds = now.requests.iter().map(|(kind, number)| {
                let then = then.requests.get(kind).copied().unwrap_or_default();
                (*kind, number.saturating_sub(then))
            });
            let traffic = Traffic {
                requests: kinds.collect(),
                bytes_in: now.bytes_in.saturating_sub(then.bytes_in),
                bytes_out: now.bytes_out.saturating_sub(then.bytes_out),
            };
            (*purpose, traffic)
        });
        Self {
            purposes: purposes.collect(),
            throttled: self.throttled.saturating_sub(earlier.throttled),
            retries: self.retries.saturating_sub(earlier.retries),
        }
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

#[cfg(test)]
mod tests {
    use super::*;

    fn usage(gets: u64, bytes_in: u64) -> Usage {
        let traffic = Traffic {
            requests: [(Kind::Get, gets)].into(),
            bytes_in,
            bytes_out: 0,
        };
        Usage {
            purposes: [(Purpose::Input, traffic)].into(),
            throttled: gets,
            retries: 0,
        }
    }

    #[test]
    fn what_came_since_adds_up_to_what_there_is() {
        let (then, now) = (usage(3, 100), usage(10, 150));
        let mut sum = then.clone();
        sum.add(&now.since(&then));
        assert_eq!(sum, now);
        let mut own = usage(1, 1);
        own.add(&now.since(&Usage::default()));
        assert_eq!(own, usage(11, 151));
    }
}
