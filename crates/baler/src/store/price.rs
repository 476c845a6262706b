//! What requests cost: estimates from the price lists of the providers.

use super::{Kind, Scheme};

/// Prices of requests, in US dollars for 1,000 of them.
#[derive(Clone, Debug, PartialEq)]
pub struct PriceList {
    /// Which store and region, from where, and when.
    pub source: &'static str,
    /// Writing an object, a part, a copy.
    pub write: f64,
    /// One page of a listing.
    pub list: f64,
    /// Reading, and asking what is known.
    pub read: f64,
    /// Deleting.
    pub delete: f64,
}

/// <https://aws.amazon.com/s3/pricing/>
const S3: PriceList = PriceList {
    source: "Amazon S3 Standard, us-east-1, list price of June 2025",
    write: 0.005,
    list: 0.005,
    read: 0.0004,
    delete: 0.0,
};

/// <https://cloud.google.com/storage/pricing>
const GS: PriceList = PriceList {
    source: "Google Cloud Storage Standard, us-central1, list price of June 2025",
    write: 0.005,
    list: 0.005,
    read: 0.0004,
    delete: 0.0,
};

/// <https://azure.microsoft.com/pricing/details/storage/blobs/>
const AZ: PriceList = PriceList {
    source: "Azure block blobs, hot tier, LRS, East US, list price of June 2025",
    write: 0.005,
    list: 0.005,
    read: 0.0004,
    delete: 0.0,
};

const OWN: PriceList = PriceList {
    source: "a store of the program's own, whose prices are not known",
    write: 0.0,
    list: 0.0,
    read: 0.0,
    delete: 0.0,
};

impl PriceList {
    /// The list of a kind of store.
    pub fn of(scheme: Scheme) -> Self {
        match scheme {
            Scheme::S3 => S3,
            Scheme::Gs => GS,
            Scheme::Az => AZ,
            Scheme::Own => OWN,
        }
    }

    /// What so many requests of a kind cost.
    pub fn requests(&self, kind: Kind, requests: u64) -> f64 {
        let each = match kind {
            Kind::Put | Kind::Copy | Kind::Multipart => self.write,
            Kind::List => self.list,
            Kind::Get | Kind::Head => self.read,
            Kind::Delete => self.delete,
        };
        each * requests as f64 / 1000.0
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::store::{Purpose, Traffic, Usage};

    #[test]
    fn a_million_reads_and_a_thousand_writes_on_s3() {
        let requests = BTreeMap::from([(Kind::Get, 1_000_000), (Kind::Put, 1_000), (Kind::Delete, 5_000)]);
        let traffic = Traffic {
            requests,
            ..Traffic::default()
        };
        let usage = Usage {
            purposes: BTreeMap::from([(Purpose::Input, traffic)]),
            ..Usage::default()
        };
        let price = usage.price(&PriceList::of(Scheme::S3));
        assert!((price - 0.405).abs() < 1e-9, "{price}");
    }
}
