//! Tables begin, change and go. What their settings ask for is checked here, once: whoever merges or collects may rely on it.

use std::sync::Arc;

use super::{Answer, Draft};
use crate::event::Event;
use crate::ids::{JobId, TableName};
use crate::job::{CancelReason, Dropped};
use crate::limits::{OWN_RULES_MAX, SETTING_BYTES_MAX, TABLES_MAX};
use crate::names;
use crate::request::{Refusal, Reply};
use crate::table::{Catalog, MergeSpec, Policy, Replaced, Rule, TableSpec};

impl Draft {
    pub(super) fn create_table(&mut self, table: &TableName, spec: &Arc<TableSpec>) -> Answer {
        let spec = &self.with_known_hash(table, spec);
        match self.state.tables.get(table) {
            None => self.begin_table(table, spec),
            Some(known) if known.is_dropped() => Err(Refusal::BeingDropped(table.clone())),
            Some(known) if known.spec == *spec => Ok(Reply::Done),
            Some(known) => Err(differs(
                table,
                difference(&known.spec, spec).unwrap_or("its settings"),
            )),
        }
    }

    /// A plain table takes whatever lies in the root for its own, so no native table may lie beside it.
    fn begin_table(&mut self, table: &TableName, spec: &Arc<TableSpec>) -> Answer {
        let mut others = self.state.tables.values();
        if others.any(|other| other.spec.catalog.publishes() != spec.catalog.publishes()) {
            return Err(Refusal::MixedRoot(table.clone()));
        }
        if self.state.tables.len() >= TABLES_MAX {
            return Err(Refusal::TooManyTables(TABLES_MAX));
        }
        if !names::is_table_name(table.as_str()) {
            return Err(wrong(table, NAME_RULE));
        }
        check(table, spec)?;
        self.done(Event::TableCreated {
            table: table.clone(),
            spec: spec.clone(),
        })
    }

    pub(super) fn alter_table(&mut self, table: &TableName, spec: &Arc<TableSpec>) -> Answer {
        let spec = &self.with_known_hash(table, spec);
        let known = &self.table(table)?.spec;
        if known == spec {
            return Ok(Reply::Done);
        }
        let untouched = self.table(table)?.is_untouched() && known.catalog == spec.catalog;
        if let Some(what) = difference(known, spec).filter(|_| !untouched) {
            return Err(differs(table, what));
        }
        check(table, spec)?;
        self.done(Event::TableAltered {
            table: table.clone(),
            spec: spec.clone(),
        })
    }

    /// Nobody has to know what hash a table began with: it stays, whatever is asked for.
    fn with_known_hash(&self, table: &TableName, spec: &Arc<TableSpec>) -> Arc<TableSpec> {
        match self.state.tables.get(table).map(|known| known.spec.merge.hash) {
            Some(hash) if hash != spec.merge.hash => Arc::new(spec.with_hash(hash)),
            _ => spec.clone(),
        }
    }

    /// Its jobs end, and its files go on their way out; pinned versions stay readable.
    pub(super) fn drop_table(&mut self, name: &TableName) -> Answer {
        if self.table(name)?.spec.catalog.publishes() {
            return Err(Refusal::CannotDrop(name.clone()));
        }
        if self.state.has_external_catalog(name) {
            return Err(Refusal::KeptElsewhere(name.clone()));
        }
        let jobs = self.state.jobs.values().filter(|job| job.table == *name);
        let jobs: Vec<JobId> = jobs.map(|job| job.id).collect();
        for job in jobs {
            let job = self.state.jobs[&job].clone();
            self.cancel_job(&job, CancelReason::TableDropped);
        }
        self.done(Event::TableDropped { table: name.clone() })
    }
}

const NAME_RULE: &str = "a table's name is made of at most 100 letters, digits, -, ., = and _, \
                         and does not begin with . or _";

/// What the settings ask for must be possible.
fn check(table: &TableName, spec: &TableSpec) -> Result<(), Refusal> {
    let merge = &spec.merge;
    let keyed = merge.is_keyed();
    let plain = spec.catalog.publishes();
    let lets_rows_go = merge.deleted.is_some() || merge.expire.is_some() || spec.retention.is_some();
    let off_row_time = |merge: &MergeSpec| {
        let expire = merge.expire.as_ref().map(|expire| &expire.column);
        keyed && expire.is_some() && expire != merge.row_time.as_ref()
    };
    let says_nothing = |spec: &TableSpec| texts(spec).any(|text| text.is_empty());
    let says_too_much = |spec: &TableSpec| texts(spec).any(|text| text.len() > SETTING_BYTES_MAX);
    let what = match () {
        () if spec.retention.is_some() && spec.catalog != Catalog::Native => {
            "retention is for native tables: which rows any other holds is for those to say who write it"
        }
        () if spec.retention.is_some() && merge.row_time.is_none() => {
            "retention needs to know which column holds the rows' time"
        }
        () if merge.deleted.is_some() && !keyed => "dropping deleted rows needs a key",
        () if merge.deleted.is_some() && merge.row_time.is_none() => {
            "dropping deleted rows needs to know which column holds the rows' time"
        }
        () if off_row_time(merge) => "with a key, rows expire by the column that holds the rows' time",
        () if keyed && lets_rows_go && merge.lateness.is_none() => {
            "with a key, dropping deleted, expired or old rows needs to know how late rows may come"
        }
        () if merge.format.is_some() && plain => {
            "a format of its owner's is for tables that are kept in a catalog: in a folder Baler finds Parquet files only"
        }
        () if merge
            .format
            .as_deref()
            .is_some_and(|name| !names::is_format_name(name)) =>
        {
            "a format's name is made of at most 16 lowercase letters and digits: outputs' names end in it"
        }
        () if merge.format() == MergeSpec::PARQUET && merge.format.is_some() => {
            "Parquet is what files are that say nothing else: leave the format out"
        }
        () if merge.own_rules.len() > OWN_RULES_MAX => "it has more than 16 rules of its owner's",
        () if merge.own_rules.iter().any(|own| Dropped::RULES.contains(&&**own)) => {
            "a rule of its owner's has the name of one of Baler's"
        }
        () if says_nothing(spec) => "a column, rule or prefix has no name",
        () if says_too_much(spec) => "a column, rule or prefix has a name of more than 1,000 bytes",
        () if is_in_sight(&spec.replaced) => {
            "replaced files can be kept only below a folder whose name begins with . or _, or under another URL"
        }
        () if is_by_windows(spec) && merge.row_time.is_none() => {
            "time_window needs to know which column holds the rows' time"
        }
        () if is_by_windows(spec) && keyed && !has_time_in_key(merge) => {
            "time_window never merges two windows, so versions of a key in both would never meet: \
             use another policy, or a key that holds the rows' time"
        }
        () if spec.cross_shard_from.is_some() && spec.shard.is_none() => {
            "files cannot leave their shard where no shard is named: name it, or leave this out"
        }
        () if spec.cross_shard_from.is_some() && plain => {
            "readers of a folder take the shard from the path, so files must stay in theirs: use a native table"
        }
        () => return Ok(()),
    };
    Err(wrong(table, what))
}

fn is_by_windows(spec: &TableSpec) -> bool {
    matches!(spec.policy, Policy::TimeWindow(_))
}

/// Then all versions of a key are in one window.
fn has_time_in_key(merge: &MergeSpec) -> bool {
    match (&merge.rule, &merge.row_time) {
        (Rule::LastWriteWins { key, .. }, Some(row_time)) => key.contains(row_time),
        _ => false,
    }
}

/// Whether replaced files would be kept where a listing takes them for data, or for Baler's own.
fn is_in_sight(replaced: &Replaced) -> bool {
    match replaced {
        Replaced::Keep { prefix } if !prefix.contains("://") => {
            let prefix = prefix.trim_matches('/');
            names::is_data_path(prefix) || prefix.split('/').next() == Some(names::BALER_FOLDER)
        }
        _ => false,
    }
}

fn texts(spec: &TableSpec) -> impl Iterator<Item = &str> {
    let merge = &spec.merge;
    let (key, version) = match &merge.rule {
        Rule::KeepAll => (&[][..], None),
        Rule::LastWriteWins { key, version } => (&key[..], Some(version)),
    };
    let prefix = match &spec.replaced {
        Replaced::Keep { prefix } => Some(prefix),
        _ => None,
    };
    let sort = merge.sort.iter().map(|column| &column.name);
    let expire = merge.expire.as_ref().map(|expire| &expire.column);
    let columns = [
        version,
        merge.row_time.as_ref(),
        merge.deleted.as_ref(),
        expire,
        prefix,
        spec.tenant.as_ref(),
        spec.shard.as_ref(),
    ];
    let all = sort
        .chain(key)
        .chain(&merge.own_rules)
        .chain(columns.into_iter().flatten());
    all.map(AsRef::as_ref)
}

/// What differs between two specs that one table cannot have one after the other.
fn difference(known: &TableSpec, wanted: &TableSpec) -> Option<&'static str> {
    match () {
        () if known.catalog != wanted.catalog => Some("where its files come from"),
        () if known.merge.format != wanted.merge.format => Some("its files' format"),
        () if known.merge.sort != wanted.merge.sort => Some("its sort key"),
        () if known.merge.rule != wanted.merge.rule => Some("its key or version column"),
        () => None,
    }
}

fn differs(table: &TableName, difference: &str) -> Refusal {
    Refusal::TableDiffers {
        table: table.clone(),
        difference: difference.to_owned(),
    }
}

fn wrong(table: &TableName, what: &str) -> Refusal {
    Refusal::WrongSettings {
        table: table.clone(),
        what: what.to_owned(),
    }
}
