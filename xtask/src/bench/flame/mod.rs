//! Where a merge spends its CPU: a sampled profile of a whole run, told by module, and drawn as a flame graph.

mod graph;
mod profile;
mod sources;
mod symbol;

use std::fs;

use anyhow::{Context, Result};

use super::track::Track;
use super::verdict::{self, Bound, Unit, Verdict};
use super::{Sizes, page};
use crate::args::Options;
use crate::interop::Size;
use crate::shape::Shape;
use profile::Profile;

/// The most that the digests may take of a merge's CPU.
const DIGESTS: Bound = Bound::at_most(10.0);

/// Where the graphs lie, beside the page that shows them.
const GRAPHS: &str = "docs/flame";

pub(crate) fn run(args: &[String]) -> Result<()> {
    let options = Options::parse_with_flags(args, &["shape", "files", "rows"], &["write"])?;
    let shapes = options.list("shape", &Shape::ALL)?;
    let sizes = Sizes::read(&options, Size::FULL, 1)?;
    profile::is_possible()?;
    let track = Track::open()?;
    let mut verdicts = Vec::new();
    for shape in shapes {
        let profile = record(&track, shape, sizes)?;
        let verdict = Verdict {
            what: format!("{}: digests, of all CPU", shape.name()),
            unit: Unit::Percent,
            measured: Some(profile.digests_percent()),
            bound: DIGESTS,
        };
        report(&track, shape, sizes, &profile, &verdict, options.flag("write"))?;
        verdicts.push(verdict);
    }
    println!("\n{}", verdict::table(&verdicts));
    verdict::judge(&verdicts)
}

fn record(track: &Track, shape: Shape, sizes: Sizes) -> Result<Profile> {
    let source = track.data(shape, sizes.size)?;
    let output = track.folder("output")?;
    let samples = track.folder("samples")?;
    fs::create_dir_all(samples.path())?;
    let words = track.compact(shape, source.path(), output.path());
    Profile::record(&words, &samples.path().join("perf.data"))
}

fn report(
    track: &Track,
    shape: Shape,
    sizes: Sizes,
    profile: &Profile,
    verdict: &Verdict,
    write: bool,
) -> Result<()> {
    let name = format!("{}.svg", shape.name());
    let text = format!(
        "{}; {} files of {} rows, {} samples.\n\n{}\n{}",
        track.provenance,
        sizes.size.files,
        sizes.size.rows,
        profile.len(),
        profile.table(),
        verdict::table(std::slice::from_ref(verdict))
    );
    println!("\n{}: {text}", shape.name());
    let folder = match write {
        true => track.workspace.path(GRAPHS),
        false => track.workspace.tools().join("flame"),
    };
    fs::create_dir_all(&folder)?;
    let path = folder.join(&name);
    fs::write(&path, graph::svg(shape.name(), profile.stacks()))
        .with_context(|| format!("{}", path.display()))?;
    println!("wrote {}", path.display());
    if write {
        let text = format!("![{} as a flame graph](flame/{name})\n\n{text}", shape.name());
        page::write(
            &track.workspace,
            page::PERFORMANCE,
            &format!("flame {}", shape.name()),
            &text,
        )?;
    }
    Ok(())
}
