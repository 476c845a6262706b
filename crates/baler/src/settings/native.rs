//! What a native table is: its catalog is the journal, and rows may go by their age.

use std::sync::Arc;

use baler_core::file::Level;
use baler_core::names;
use baler_core::table::{Catalog, Expire, MergeSpec, Replaced, TableSpec};
use baler_core::time::Millis;

use super::policy::PolicySettings;
use super::{MergeSettings, ReplacedSettings, Usage, millis};
use crate::cli::NativeArgs;

/// The word that takes a setting back.
const NONE: &str = "none";

/// What the user said about a native table. When it is altered, what was not said stays as it was.
#[derive(Clone, Debug, Default)]
pub struct NativeSettings {
    /// In a bucket: what becomes of added files that were replaced.
    pub replaced: ReplacedSettings,
    merge: MergeSettings,
    row_time: Option<Arc<str>>,
    retention: Option<Option<Millis>>,
    deleted: Option<Option<Arc<str>>>,
    expire: Option<Option<SaidExpire>>,
    lateness: Option<Option<Millis>>,
    tenant: Option<Option<Arc<str>>>,
    shard: Option<Option<Arc<str>>>,
    cross_shard_from: Option<Level>,
    policy: PolicySettings,
}

/// Rows expire by the column that was named, or by the row time.
#[derive(Clone, Debug)]
struct SaidExpire {
    after: Millis,
    column: Option<Arc<str>>,
}

impl NativeSettings {
    /// Checks what was typed.
    pub fn check(args: &NativeArgs) -> Result<Self, Usage> {
        let row_time = args.row_time.as_deref();
        let expire = args.expire_after.as_deref();
        let retain = args.retain.as_deref();
        let lateness = args.lateness.as_deref();
        let name = |text: &Option<String>| {
            text.as_deref()
                .map(|text| none_or(text, |text| Ok(text.into())))
                .transpose()
        };
        Ok(Self {
            replaced: ReplacedSettings::check(&args.replaced)?,
            merge: MergeSettings::check(&args.merge)?,
            row_time: row_time.map(|text| time_column("--row-time", text)).transpose()?,
            retention: retain
                .map(|text| none_or(text, |text| age("--retain", text)))
                .transpose()?,
            deleted: name(&args.drop_deleted_where)?,
            expire: expire.map(|text| none_or(text, said_expire)).transpose()?,
            lateness: lateness
                .map(|text| none_or(text, |text| length("--lateness", text)))
                .transpose()?,
            tenant: name(&args.tenant)?,
            shard: name(&args.shard)?,
            cross_shard_from: args.cross_shard_from.map(Level),
            policy: PolicySettings::check(args)?,
        })
    }

    /// The spec of a table that begins now.
    pub fn fresh(&self, replaced: Replaced) -> Result<TableSpec, Usage> {
        let nothing = TableSpec {
            merge: Arc::new(self.merge.fresh()),
            replaced,
            ..TableSpec::of(Catalog::Native)
        };
        self.altered(&nothing)
    }

    /// The spec of a known table, with what was said now.
    pub fn altered(&self, known: &TableSpec) -> Result<TableSpec, Usage> {
        let replaced = self.replaced.wanted.clone();
        let merge = self.altered_merge(&known.merge)?;
        Ok(TableSpec {
            policy: self.policy.altered(&known.policy, merge.lateness)?,
            merge: Arc::new(merge),
            tenant: self.tenant.clone().unwrap_or_else(|| known.tenant.clone()),
            shard: self.shard.clone().unwrap_or_else(|| known.shard.clone()),
            cross_shard_from: self.cross_shard_from.or(known.cross_shard_from),
            grace: self.merge.grace.unwrap_or(known.grace),
            replaced: replaced.unwrap_or_else(|| known.replaced.clone()),
            names_once: self.replaced.names_once || known.names_once,
            retention: self.retention.unwrap_or(known.retention),
            ..known.clone()
        })
    }

    fn altered_merge(&self, known: &MergeSpec) -> Result<MergeSpec, Usage> {
        let row_time = self.row_time.clone().or_else(|| known.row_time.clone());
        let expire = match &self.expire {
            None => known.expire.clone(),
            Some(None) => None,
            Some(Some(said)) => Some(said.by_default(row_time.as_ref())?),
        };
        Ok(MergeSpec {
            row_time,
            deleted: self.deleted.clone().unwrap_or_else(|| known.deleted.clone()),
            expire,
            lateness: self.lateness.unwrap_or(known.lateness),
            ..self.merge.applied_to(known)
        })
    }
}

impl SaidExpire {
    fn by_default(&self, row_time: Option<&Arc<str>>) -> Result<Expire, Usage> {
        let column = self.column.as_ref().or(row_time);
        let advice =
            "--expire-after: say which column holds the time, with --row-time COLUMN or as TIME@COLUMN";
        Ok(Expire {
            column: column.ok_or_else(|| Usage(advice.to_owned()))?.clone(),
            after: self.after,
        })
    }
}

/// A name that a table can have.
pub(crate) fn table_name(name: &str) -> Result<baler_core::ids::TableName, Usage> {
    match names::is_table_name(name) {
        true => Ok(name.into()),
        false => Err(Usage(format!(
            "{name:?} cannot be a table's name: use at most 100 letters, digits, -, ., = and _, and begin with none of . and _"
        ))),
    }
}

fn none_or<T>(text: &str, parse: impl FnOnce(&str) -> Result<T, Usage>) -> Result<Option<T>, Usage> {
    match text {
        NONE => Ok(None),
        text => parse(text).map(Some),
    }
}

fn length(flag: &str, text: &str) -> Result<Millis, Usage> {
    let parsed = humantime::parse_duration(text);
    let parsed = parsed.map(millis);
    parsed.map_err(|error| Usage(format!("{flag} {text}: {error}; write it like 30d, 12h or 90s")))
}

/// Rows that are dropped as soon as they come would never be seen.
pub(super) fn age(flag: &str, text: &str) -> Result<Millis, Usage> {
    match length(flag, text)? {
        Millis(0) => Err(Usage(format!("{flag} must be longer than nothing"))),
        age => Ok(age),
    }
}

fn said_expire(text: &str) -> Result<SaidExpire, Usage> {
    let (after, column) = match text.split_once('@') {
        Some((after, column)) => (after, Some(time_column("--expire-after", column)?)),
        None => (text, None),
    };
    Ok(SaidExpire {
        after: age("--expire-after", after)?,
        column,
    })
}

/// A column, or a column of plain integers with their unit.
fn time_column(flag: &str, text: &str) -> Result<Arc<str>, Usage> {
    let (name, unit) = text.rsplit_once(':').unwrap_or((text, "ms"));
    match unit {
        _ if name.is_empty() => Err(Usage(format!("{flag}: the column's name is empty"))),
        "s" | "ms" | "us" | "ns" => Ok(text.into()),
        other => Err(Usage(format!("{flag} {text}: {other} is none of s, ms, us, ns"))),
    }
}
