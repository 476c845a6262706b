//! The tables of a root: one plain one, or any number of native ones.

use std::sync::Arc;

use anyhow::{Context, Result, bail};
use baler_core::ids::{JournalId, TableName};
use baler_core::request::{Refusal, Reply, Request};
use baler_core::state::{State, Table};
use baler_core::table::{Catalog, Replaced, TableSpec};

use super::{Root, create_replica, pretend, replacing, siting};
#[cfg(feature = "cli")]
use crate::settings::NativeSettings;
use crate::settings::{ReplacedSettings, TableSettings, Usage};
use crate::store::Location;

/// The one table of a plain root.
pub const PLAIN_TABLE: &str = "data";

/// Whether a root's tables have the journal for their catalog.
pub fn is_native(state: &State) -> bool {
    let mut tables = state.tables.values();
    tables.any(|table| table.spec.catalog == Catalog::Native)
}

/// One table of a root, or all of them. Those that are being dropped are none any more.
pub fn tables(state: &State, only: Option<&TableName>) -> Result<Vec<(TableName, Table)>> {
    let Some(only) = only else {
        let live = state.tables.iter().filter(|(_, table)| !table.is_dropped());
        return Ok(live.map(|(name, table)| (name.clone(), table.clone())).collect());
    };
    if !is_native(state) && !state.tables.is_empty() {
        return Err(Usage(
            "this root is a plain folder, with no tables to name: leave out --table".to_owned(),
        )
        .into());
    }
    Ok(vec![(only.clone(), known(state, only)?.clone())])
}

/// A table that exists.
pub fn known<'a>(state: &'a State, name: &TableName) -> Result<&'a Table> {
    let live = state.tables.iter().filter(|(_, table)| !table.is_dropped());
    let names: Vec<&str> = live.map(|(name, _)| name.as_str()).collect();
    match state.tables.get(name) {
        Some(table) if !table.is_dropped() => Ok(table),
        Some(_) => bail!("table {name} was dropped: its files are on their way out"),
        None if names.is_empty() => {
            bail!("there is no table {name}, nor any other: `baler table create` makes one")
        }
        None => bail!("there is no table {name}: there are {}", names.join(", ")),
    }
}

impl Root {
    /// Whether its tables have the journal for their catalog.
    pub fn is_native(&self) -> bool {
        is_native(&self.replica.state())
    }

    /// A table, as it stands.
    pub fn table(&self, name: &TableName) -> Result<Table> {
        let state = self.replica.state();
        let table = state.tables.get(name).cloned();
        table.context("the root has no table yet")
    }

    /// One table, or all of them, as they stand.
    pub fn tables(&self, only: Option<&TableName>) -> Result<Vec<(TableName, Table)>> {
        tables(&self.replica.state(), only)
    }

    /// Makes a native table, and its place a root where it is none. Answers whether the table is new.
    #[cfg(feature = "cli")]
    pub async fn create_table(
        location: &Location,
        name: &TableName,
        settings: &NativeSettings,
    ) -> Result<(Self, bool)> {
        Self::create_table_as(location, name, &settings.replaced, |replaced| {
            Ok(settings.fresh(replaced)?)
        })
        .await
    }

    /// The same with a spec that is made once it is clear what becomes of replaced files there.
    pub async fn create_table_as(
        location: &Location,
        name: &TableName,
        replaced: &ReplacedSettings,
        spec: impl Fn(Replaced) -> Result<TableSpec>,
    ) -> Result<(Self, bool)> {
        let expected = Arc::new(spec(Replaced::SetAside)?);
        refuse_beforehand(name, &expected)?;
        let unsaid = TableSettings::unsaid();
        let (site, known) = siting::to_create(location, &unsaid).await?;
        Self::check_home(&site.root)?;
        let replaced = replacing::choose(&site.root, &expected.catalog, replaced).await?;
        let spec = spec(replaced)?;
        let replica = create_replica(&site.root).await?;
        let root = Self::new(site, replica);
        let exists = root.replica.state().tables.contains_key(name);
        match root.begin_table(name, &spec).await? {
            Reply::Refused(refusal @ Refusal::TableDiffers { .. }) => {
                bail!("{refusal}; `baler table alter` changes what can be changed")
            }
            Reply::Refused(refusal) => bail!("{refusal}"),
            _ => {}
        }
        if !known {
            // Somebody may have made an overlapping root at the same moment: of the two, each now sees the other.
            siting::check_root(&root.site.root, known).await?;
        }
        Ok((root, !exists))
    }

    /// A dropped table is remembered for its grace period. Whether that is over can be seen only in the present.
    async fn begin_table(&self, table: &TableName, spec: &TableSpec) -> Result<Reply> {
        let request = Request::CreateTable {
            table: table.clone(),
            spec: Arc::new(self.with_best_hash(spec)),
        };
        match self.replica.submit(request.clone()).await? {
            Reply::Refused(Refusal::BeingDropped(_)) => {
                self.replica.submit(Request::Tick).await?;
                Ok(self.replica.submit(request).await?)
            }
            reply => Ok(reply),
        }
    }
}

/// What the state would refuse is refused before anything is written.
fn refuse_beforehand(name: &TableName, spec: &Arc<TableSpec>) -> Result<()> {
    let mut state = State::default();
    state.open_batch(None);
    pretend(&mut state, &Request::CreateJournal(JournalId(0)));
    let request = Request::CreateTable {
        table: name.clone(),
        spec: spec.clone(),
    };
    match pretend(&mut state, &request) {
        Reply::Refused(refusal) => bail!("{refusal}"),
        _ => Ok(()),
    }
}
