//! Who is compared: Baler, and each peer twice, at zstd level 1 as Baler writes and at the level it takes by itself.

use std::fmt;

use crate::args::Usage;
use crate::shape::Shape;

/// What a peer does, and so with what it is compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Work {
    /// The same as Baler.
    Sort,
    /// One file of the same rows, in any order.
    Concatenate,
    /// Something else; shown, but nothing is compared with it.
    Other,
}

#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Peer {
    /// As bench/peers.py calls it.
    pub(crate) name: &'static str,
    /// As bench/requirements.txt calls it; empty for what needs none.
    pub(crate) package: &'static str,
    pub(crate) work: Work,
}

const PEERS: &[Peer] = &[
    peer("duckdb", "duckdb", Work::Sort),
    peer("polars", "polars", Work::Sort),
    peer("datafusion", "datafusion", Work::Sort),
    peer("chdb", "chdb", Work::Sort),
    peer("duckdb_concat", "duckdb", Work::Concatenate),
    peer("polars_concat", "polars", Work::Concatenate),
    peer("delta_compact", "deltalake", Work::Concatenate),
    peer("delta_zorder", "deltalake", Work::Other),
    peer("cat", "", Work::Other),
];

/// The quickest of their kind.
const BEST: &[&str] = &["duckdb", "polars"];
const BEST_CONCATENATIONS: &[&str] = &["duckdb_concat", "polars_concat"];

const fn peer(name: &'static str, package: &'static str, work: Work) -> Peer {
    Peer { name, package, work }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Level {
    /// zstd 1, as Baler writes.
    One,
    /// What the peer takes when nobody asks.
    Own,
}

/// One who takes turns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Engine {
    Baler,
    Peer(&'static Peer, Level),
}

impl Engine {
    /// All who take turns on a shape; Baler comes first. Without names: those whose figures are to be beaten.
    pub(crate) fn contestants(shape: Shape, names: &[String]) -> Result<Vec<Self>, Usage> {
        let mut best = BEST.to_vec();
        if shape == Shape::Disjoint {
            best.extend(BEST_CONCATENATIONS);
        }
        if !names.is_empty() {
            best = names.iter().map(String::as_str).collect();
        }
        let mut engines = vec![Self::Baler];
        for name in best {
            let peer = find(name)?;
            engines.push(Self::Peer(peer, Level::Own));
            if peer.name != "cat" {
                engines.push(Self::Peer(peer, Level::One));
            }
        }
        Ok(engines)
    }

    /// Whether all take part whose figures are to be beaten.
    pub(crate) fn are_the_best(shape: Shape, engines: &[Self]) -> Result<bool, Usage> {
        let best = Self::contestants(shape, &[])?;
        Ok(best.iter().all(|engine| engines.contains(engine)))
    }

    pub(crate) fn does(self, asked: Work) -> bool {
        matches!(self, Self::Peer(peer, _) if peer.work == asked)
    }
}

fn find(name: &str) -> Result<&'static Peer, Usage> {
    PEERS.iter().find(|peer| peer.name == name).ok_or_else(|| {
        let known: Vec<_> = PEERS.iter().map(|peer| peer.name).collect();
        Usage::new(format!("unknown peer `{name}`: {}", known.join(" ")))
    })
}

impl fmt::Display for Engine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Baler => f.write_str("baler"),
            Self::Peer(peer, Level::Own) => f.write_str(peer.name),
            Self::Peer(peer, Level::One) => write!(f, "{}, zstd 1", peer.name),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workspace::Workspace;

    fn names(shape: Shape, asked: &[&str]) -> Vec<String> {
        let asked: Vec<_> = asked.iter().map(|name| (*name).to_owned()).collect();
        let engines = Engine::contestants(shape, &asked).unwrap();
        engines.iter().map(Engine::to_string).collect()
    }

    #[test]
    fn each_peer_runs_at_both_levels() {
        assert_eq!(
            names(Shape::Overlap, &[]),
            ["baler", "duckdb", "duckdb, zstd 1", "polars", "polars, zstd 1"]
        );
        assert_eq!(names(Shape::Overlap, &["cat"]), ["baler", "cat"]);
    }

    #[test]
    fn disjoint_data_are_also_compared_with_concatenations() {
        let engines = Engine::contestants(Shape::Disjoint, &[]).unwrap();
        let count = |work| engines.iter().filter(|engine| engine.does(work)).count();
        assert_eq!((count(Work::Sort), count(Work::Concatenate)), (4, 4));
    }

    #[test]
    fn a_weaker_field_is_noticed() {
        let names = ["chdb", "polars", "duckdb"].map(str::to_owned);
        let are_the_best = |shape, names: &[String]| {
            let engines = Engine::contestants(shape, names).unwrap();
            Engine::are_the_best(shape, &engines).unwrap()
        };
        assert!(are_the_best(Shape::Overlap, &names));
        assert!(!are_the_best(Shape::Overlap, &names[..2]));
        assert!(!are_the_best(Shape::Disjoint, &names), "nobody concatenates");
    }

    #[test]
    fn every_peer_can_be_run_and_is_installed() {
        let workspace = Workspace::find().unwrap();
        let read = |page| std::fs::read_to_string(workspace.path(page)).unwrap();
        let (script, requirements) = (read("bench/peers.py"), read("bench/requirements.txt"));
        for peer in PEERS {
            assert!(script.contains(&format!("\ndef {}(", peer.name)), "{}", peer.name);
            let pinned = format!("{}==", peer.package);
            assert!(
                peer.package.is_empty() || requirements.lines().any(|line| line.starts_with(&pinned)),
                "{pinned}"
            );
        }
    }

    #[test]
    fn a_peer_that_nobody_knows_is_answered_with_those_there_are() {
        let error = Engine::contestants(Shape::Overlap, &["pandas".into()]).unwrap_err();
        assert!(error.to_string().contains("chdb"), "{error}");
    }
}
