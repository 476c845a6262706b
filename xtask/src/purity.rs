//! baler-core decides and applies; it has no clock, no randomness, no I/O. Clippy bans the calls of std;
//! this bans the crates that would bring them in.

use std::collections::BTreeSet;

use anyhow::{Result, bail};

use crate::process;
use crate::workspace::Workspace;

/// `imbl`, `serde`, `thiserror`, and what they pull. `rand_*` comes with imbl: generators only, seeded by the caller.
const ALLOWED: &[&str] = &[
    "archery",
    "baler-core",
    "bytemuck",
    "equivalent",
    "imbl",
    "imbl-sized-chunks",
    "proc-macro2",
    "quote",
    "rand_core",
    "rand_xoshiro",
    "safe_arch",
    "serde",
    "serde_core",
    "serde_derive",
    "syn",
    "thiserror",
    "thiserror-impl",
    "unicode-ident",
    "wide",
];

pub(crate) fn check(workspace: &Workspace) -> Result<()> {
    let tree = process::output(&mut workspace.cargo(&[
        "tree",
        "--package",
        "baler-core",
        "--edges",
        "normal",
        "--prefix",
        "none",
        "--target",
        "all",
        "--locked",
    ]))?;
    let intruders = intruders(&tree);
    if let Some(first) = intruders.first() {
        bail!(
            "baler-core must stay pure, but it now depends on {}.\n\
             See who brings it: cargo tree -p baler-core -e normal -i {first}\n\
             Move the code that needs it to a crate that does I/O. If it has no clock, no randomness and no I/O, \
             add it to the list in xtask/src/purity.rs and say why in the commit.",
            intruders.iter().copied().collect::<Vec<_>>().join(", ")
        );
    }
    Ok(())
}

fn intruders(tree: &str) -> BTreeSet<&str> {
    let names = tree.lines().filter_map(|line| line.split_whitespace().next());
    names.filter(|name| !ALLOWED.contains(name)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_intruder_is_named_once() {
        let tree = "baler-core v0.1.0 (path)\nserde v1.0.0\ntokio v1.0.0\nserde_derive v1.0.0 (proc-macro)\n\ntokio v1.0.0 (*)\n";
        assert_eq!(intruders(tree), BTreeSet::from(["tokio"]));
    }
}
