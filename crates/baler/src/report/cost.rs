//! What the requests to stores came to, and what a plan's would: numbers by purpose, and their list price.

use std::collections::BTreeMap;
use std::fmt;

use serde::Serialize;

use super::numbers::count;
use crate::desk::Spent;
use crate::site::Site;
use crate::store::{Kind, PriceList, Purpose, Usage};

/// Requests of a run, or of a plan. Empty where no store is asked.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Cost {
    /// How many.
    pub requests: u64,
    /// By what they were for, and by what they are.
    pub by_purpose: BTreeMap<Purpose, BTreeMap<Kind, u64>>,
    /// Bytes of bodies received.
    pub bytes_in: u64,
    /// Bytes of bodies sent.
    pub bytes_out: u64,
    /// Answers that said "slow down".
    pub throttled: u64,
    /// Requests that were sent again.
    pub retries: u64,
    /// At list prices of requests in US dollars; data transfer and storage are not in it.
    pub price_usd: f64,
}

impl Cost {
    /// What a site's buckets have been asked so far.
    pub fn so_far(site: &Site) -> Self {
        let mut cost = Self::default();
        for (usage, prices) in site.usages() {
            cost.add(&usage, &prices);
        }
        cost
    }

    /// Added up.
    pub fn spent(&self) -> Spent {
        Spent {
            requests: self.requests,
            price_usd: self.price_usd,
        }
    }

    fn add(&mut self, usage: &Usage, prices: &PriceList) {
        self.throttled += usage.throttled;
        self.retries += usage.retries;
        for (purpose, traffic) in &usage.purposes {
            self.bytes_in += traffic.bytes_in;
            self.bytes_out += traffic.bytes_out;
            for (kind, number) in &traffic.requests {
                self.expect(prices, *purpose, *kind, *number);
            }
        }
    }

    /// So many requests more.
    pub fn expect(&mut self, prices: &PriceList, purpose: Purpose, kind: Kind, number: u64) {
        if number == 0 {
            return;
        }
        self.requests += number;
        *self
            .by_purpose
            .entry(purpose)
            .or_default()
            .entry(kind)
            .or_default() += number;
        self.price_usd += prices.requests(kind, number);
    }
}

impl fmt::Display for Cost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} requests, about ${:.4} at list price",
            count(self.requests),
            self.price_usd
        )
    }
}
