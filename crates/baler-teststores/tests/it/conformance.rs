//! The whole suite on real stores.

use baler_journal::{journal_conformance, store_conformance};

use crate::sites::{in_azurite, in_seaweed};

/// The site, or the end of the test where its server is not installed.
macro_rules! site_or_skip {
    ($site:expr) => {
        match $site.await {
            Some(site) => site,
            None => return,
        }
    };
}

journal_conformance!(seaweed, site_or_skip!(in_seaweed()));
store_conformance!(seaweed_faults, site_or_skip!(in_seaweed()));
journal_conformance!(azurite, site_or_skip!(in_azurite()));
store_conformance!(azurite_faults, site_or_skip!(in_azurite()));
