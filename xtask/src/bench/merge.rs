//! Baler and its peers on the same data, by turns: a shared machine is slow for all of them or for none.

use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result};
use serde_json::Value;

use super::bounds::Bounds;
use super::engine::{Engine, Level};
use super::figures::{Figures, number};
use super::results::Results;
use super::track::{Track, last_line};
use super::verdict::{self, Verdict};
use super::{Sizes, page};
use crate::args::{Options, Usage};
use crate::interop::Size;
use crate::shape::Shape;

const REQUIREMENTS: &str = "bench/requirements.txt";

pub(crate) fn run(args: &[String]) -> Result<()> {
    let options = Options::parse_with_flags(args, &["shape", "peers", "runs", "files", "rows"], &["write"])?;
    let shapes = options.list("shape", &Shape::ALL)?;
    let peers: Vec<String> = options.list("peers", &[])?;
    let sizes = Sizes::read(&options, Size::FULL, 5)?;
    let contests: Vec<_> = shapes
        .into_iter()
        .map(|shape| Ok((shape, Engine::contestants(shape, &peers)?)))
        .collect::<Result<_>>()?;
    for (shape, engines) in &contests {
        if options.flag("write") && !Engine::are_the_best(*shape, engines)? {
            let text = format!(
                "`--write` takes all peers of `{}` that run by default",
                shape.name()
            );
            return Err(Usage::new(text).into());
        }
    }

    let track = Track::open()?;
    let mut verdicts = Vec::new();
    for (shape, engines) in &contests {
        let results = compare(&track, *shape, sizes, engines)?;
        let found = Bounds::of(*shape).verdicts(&results);
        report(&track, &results, engines, &found, options.flag("write"))?;
        verdicts.extend(found);
    }
    println!("\n{}", verdict::table(&verdicts));
    verdict::judge(&verdicts)
}

fn compare(track: &Track, shape: Shape, sizes: Sizes, engines: &[Engine]) -> Result<Results> {
    let source = track.data(shape, sizes.size)?;
    let output = track.folder("output")?;
    let peer_output = track.folder("peer")?;
    let mut results = Results::new(shape, sizes.size);
    for turn in 1..=sizes.runs {
        for engine in engines {
            let figures = match engine {
                Engine::Baler => {
                    track.run_baler(&track.compact(shape, source.path(), output.path()), &output)?
                }
                Engine::Peer(peer, level) => {
                    let run = Turn {
                        track,
                        shape,
                        source: source.path(),
                        output: peer_output.path(),
                    };
                    run.peer(peer.name, *level)?
                }
            };
            println!("{} {turn}/{} {engine}: {figures}", shape.name(), sizes.runs);
            results.add(*engine, figures);
        }
    }
    track.check(shape, source.path(), output.path())?;
    Ok(results)
}

/// What a peer is given.
struct Turn<'a> {
    track: &'a Track,
    shape: Shape,
    source: &'a Path,
    output: &'a Path,
}

impl Turn<'_> {
    fn peer(&self, name: &str, level: Level) -> Result<Figures> {
        let mut command = Command::new(&self.track.python);
        command
            .arg(self.track.workspace.path("bench/peers.py"))
            .args([name, self.shape.name()])
            .args([self.source, self.output]);
        if level == Level::One {
            command.args(["--level", "1"]);
        }
        let line = last_line(&mut command)?;
        let json: Value = serde_json::from_str(&line).with_context(|| format!("{name} printed {line}"))?;
        Figures::parse(&line, number(&json, "out_mb")?)
    }
}

fn report(
    track: &Track,
    results: &Results,
    engines: &[Engine],
    verdicts: &[Verdict],
    write: bool,
) -> Result<()> {
    let requirements = fs::read_to_string(track.workspace.path(REQUIREMENTS)).context(REQUIREMENTS)?;
    let text = format!(
        "{}; {}.\n{}\n{}",
        track.provenance,
        versions(&requirements, engines),
        results.table(),
        verdict::table(verdicts)
    );
    println!("\n{}\n{text}", results.shape.name());
    if write {
        let name = format!("merge {}", results.shape.name());
        page::write(&track.workspace, page::PERFORMANCE, &name, &text)?;
        let rows: Vec<_> = results.summary().into_iter().collect();
        page::write_rows(&track.workspace, page::README, "merge", &rows)?;
    }
    Ok(())
}

/// The packages behind these engines, each once, as they are pinned.
fn versions(requirements: &str, engines: &[Engine]) -> String {
    let used = |package: &str| {
        engines
            .iter()
            .any(|engine| matches!(engine, Engine::Peer(peer, _) if peer.package == package))
    };
    let pinned = requirements.lines().filter_map(|line| line.split_once("=="));
    let named: Vec<_> = pinned
        .filter(|(package, _)| used(package))
        .map(|(package, version)| format!("{package} {version}"))
        .collect();
    named.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_versions_of_those_who_ran_are_told() {
        let engines = Engine::contestants(Shape::Disjoint, &[]).unwrap();
        let text = "duckdb==2.0.0\nchdb==4.4.0\npolars==2.1.0\n";
        assert_eq!(versions(text, &engines), "duckdb 2.0.0, polars 2.1.0");
    }
}
