//! What a process has asked of the stores of a root since it began, and what that costs at list price.

use serde::Serialize;

use super::{Kind, Page};
use crate::report::Cost;
use crate::site::Site;

/// Of the stores of this root. A folder is asked nothing.
pub fn write_store(site: &Site, page: &mut Page) {
    let root = site.root.to_string();
    let mut page = page.about(&[("root", &root)]);
    let cost = Cost::so_far(site);
    let (name, help) = (
        "baler_store_requests_total",
        "Requests to the store, by what they were for and what they are.",
    );
    page.declare(name, help, Kind::Counter);
    for (purpose, kinds) in &cost.by_purpose {
        for (kind, requests) in kinds {
            let labels = [("purpose", &*word(purpose)), ("kind", &*word(kind))];
            page.sample(name, help, Kind::Counter, &labels, requests);
        }
    }
    page.counter(
        "baler_store_price_usd_total",
        "Their list price in US dollars, without data transfer: an estimate.",
        cost.price_usd,
    );
    page.counter(
        "baler_store_bytes_in_total",
        "Bytes of bodies received.",
        cost.bytes_in,
    );
    page.counter(
        "baler_store_bytes_out_total",
        "Bytes of bodies sent.",
        cost.bytes_out,
    );
    page.counter(
        "baler_store_throttled_total",
        "Answers that said: slow down.",
        cost.throttled,
    );
    page.counter(
        "baler_store_retries_total",
        "Requests that were sent again.",
        cost.retries,
    );
}

/// As it is written in JSON.
fn word(value: &impl Serialize) -> String {
    match serde_json::to_value(value) {
        Ok(serde_json::Value::String(word)) => word,
        _ => String::new(),
    }
}
