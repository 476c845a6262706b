//! The command line, checked: what is in here is meant and makes sense together.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use baler_core::limits;
use baler_core::table::{Catalog, MergeSpec, Policy, Replaced, Rewritten, Rule, SortColumn, TableSpec};
use baler_core::time::Millis;
use globset::{GlobBuilder, GlobMatcher};

use crate::cli::{CompactArgs, PlanArgs, RewrittenArg, ScopeArgs, TableArgs};
use crate::store::{Location, OutputSettings};

/// The command line does not make sense: exit code 2.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct Usage(pub String);

/// Merging needs this much, whatever it merges.
pub const MEMORY_BYTES_MIN: u64 = 32 << 20;

/// Files below this are not worth having.
pub const TARGET_BYTES_MIN: u64 = 64 << 10;

/// How a run works.
#[derive(Clone, Debug)]
pub struct RunSettings {
    /// Jobs at once.
    pub workers: usize,
    /// Threads for each.
    pub threads: usize,
    /// Memory for each.
    pub memory_bytes: u64,
    /// Younger files wait.
    pub settle: Duration,
    /// How long a silent process keeps its leases.
    pub lease: Duration,
    /// What part of the table to work on.
    pub scope: ScopeSettings,
}

/// What part of a table to work on.
#[derive(Clone, Debug, Default)]
pub struct ScopeSettings {
    /// Only folders that match.
    pub partition: Option<GlobMatcher>,
    /// No more input bytes than this.
    pub bytes_max: Option<u64>,
    /// No more jobs than this.
    pub jobs_max: Option<usize>,
    /// No more jobs once the requests cost this much.
    pub cost_max_usd: Option<f64>,
}

impl ScopeSettings {
    /// Whether a folder is inside.
    pub fn covers(&self, folder: &str) -> bool {
        self.partition.as_ref().is_none_or(|glob| glob.is_match(folder))
    }
}

/// What the user said about the table. On a known root, what was not said stays as it was.
#[derive(Clone, Debug, Default)]
pub struct TableSettings {
    /// Where the result goes, if not in place.
    pub output: Option<Location>,
    /// What outputs in a bucket are marked with.
    pub outputs: OutputSettings,
    /// Files of other journals are ordinary inputs.
    pub adopt_foreign: bool,
    /// In a bucket: what becomes of replaced inputs, where the user said so.
    pub replaced: Option<Replaced>,
    /// No name in the bucket is ever used twice.
    pub names_once: bool,
    sort: Option<Vec<SortColumn>>,
    rule: Option<Rule>,
    target_bytes: Option<u64>,
    grace: Option<Millis>,
    rewritten: Option<Rewritten>,
}

impl RunSettings {
    /// Checks what was typed.
    pub fn check(args: &CompactArgs) -> Result<Self, Usage> {
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        let workers = args.workers.unwrap_or(if cores >= 4 { 2 } else { 1 });
        let threads = args.threads.unwrap_or(cores.div_ceil(workers.max(1)));
        refuse_zero("--workers", workers as u64)?;
        refuse_zero("--threads", threads as u64)?;
        let memory_bytes = args.memory.as_u64() / workers as u64;
        if memory_bytes < MEMORY_BYTES_MIN {
            let least = bytesize::ByteSize(MEMORY_BYTES_MIN * workers as u64)
                .display()
                .iec();
            return Err(Usage(format!(
                "--memory is too little for {workers} worker(s): give at least {least}"
            )));
        }
        if args.lease < Duration::from_secs(1) {
            return Err(Usage("--lease must be at least 1s".to_owned()));
        }
        let scope = ScopeSettings::check(&args.scope)?;
        Ok(Self {
            workers,
            threads,
            memory_bytes,
            settle: args.settle,
            lease: args.lease,
            scope,
        })
    }

    /// For a dry run, which merges nothing.
    pub fn for_plan(args: &PlanArgs) -> Result<Self, Usage> {
        let scope = ScopeSettings::check(&args.scope)?;
        let lease = Duration::from_secs(60);
        Ok(Self {
            workers: 1,
            threads: 1,
            memory_bytes: MEMORY_BYTES_MIN,
            settle: args.settle,
            lease,
            scope,
        })
    }
}

impl ScopeSettings {
    fn check(args: &ScopeArgs) -> Result<Self, Usage> {
        let glob = |text: &String| {
            let glob = GlobBuilder::new(text).literal_separator(true).build();
            glob.map(|glob| glob.compile_matcher())
                .map_err(|error| Usage(format!("--partition: {error}")))
        };
        let partition = args.partition.as_ref().map(glob).transpose()?;
        let bytes_max = args.max_bytes.map(|size| size.as_u64());
        refuse_zero("--max-bytes", bytes_max.unwrap_or(1))?;
        refuse_zero("--limit-jobs", args.limit_jobs.unwrap_or(1) as u64)?;
        let cost_max_usd = args.max_cost;
        if cost_max_usd.is_some_and(|usd| usd.is_nan() || usd <= 0.0) {
            return Err(Usage(
                "--max-cost must be above 0, in US dollars like 0.50".to_owned(),
            ));
        }
        Ok(Self {
            partition,
            bytes_max,
            jobs_max: args.limit_jobs,
            cost_max_usd,
        })
    }
}

impl TableSettings {
    /// Checks what was typed.
    pub fn check(args: &TableArgs) -> Result<Self, Usage> {
        let sort = args.sort_by.as_deref().map(parse_sort).transpose()?;
        let rule = match (&args.key, &args.newest) {
            (Some(key), Some(version)) => Some(last_write_wins(key, version)?),
            _ => None,
        };
        let sort = match (sort, &rule) {
            (None, Some(Rule::LastWriteWins { key, .. })) => Some(key.iter().map(ascending).collect()),
            (Some(sort), Some(Rule::LastWriteWins { key, .. })) => Some(starting_with_key(sort, key)?),
            (sort, _) => sort,
        };
        let target_bytes = args.target_size.map(|size| size.as_u64());
        if target_bytes.is_some_and(|bytes| bytes < TARGET_BYTES_MIN) {
            return Err(Usage("--target-size must be at least 64KiB".to_owned()));
        }
        let rewritten = args.rewritten.map(|arg| match arg {
            RewrittenArg::Report => Rewritten::Report,
            RewrittenArg::Add => Rewritten::Add,
        });
        let outputs = OutputSettings {
            storage_class: args.storage_class.clone(),
            tags: pairs("--tag", &args.tag)?,
            metadata: pairs("--metadata", &args.metadata)?,
        };
        let keep = args.keep_inputs.as_deref().map(kept_below).transpose()?;
        let leave = args.leave_inputs.then_some(Replaced::Remember);
        Ok(Self {
            output: args.output.clone(),
            outputs,
            replaced: keep.or(leave),
            names_once: args.names_never_reused,
            adopt_foreign: args.adopt_foreign,
            sort,
            rule,
            target_bytes,
            grace: args
                .grace
                .map(|grace| Millis(u64::try_from(grace.as_millis()).unwrap_or(u64::MAX))),
            rewritten,
        })
    }

    /// Nothing was said about the table.
    pub fn unsaid() -> Self {
        Self::default()
    }

    /// The spec of a table that begins now.
    pub fn fresh(&self, catalog: Catalog, replaced: Replaced) -> TableSpec {
        let rule = self.rule.clone().unwrap_or_default();
        let keyed = rule != Rule::KeepAll;
        let merge = MergeSpec {
            sort: self.sort.clone().unwrap_or_default(),
            rule,
            target_bytes: self.target_bytes.unwrap_or(limits::TARGET_BYTES_DEFAULT),
            ..MergeSpec::default()
        };
        TableSpec {
            catalog,
            policy: Policy::default(),
            merge: Arc::new(merge),
            grace: self.grace.unwrap_or(limits::GRACE_DEFAULT),
            rewritten: self
                .rewritten
                .unwrap_or(if keyed { Rewritten::Add } else { Rewritten::Report }),
            replaced,
            retention: None,
            names_once: self.names_once,
            tenant: None,
            shard: None,
            cross_shard_from: None,
        }
    }

    /// The spec of a known table, with what was said now. One that has never held a file begins anew.
    pub fn altered(&self, known: &TableSpec, untouched: bool) -> Result<TableSpec, Usage> {
        if untouched {
            return Ok(self.fresh(known.catalog.clone(), known.replaced.clone()));
        }
        let recorded = &known.merge;
        if self.sort.as_ref().is_some_and(|sort| *sort != recorded.sort) && self.rule.is_none() {
            return Err(changed("--sort-by", &describe_sort(&recorded.sort)));
        }
        if self.rule.as_ref().is_some_and(|rule| *rule != recorded.rule)
            || (self.rule.is_some() && self.sort.as_ref().is_some_and(|sort| *sort != recorded.sort))
        {
            return Err(changed("--key and --newest", &describe_rule(recorded)));
        }
        let merge = MergeSpec {
            target_bytes: self.target_bytes.unwrap_or(recorded.target_bytes),
            ..MergeSpec::clone(recorded)
        };
        Ok(TableSpec {
            merge: Arc::new(merge),
            grace: self.grace.unwrap_or(known.grace),
            rewritten: self.rewritten.unwrap_or(known.rewritten),
            replaced: self.replaced.clone().unwrap_or_else(|| known.replaced.clone()),
            names_once: self.names_once || known.names_once,
            ..known.clone()
        })
    }
}

/// What is kept must not be found by those who list the root.
fn kept_below(prefix: &str) -> Result<Replaced, Usage> {
    let trimmed = prefix.trim_matches('/');
    let plain = trimmed.split('/').all(|part| !matches!(part, "" | "." | ".."));
    let hidden = trimmed.starts_with(['_', '.']);
    if !plain || !hidden || trimmed.split('/').next() == Some("_baler") {
        return Err(Usage(format!(
            "--keep-inputs {prefix}: give a folder below the root whose name begins with `_`, like `_replaced`, so that \
             nobody reads the replaced files as data"
        )));
    }
    Ok(Replaced::Keep {
        prefix: trimmed.into(),
    })
}

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

/// A sort key in words.
pub fn describe_sort(sort: &[SortColumn]) -> String {
    if sort.is_empty() {
        return "not sorted".to_owned();
    }
    let columns: Vec<String> = sort
        .iter()
        .map(|column| {
            let direction = if column.descending { ":desc" } else { "" };
            let nulls = if column.nulls_first { ":nulls-first" } else { "" };
            format!("{}{direction}{nulls}", column.name)
        })
        .collect();
    format!("sorted by {}", columns.join(","))
}

/// A merge rule in words.
pub fn describe_rule(merge: &MergeSpec) -> String {
    match &merge.rule {
        Rule::KeepAll => format!("{}, all rows kept", describe_sort(&merge.sort)),
        Rule::LastWriteWins { key, version } => {
            format!(
                "{}, the greatest {version} of each {} kept",
                describe_sort(&merge.sort),
                key.join(",")
            )
        }
    }
}

fn parse_sort(columns: &[String]) -> Result<Vec<SortColumn>, Usage> {
    let sort: Vec<SortColumn> = columns
        .iter()
        .map(|column| parse_sort_column(column))
        .collect::<Result<_, _>>()?;
    refuse_twice("--sort-by", sort.iter().map(|column| &column.name))?;
    Ok(sort)
}

fn parse_sort_column(text: &str) -> Result<SortColumn, Usage> {
    let mut parts = text.split(':');
    let name = parts.next().unwrap_or_default().trim();
    if name.is_empty() {
        return Err(Usage("--sort-by: a column name is empty".to_owned()));
    }
    let mut column = SortColumn {
        name: name.into(),
        descending: false,
        nulls_first: false,
    };
    for part in parts {
        match part {
            "asc" => column.descending = false,
            "desc" => column.descending = true,
            "nulls-first" => column.nulls_first = true,
            "nulls-last" => column.nulls_first = false,
            other => {
                return Err(Usage(format!(
                    "--sort-by {text}: {other} is none of asc, desc, nulls-first, nulls-last"
                )));
            }
        }
    }
    Ok(column)
}

fn last_write_wins(key: &[String], version: &str) -> Result<Rule, Usage> {
    if version.trim().is_empty() || key.iter().any(|column| column.trim().is_empty()) {
        return Err(Usage("--key and --newest: a column name is empty".to_owned()));
    }
    let key: Vec<Arc<str>> = key.iter().map(|column| Arc::from(column.trim())).collect();
    refuse_twice("--key", key.iter())?;
    Ok(Rule::LastWriteWins {
        key,
        version: version.trim().into(),
    })
}

fn ascending(name: &Arc<str>) -> SortColumn {
    SortColumn {
        name: name.clone(),
        descending: false,
        nulls_first: false,
    }
}

fn starting_with_key(sort: Vec<SortColumn>, key: &[Arc<str>]) -> Result<Vec<SortColumn>, Usage> {
    let starts = sort.len() >= key.len() && sort.iter().zip(key).all(|(column, key)| column.name == *key);
    match starts {
        true => Ok(sort),
        false => Err(Usage(format!(
            "--sort-by must begin with the --key columns ({}), so that the rows of one key meet",
            key.join(",")
        ))),
    }
}

fn refuse_twice<'a>(flag: &str, names: impl Iterator<Item = &'a Arc<str>>) -> Result<(), Usage> {
    let mut seen = BTreeSet::new();
    for name in names {
        if !seen.insert(name) {
            return Err(Usage(format!("{flag} names {name} twice")));
        }
    }
    Ok(())
}

fn refuse_zero(flag: &str, value: u64) -> Result<(), Usage> {
    match value {
        0 => Err(Usage(format!("{flag} must be at least 1"))),
        _ => Ok(()),
    }
}
