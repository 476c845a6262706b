//! What a plain table is: files in a folder that others list.

#[cfg(feature = "cli")]
use std::collections::BTreeMap;
use std::sync::Arc;

use baler_core::limits;
use baler_core::table::{Catalog, MergeSpec, Replaced, Rewritten, Rule, TableSpec};

use super::{MergeSettings, ReplacedSettings, Usage, describe_rule, describe_sort};
#[cfg(feature = "cli")]
use crate::cli::{PlainArgs, RewrittenArg};
use crate::store::{Location, OutputSettings};

/// What the user said about the table. On a known root, what was not said stays as it was.
#[derive(Clone, Debug, Default)]
pub struct TableSettings {
    /// Where the result goes, if not in place.
    pub output: Option<Location>,
    /// What outputs in a bucket are marked with.
    pub outputs: OutputSettings,
    /// Files of other journals are ordinary inputs.
    pub adopt_foreign: bool,
    /// In a bucket: what becomes of replaced inputs.
    pub replaced: ReplacedSettings,
    merge: MergeSettings,
    rewritten: Option<Rewritten>,
}

impl TableSettings {
    /// Checks what was typed.
    #[cfg(feature = "cli")]
    pub fn check(args: &PlainArgs) -> Result<Self, Usage> {
        let rewritten = args.rewritten.map(|arg| match arg {
            RewrittenArg::Report => Rewritten::Report,
            RewrittenArg::Add => Rewritten::Add,
        });
        let outputs = OutputSettings {
            storage_class: args.storage_class.clone(),
            tags: pairs("--tag", &args.tag)?,
            metadata: pairs("--metadata", &args.metadata)?,
        };
        Ok(Self {
            output: args.output.clone(),
            outputs,
            adopt_foreign: args.adopt_foreign,
            replaced: ReplacedSettings::check(&args.replaced)?,
            merge: MergeSettings::check(&args.merge)?,
            rewritten,
        })
    }

    /// Nothing was said about the table.
    pub fn unsaid() -> Self {
        Self::default()
    }

    /// The spec of a table that begins now.
    pub fn fresh(&self, catalog: Catalog, replaced: Replaced) -> TableSpec {
        let merge = self.merge.fresh();
        let rewritten = if merge.is_keyed() {
            Rewritten::Add
        } else {
            Rewritten::Report
        };
        TableSpec {
            merge: Arc::new(merge),
            grace: self.merge.grace.unwrap_or(limits::GRACE_DEFAULT),
            rewritten: self.rewritten.unwrap_or(rewritten),
            replaced,
            names_once: self.replaced.names_once,
            ..TableSpec::of(catalog)
        }
    }

    /// The spec of a known table, with what was said now. One that has never held a file begins anew.
    pub fn altered(&self, known: &TableSpec, untouched: bool) -> Result<TableSpec, Usage> {
        if untouched {
            return Ok(self.fresh(known.catalog.clone(), known.replaced.clone()));
        }
        self.refuse_another_order(&known.merge)?;
        let replaced = self.replaced.wanted.clone();
        Ok(TableSpec {
            merge: Arc::new(self.merge.applied_to(&known.merge)),
            grace: self.merge.grace.unwrap_or(known.grace),
            rewritten: self.rewritten.unwrap_or(known.rewritten),
            replaced: replaced.unwrap_or_else(|| known.replaced.clone()),
            names_once: self.replaced.names_once || known.names_once,
            ..known.clone()
        })
    }

    fn refuse_another_order(&self, recorded: &MergeSpec) -> Result<(), Usage> {
        let MergeSettings { sort, rule, .. } = &self.merge;
        let another_sort = sort.as_ref().is_some_and(|sort| *sort != recorded.sort);
        let another_rule = |rule: &Rule| *rule != recorded.rule || another_sort;
        match rule {
            Some(rule) if another_rule(rule) => Err(changed("--key and --newest", &describe_rule(recorded))),
            None if another_sort => Err(changed("--sort-by", &describe_sort(&recorded.sort))),
            _ => Ok(()),
        }
    }

    /// What is said about a plain table means nothing on a root of native tables.
    pub fn refuse_on_native(&self, root: &dyn std::fmt::Display) -> Result<(), Usage> {
        if self.output.is_some() || self.rewritten.is_some() || self.adopt_foreign {
            return Err(Usage(format!(
                "{root} holds native tables, whose files come with `baler add`: --output, --rewritten and --adopt-foreign \
                 are for plain folders. Leave them out"
            )));
        }
        match self.merge.said().or(self.replaced.said()) {
            None => Ok(()),
            Some(flag) => Err(Usage(format!(
                "{flag}: {root} holds native tables, each with settings of its own; change them with \
                 `baler table alter {root} NAME {flag} …`"
            ))),
        }
    }
}

#[cfg(feature = "cli")]
fn pairs(flag: &str, texts: &[String]) -> Result<BTreeMap<String, String>, Usage> {
    let pair = |text: &String| match text.split_once('=') {
        Some((name, value)) if !name.is_empty() => Ok((name.to_owned(), value.to_owned())),
        _ => Err(Usage(format!("{flag} {text}: write it as NAME=VALUE"))),
    };
    texts.iter().map(pair).collect()
}

fn changed(flag: &str, recorded: &str) -> Usage {
    Usage(format!(
        "{flag} differs from what this root was compacted with ({recorded}). Leave it out to go on as before, or \
         compact into a new place: baler compact ROOT --output NEW {flag} …"
    ))
}
