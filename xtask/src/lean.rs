//! A database that embeds Baler brings its own format, its own flags and its own server: without default features it must not
//! pay for ours. This bans the crates that would bring them back; `cargo xtask verify` also sees that the rest compiles by itself.

use std::collections::BTreeSet;
use std::fs;

use anyhow::{Context, Result, bail, ensure};

use crate::process;
use crate::workspace::Workspace;

/// Crates of the Parquet path, of the binary and of HTTP; their families go by the same beginning.
const BANNED: &[&str] = &[
    "arrow",
    "axum",
    "baler-merge",
    "clap",
    "globset",
    "hyper",
    "indicatif",
    "parquet",
    "quick-xml",
    "reqwest",
    "rustls",
    "tracing-subscriber",
];

pub(crate) fn check(workspace: &Workspace) -> Result<()> {
    let tree = process::output(&mut workspace.cargo(&[
        "tree",
        "--package",
        "baler",
        "--no-default-features",
        "--edges",
        "normal",
        "--prefix",
        "none",
        "--locked",
    ]))?;
    let intruders = intruders(&tree);
    if let Some(first) = intruders.first() {
        bail!(
            "baler without default features must be light, but it now depends on {}.\n\
             See who brings it: cargo tree -p baler --no-default-features -e normal -i {first}\n\
             Put the code that needs it behind one of the features cli, http, parquet or cloud.",
            intruders.iter().copied().collect::<Vec<_>>().join(", ")
        );
    }
    Ok(())
}

/// Sees that the rest compiles by itself, which takes a build of its own.
pub(crate) fn clippy(workspace: &Workspace) -> Result<()> {
    let args = [
        "clippy",
        "--quiet",
        "--package",
        "baler",
        "--lib",
        "--no-default-features",
        "--locked",
    ];
    process::run(workspace.cargo(&args).args(["--", "-D", "warnings"]))
}

/// Planted bugs are in debug builds, which nobody ships. In a release build nothing asks for them unless it is told to.
pub(crate) fn check_sound(workspace: &Workspace) -> Result<()> {
    let tree = process::output(&mut workspace.cargo(&[
        "tree",
        "--workspace",
        "--edges",
        "normal,build,dev",
        "--prefix",
        "none",
        "--format",
        "{p} [{f}]",
        "--locked",
    ]))?;
    let manifest = fs::read_to_string(workspace.path("Cargo.toml")).context("cannot read Cargo.toml")?;
    ensure!(
        !manifest.contains("debug-assertions"),
        "Cargo.toml sets debug-assertions: a release build with them would hold planted bugs"
    );
    match tree.lines().find(|line| has_mutants(line)) {
        Some(line) => bail!(
            "{line}: the feature `mutants` plants bugs.\n\
             Only `cargo xtask sim --mutants` may ask for it, on its own command line."
        ),
        None => Ok(()),
    }
}

/// Whether a line of the tree, a package and its features, is of one with planted bugs.
fn has_mutants(line: &str) -> bool {
    let features = line.rsplit_once('[').and_then(|(_, rest)| rest.split_once(']'));
    features.is_some_and(|(features, _)| features.split(',').any(|feature| feature == "mutants"))
}

fn intruders(tree: &str) -> BTreeSet<&str> {
    let names = tree.lines().filter_map(|line| line.split_whitespace().next());
    names.filter(|name| is_banned(name)).collect()
}

fn is_banned(name: &str) -> bool {
    let of_family = |banned: &&str| name.strip_prefix(*banned).is_some_and(is_family_suffix);
    BANNED.iter().any(of_family)
}

fn is_family_suffix(rest: &str) -> bool {
    rest.is_empty() || rest.starts_with(['-', '_'])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_package_with_planted_bugs_is_found() {
        assert!(has_mutants("baler-core v0.1.0 (path) [default,mutants]"));
        assert!(has_mutants("baler-core v0.1.0 (path) [mutants] (*)"));
        assert!(!has_mutants("baler-core v0.1.0 (path) []"));
        assert!(!has_mutants("mutants v0.1.0 [default]"));
    }

    #[test]
    fn banned_crates_are_found_with_their_families() {
        let tree = "baler v0.1.0 (path)\narrow-array v60.1.0\nclap_builder v4.6.0\ntokio v1.0.0\narrowhead v1.0.0\n\narrow-array v60.1.0 (*)\n";
        assert_eq!(intruders(tree), BTreeSet::from(["arrow-array", "clap_builder"]));
    }
}
