//! What a run asks of a store, counted from outside by a proxy that only looks on.

use std::collections::BTreeMap;

use baler::store::{Kind, PriceList, Scheme};
use baler_teststores::{Exchange, FaultProxy, shared_seaweed};

use super::place::Place;
use crate::support::soaking;

/// Requests of a run on a root at rest beside the entries since the last snapshot: to find the journal, and to list.
const AT_REST_MAX: usize = 16;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn requests_of_a_compaction_are_few_and_an_idle_root_costs_nothing() {
    let files: i64 = if soaking() { 1_000 } else { 100 };
    let Some(server) = shared_seaweed().await else {
        return;
    };
    let bucket = server.new_bucket().await.unwrap();
    let proxy = FaultProxy::start(server.s3()).await.unwrap();
    let place = Place::in_bucket("SeaweedFS", server.s3(), &bucket);
    let watched = Place::in_bucket("SeaweedFS behind a proxy", proxy.s3(), &bucket);
    place.write_many("data", 1, files, 20).await;

    let run = watched.compact("data", &["--sort-by", "key"]);
    assert_eq!((run.code, run.number("files_after")), (0, 1), "{run:?}");
    let tally = Tally::of(&proxy.take_exchanges());
    println!("figure: compacting {files} files in place takes {tally}");
    let expected = u64::try_from(files).unwrap();
    for purpose in ["footer", "input", "head"] {
        assert_eq!(tally.of_purpose(purpose), expected, "{purpose}: {tally}");
    }
    // With what the probe leaves, and the staged output.
    assert!(tally.of_purpose("delete") <= expected + 30, "{tally}");
    assert!(
        tally.of_purpose("list") <= 4 * expected.div_ceil(1_000) + 12,
        "{tally}"
    );
    assert!(tally.of_purpose("journal") <= 60, "{tally}");

    let again = watched.compact("data", &[]);
    assert_eq!((again.code, again.number("appends")), (0, 0), "{again:?}");
    let exchanges = proxy.take_exchanges();
    println!("figure: a run on a root at rest takes {}", Tally::of(&exchanges));
    let entries = exchanges
        .iter()
        .filter(|exchange| exchange.target.contains("_baler/journal/0"));
    let besides = exchanges.len() - entries.count();
    assert!(besides <= AT_REST_MAX, "{exchanges:#?}");
    let writes = exchanges
        .iter()
        .filter(|exchange| !matches!(&*exchange.method, "GET" | "HEAD"));
    assert_eq!(writes.count(), 0, "{exchanges:?}");
    tokio::time::sleep(std::time::Duration::from_millis(500)).await;
    assert_eq!(proxy.take_exchanges(), [], "an idle root is left alone");
}

/// Trap: what a child process asks of the store is on nobody's bill.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_a_child_asks_of_the_store_is_on_its_parents_bill() {
    let Some(server) = shared_seaweed().await else {
        return;
    };
    let proxy = FaultProxy::start(server.s3()).await.unwrap();
    let mut bills = Vec::new();
    for args in [&["--sort-by", "key"][..], &["--sort-by", "key", "--isolate"]] {
        let bucket = server.new_bucket().await.unwrap();
        let watched = Place::in_bucket("SeaweedFS behind a proxy", proxy.s3(), &bucket);
        watched.write_many("data", 1, 20, 20).await;
        proxy.take_exchanges();
        let run = watched.compact("data", args);
        assert_eq!((run.code, run.number("files_after")), (0, 1), "{run:?}");
        let seen = proxy.take_exchanges().len() as u64;
        let cost = run.json()["cost"]["by_purpose"].clone();
        assert_eq!(cost["input"]["get"], 20, "{args:?}: {cost}");
        assert_eq!(cost["output"]["put"], 1, "{args:?}: {cost}");
        bills.push((seen, cost["head"].clone()));
    }
    println!("figure: 20 files take so many requests, and with --isolate: {bills:?}");
    let [(plain, heads), (isolated, heads_of_child)] = &bills[..] else {
        panic!("{bills:?}");
    };
    assert_eq!(heads, heads_of_child);
    // Whoever makes a root races a few more or fewer for the probe.
    assert!(
        *isolated <= plain + 10,
        "a child asks for more: {plain} and {isolated}"
    );
}

/// Requests by what they were for and what they are.
#[derive(Default)]
struct Tally(BTreeMap<(&'static str, Kind), u64>);

impl Tally {
    fn of(exchanges: &[Exchange]) -> Self {
        let mut tally = Self::default();
        let mut read: BTreeMap<&str, u32> = BTreeMap::new();
        for exchange in exchanges {
            let kind = kind(exchange);
            let reads = read.entry(&exchange.target).or_default();
            *reads += u32::from(kind == Kind::Get);
            *tally
                .0
                .entry((purpose(exchange, kind, *reads), kind))
                .or_default() += 1;
        }
        tally
    }

    fn of_purpose(&self, purpose: &str) -> u64 {
        let of = self.0.iter().filter(|((known, _), _)| *known == purpose);
        of.map(|(_, count)| count).sum()
    }
}

impl std::fmt::Display for Tally {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let prices = PriceList::of(Scheme::S3);
        let dollars: f64 = self
            .0
            .iter()
            .map(|((_, kind), count)| prices.requests(*kind, *count))
            .sum();
        write!(
            f,
            "{} requests, {dollars:.6} US$ at {}:",
            self.0.values().sum::<u64>(),
            prices.source
        )?;
        for ((purpose, kind), count) in &self.0 {
            write!(f, " {purpose} {kind:?} {count},")?;
        }
        Ok(())
    }
}

fn kind(exchange: &Exchange) -> Kind {
    let (target, is_own) = (&exchange.target, exchange.target.contains("/baler-"));
    match &*exchange.method {
        "GET" if target.contains("list-type=") => Kind::List,
        "GET" => Kind::Get,
        "HEAD" => Kind::Head,
        "DELETE" => Kind::Delete,
        "POST" if target.contains("delete") => Kind::Delete,
        "POST" => Kind::Multipart,
        _ if target.contains("partNumber=") => Kind::Multipart,
        _ if is_own => Kind::Copy,
        _ => Kind::Put,
    }
}

/// A small file is read twice: for its footer, and whole.
fn purpose(exchange: &Exchange, kind: Kind, reads: u32) -> &'static str {
    let target = &exchange.target;
    let is_in = |part: &str| target.contains(part);
    match kind {
        Kind::List => "list",
        Kind::Delete if !is_in("_baler/probe") => "delete",
        _ if is_in("_baler/probe/") || is_in("?versioning") || is_in("?object-lock") => "probe",
        _ if is_in("_baler/staging") => "output",
        _ if is_in("_baler") || is_in("_delta") || is_in(".hoodie") => "journal",
        _ if is_in("/baler-") => "publish",
        Kind::Head => "head",
        Kind::Get if reads <= 1 => "footer",
        _ => "input",
    }
}
