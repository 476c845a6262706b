//! A root: its depots, its journal, its tables. Opening one checks everything that could make compacting it wrong.

mod homing;
mod replacing;
mod siting;
mod tables;

pub use tables::{PLAIN_TABLE, is_native, known, tables};

use std::fmt;
use std::sync::Arc;
use std::time::SystemTime;

use anyhow::{Context, Result, bail};
use baler_core::decide;
use baler_core::event::Event;
use baler_core::file::Place;
use baler_core::ids::{JournalId, TableName};
use baler_core::request::{Poll, Reply, Request};
use baler_core::state::{State, Table};
use baler_core::table::{Catalog, Replaced, RowHash, TableSpec};
use baler_core::time::StoreTime;
use baler_journal::replica::Settings;
use baler_journal::store::StoreError;
use baler_journal::{Access, JournalError, ObjectLog, Replica, host};

use crate::depot::Depot;
use crate::settings::{TableSettings, Usage};
use crate::site::Site;
use crate::store::{Location, OutputSettings};
use siting::Sited;

/// An open root.
#[derive(Debug)]
pub struct Root {
    /// Where its files lie.
    pub site: Site,
    /// Its state.
    pub replica: Replica,
    clock: Clock,
}

/// A wall clock: for estimates and courtesies only, nothing is decided by it.
#[derive(Clone)]
pub struct Clock(Arc<dyn Fn() -> SystemTime + Send + Sync>);

impl Clock {
    /// One that says this.
    pub fn new(now: impl Fn() -> SystemTime + Send + Sync + 'static) -> Self {
        Self(Arc::new(now))
    }

    /// The present, as it says.
    pub fn now(&self) -> StoreTime {
        store_time((self.0)())
    }
}

impl Default for Clock {
    /// This machine's.
    fn default() -> Self {
        Self::new(SystemTime::now)
    }
}

impl fmt::Debug for Clock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Clock")
    }
}

/// The present on this machine's clock. For estimates and courtesies only: nothing is decided by it.
pub fn machine_now() -> StoreTime {
    store_time(SystemTime::now())
}

fn store_time(now: SystemTime) -> StoreTime {
    let since = now.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    StoreTime {
        unix_ms: u64::try_from(since.as_millis()).unwrap_or(u64::MAX),
    }
}

impl Root {
    /// An open root on this machine's clock.
    pub fn new(site: Site, replica: Replica) -> Self {
        let clock = Clock::default();
        Self { site, replica, clock }
    }

    /// Whether there is a root at this place.
    pub async fn is_there(location: &Location) -> Result<bool> {
        if matches!(location, Location::Local(path) if !path.exists()) {
            return Ok(false);
        }
        let depot = siting::open(location, Place::Root, &TableSettings::unsaid())?;
        siting::has_journal(&depot).await
    }

    /// Where a root lies, or would; nothing is looked at.
    pub fn depot(location: &Location) -> Result<Depot> {
        Self::depot_at(location, Place::Root)
    }

    /// The same for a source.
    pub fn depot_at(location: &Location, place: Place) -> Result<Depot> {
        siting::open(location, place, &TableSettings::unsaid())
    }

    /// Refuses a place that cannot become a root: one above or inside another root, or a table of another format.
    pub async fn check_place(root: &Depot) -> Result<()> {
        siting::check_root(root, false).await
    }

    /// Refuses a folder that is a copy of a root: its journal must not be written to.
    pub fn check_home(root: &Depot) -> Result<()> {
        homing::check(root)
    }

    /// Whether a folder is a copy of the one in which a journal with this state was written.
    pub fn is_copy(root: &Depot, state: &State) -> Result<bool> {
        root.as_folder()
            .map_or(Ok(false), |folder| homing::is_copy(folder, state))
    }

    /// What a plain table is that begins here. The way that replaced files go is tried out.
    pub async fn fresh_plain_spec(root: &Depot, settings: &TableSettings) -> Result<TableSpec> {
        let replaced = replacing::choose(root, &Catalog::InPlace, &settings.replaced).await?;
        Ok(settings.fresh(Catalog::InPlace, replaced))
    }

    /// Opens a root that Baler knows, without ever writing. Of a copy it is told what its journal says, with a warning.
    pub async fn open_to_read(location: &Location) -> Result<Self> {
        let depot = siting::open(location, Place::Root, &TableSettings::unsaid())?;
        let root = Self::open_known(location, depot, Access::ReadOnly, &TableSettings::unsaid()).await?;
        homing::warn(&root.site.root, &root.replica.state())?;
        Ok(root)
    }

    /// The same to say what would be done: refused where doing it would be.
    pub async fn open_for_dry_run(location: &Location) -> Result<Self> {
        Self::open_at_home(location, Access::ReadOnly, &TableSettings::unsaid()).await
    }

    /// Opens a root that Baler knows.
    pub async fn open_to_write(location: &Location) -> Result<Self> {
        Self::open_at_home(location, Access::ReadWrite, &TableSettings::unsaid()).await
    }

    /// The depots of a root for one who merges there and was told what: nothing is asked of its journal.
    pub fn site_to_merge(
        root: &Location,
        source: Option<&Location>,
        outputs: OutputSettings,
    ) -> Result<Site> {
        let mut settings = TableSettings::unsaid();
        settings.outputs = outputs;
        let source = source.map(|source| siting::open(source, Place::Source, &settings));
        let root = siting::open(root, Place::Root, &settings)?;
        Ok(Site::new(root, source.transpose()?))
    }

    /// Opens a root for one who merges in it and asks others about its state.
    pub async fn open_to_merge(location: &Location, outputs: OutputSettings) -> Result<Self> {
        let mut settings = TableSettings::unsaid();
        settings.outputs = outputs;
        Self::open_at_home(location, Access::ReadOnly, &settings).await
    }

    async fn open_at_home(location: &Location, access: Access, settings: &TableSettings) -> Result<Self> {
        let depot = siting::open(location, Place::Root, settings)?;
        homing::check(&depot)?;
        let root = Self::open_known(location, depot, access, settings).await?;
        match access {
            Access::ReadOnly => homing::check_versions(&root.site.root, &root.replica.state())?,
            Access::ReadWrite => homing::settle_in(&root.site.root, &root.replica)?,
        }
        Ok(root)
    }

    async fn open_known(
        location: &Location,
        depot: Depot,
        access: Access,
        settings: &TableSettings,
    ) -> Result<Self> {
        if !siting::has_journal(&depot).await? {
            bail!(
                "{location} is not a Baler root: `baler compact` makes one of it (with --output, the root is DST), and so \
                 does `baler table create`"
            );
        }
        let replica = open_replica(&depot, access).await?;
        let state = replica.state();
        let catalog = state.tables.get(&plain_table()).map(|known| &known.spec.catalog);
        let source = match catalog {
            Some(Catalog::Output { source }) => {
                let source: Location = source.parse()?;
                siting::open(&source, Place::Source, settings).ok()
            }
            _ => None,
        };
        Ok(Self::new(Site::new(depot, source), replica))
    }

    /// Opens the root that a `compact` of `location` works on, and makes it one if it is none.
    pub async fn open_for_compaction(location: &Location, settings: &TableSettings) -> Result<Self> {
        let Sited { site, catalog, known } = siting::to_compact(location, settings).await?;
        homing::check(&site.root)?;
        let replica = create_replica(&site.root).await?;
        let root = Self::new(site, replica);
        if root.is_native() {
            settings.refuse_on_native(&root.site.root)?;
            return Ok(root);
        }
        root.settle_spec(&catalog, settings).await?;
        if !known {
            // Somebody may have made an overlapping root at the same moment: of the two, each now sees the other.
            siting::check_root(&root.site.root, known).await?;
        }
        Ok(root)
    }

    /// The state and depots for a dry run, which may look at a place that is no root yet.
    pub async fn look(location: &Location, settings: &TableSettings) -> Result<(Site, State)> {
        let Sited { site, catalog, known } = siting::to_look(location, settings).await?;
        if known {
            homing::check(&site.root)?;
        }
        let mut state = match known {
            true => State::clone(&*open_replica(&site.root, Access::ReadOnly).await?.state()),
            false => State::default(),
        };
        if known {
            homing::check_versions(&site.root, &state)?;
        }
        if is_native(&state) {
            settings.refuse_on_native(&site.root)?;
            return Ok((site, state));
        }
        let table = plain_table();
        state.open_batch(None);
        if state.journal.is_none() {
            pretend(&mut state, &Request::CreateJournal(JournalId(0)));
        }
        let spec = Arc::new(match state.tables.get(&table) {
            Some(known) => wanted_spec(known, &catalog, settings)?,
            None => settings.fresh(catalog, Replaced::SetAside),
        });
        pretend(
            &mut state,
            &Request::CreateTable {
                table: table.clone(),
                spec: spec.clone(),
            },
        );
        pretend(&mut state, &Request::AlterTable { table, spec });
        Ok((site, state))
    }

    /// A table that begins now has the best hash that all who may open the root know.
    fn with_best_hash(&self, spec: &TableSpec) -> TableSpec {
        spec.with_hash(RowHash::at_level(self.replica.journal().level()))
    }

    async fn settle_spec(&self, catalog: &Catalog, settings: &TableSettings) -> Result<()> {
        let state = self.replica.state();
        let table = plain_table();
        let request = match state.tables.get(&table) {
            None => {
                let replaced = replacing::choose(&self.site.root, catalog, &settings.replaced).await?;
                let fresh = settings.fresh(catalog.clone(), replaced);
                let spec = Arc::new(self.with_best_hash(&fresh));
                Request::CreateTable { table, spec }
            }
            Some(known) => {
                let spec = Arc::new(wanted_spec(known, catalog, settings)?);
                Request::AlterTable { table, spec }
            }
        };
        match self.replica.submit(request).await? {
            Reply::Refused(refusal) => bail!("{refusal}"),
            _ => Ok(()),
        }
    }

    /// With another wall clock than this machine's.
    #[must_use]
    pub fn with_clock(self, clock: Clock) -> Self {
        Self { clock, ..self }
    }

    /// The present on its wall clock.
    pub fn now(&self) -> StoreTime {
        self.clock.now()
    }

    /// The journal's id.
    pub fn journal(&self) -> Result<JournalId> {
        self.replica.state().journal.context("the journal has not begun")
    }

    /// What a request would decide now. Nothing is written.
    pub fn would_decide(&self, request: &Request) -> Vec<Event> {
        let mut state = State::clone(&self.replica.state());
        state.open_batch(None);
        decide(&state, request).events
    }

    /// Whether the poll would find more to do without its bounds on bytes and jobs.
    pub fn is_bounded(&self, poll: &Poll) -> bool {
        let mut unbounded = poll.clone();
        unbounded.scope.bytes_left = None;
        unbounded.scope.jobs_left = None;
        let is_bounded = poll.scope.bytes_left.is_some() || poll.scope.jobs_left.is_some();
        is_bounded && !self.would_decide(&Request::Poll(unbounded)).is_empty()
    }
}

/// The name of the one table of a plain root.
pub fn plain_table() -> TableName {
    TableName::from(PLAIN_TABLE)
}

/// Applies what a request would decide to a state that nobody shares.
pub fn pretend(state: &mut State, request: &Request) -> Reply {
    let decision = decide(state, request);
    for event in &decision.events {
        baler_core::apply::apply_event(state, event);
    }
    decision.reply
}

fn wanted_spec(known: &Table, catalog: &Catalog, settings: &TableSettings) -> Result<TableSpec, Usage> {
    match (&known.spec.catalog, catalog) {
        (Catalog::Output { source }, Catalog::InPlace) => {
            return Err(Usage(format!(
                "this is the output of a compaction: run `baler compact {source} --output` it instead"
            )));
        }
        (Catalog::Output { source: known }, Catalog::Output { source }) if known != source => {
            return Err(Usage(format!(
                "--output holds the files of {known}, not of {source}: give another --output"
            )));
        }
        (Catalog::InPlace, Catalog::Output { .. }) => {
            return Err(Usage(
                "--output is a root that is compacted in place: give another --output".to_owned(),
            ));
        }
        _ => {}
    }
    settings.altered(&known.spec, known.is_untouched())
}

async fn open_replica(root: &Depot, access: Access) -> Result<Replica> {
    let store = root.journal_store()?;
    let log = Arc::new(ObjectLog::open(store, access).await?);
    Ok(Replica::open(
        log,
        Settings {
            access,
            ..Settings::default()
        },
    )
    .await?)
}

/// A root whose making was cut short has a folder for its journal, and nothing in it.
async fn create_replica(root: &Depot) -> Result<Replica> {
    let replica = open_replica(root, Access::ReadWrite).await.map_err(|error| {
        match error.downcast_ref::<JournalError>() {
            Some(JournalError::Store(StoreError::Denied { .. } | StoreError::ReadOnly { .. })) => error
                .context(format!(
                    "{root} cannot be made a root: if it is only to be read, give --output"
                )),
            _ => error,
        }
    })?;
    if replica.state().journal.is_none() {
        replica
            .submit(Request::CreateJournal(JournalId(host::wide_chance())))
            .await?;
    }
    homing::settle_in(root, &replica)?;
    Ok(replica)
}
