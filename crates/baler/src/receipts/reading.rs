//! Finds and reads receipts.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result};
use baler_core::ids::{JobId, TableName};
use baler_core::names;
use baler_core::time::StoreTime;
use baler_journal::store::{ObjectMeta, Store, StoreError};
use futures::{StreamExt, TryStreamExt, stream};
use serde::de::DeserializeOwned;

use super::undone::{self, UndoneMark};
use super::{Moment, Receipt};
use crate::root::Root;

/// Receipts that one look reads at most: the youngest.
const READ_MAX: usize = 1_000;

/// Receipts that are read at once.
const READS_AT_ONCE: usize = 16;

/// Which receipts somebody wants to see.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Wanted {
    /// Only of this table.
    pub table: Option<TableName>,
    /// Only those written this long ago at most, by this machine's clock.
    pub since: Option<Duration>,
}

/// The receipts of a root.
#[derive(Debug)]
pub struct Receipts {
    store: Arc<dyn Store>,
    folder: String,
    now: StoreTime,
    /// The last undone jobs, as the state remembers.
    undone: BTreeMap<JobId, Moment>,
}

impl Receipts {
    /// Of this root.
    pub fn of(root: &Root) -> Result<Self> {
        Ok(Self {
            store: root.site.root.journal_store()?,
            folder: names::receipts_folder(root.journal()?),
            now: root.now(),
            undone: undone::remembered(&root.replica.state()),
        })
    }

    /// The receipt of a job; `None` if there is none.
    pub async fn get(&self, job: JobId) -> Result<Option<Receipt>> {
        let prefix = format!("{}/{}", self.folder, names::receipt_of(job));
        let mut listed = self.store.list(&self.folder, &prefix);
        let mut receipt = None;
        while let Some(meta) = listed.next().await {
            let meta = meta?;
            // Nothing comes between what a name begins with and the name.
            if meta.path.starts_with(&prefix) && self.parse(&meta).is_some() {
                receipt = Some(self.read(&meta.path).await?);
                break;
            }
        }
        if let Some(receipt) = &mut receipt {
            let table = TableName::from(receipt.table.as_str());
            let mark = format!("{}/{}", self.folder, names::undone_mark(job, &table));
            match self.store.head(&mark).await {
                Ok(_) => self.mark(receipt, &mark).await?,
                Err(StoreError::NotFound { .. }) => {}
                Err(error) => return Err(error.into()),
            }
        }
        Ok(receipt.map(|receipt| self.with_memory(receipt)))
    }

    /// The receipt of a job of this table; `None` if there is none. One read, and no listing.
    pub async fn of_job(&self, job: JobId, table: &TableName) -> Result<Option<Receipt>> {
        let path = format!("{}/{}", self.folder, names::receipt(job, table));
        match self.store.head(&path).await {
            Ok(_) => Ok(Some(self.read(&path).await?)),
            Err(StoreError::NotFound { .. }) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// The receipts that are wanted, youngest first, and how many more there are.
    pub async fn find(&self, wanted: &Wanted) -> Result<(Vec<Receipt>, usize)> {
        let (mut found, mut marks) = (Vec::new(), BTreeMap::new());
        let mut listed = self.store.list(&self.folder, "");
        while let Some(meta) = listed.next().await {
            let meta = meta?;
            if let Some((job, _)) = self.below(&meta).and_then(names::parse_undone_mark) {
                marks.insert(job, meta.path);
            } else if let Some((job, table)) = self.parse(&meta)
                && self.is_wanted(wanted, &table, &meta)
            {
                found.push((job, meta.path));
            }
        }
        found.sort_unstable_by(|a, b| b.cmp(a));
        let more = found.len().saturating_sub(READ_MAX);
        found.truncate(READ_MAX);
        let marks = &marks;
        let reads = stream::iter(found).map(|(job, path)| async move {
            let mut receipt = self.read(&path).await?;
            if let Some(mark) = marks.get(&job) {
                self.mark(&mut receipt, mark).await?;
            }
            Ok::<Receipt, anyhow::Error>(self.with_memory(receipt))
        });
        let receipts = reads.buffered(READS_AT_ONCE).try_collect().await?;
        Ok((receipts, more))
    }

    fn is_wanted(&self, wanted: &Wanted, table: &TableName, meta: &ObjectMeta) -> bool {
        let young = |since: Duration| {
            let age = self.now.since(meta.identity.modified);
            u128::from(age.0) <= since.as_millis()
        };
        wanted.table.as_ref().is_none_or(|only| only == table) && wanted.since.is_none_or(young)
    }

    fn parse(&self, meta: &ObjectMeta) -> Option<(JobId, TableName)> {
        names::parse_receipt(self.below(meta)?)
    }

    fn below<'m>(&self, meta: &'m ObjectMeta) -> Option<&'m str> {
        meta.path.strip_prefix(&self.folder)?.strip_prefix('/')
    }

    /// Says in a receipt what a mark beside it says.
    async fn mark(&self, receipt: &mut Receipt, path: &str) -> Result<()> {
        let mark: UndoneMark = self.read_as(path).await?;
        receipt.undone = Some(mark.at);
        Ok(())
    }

    /// A job that was undone just now may not be marked yet.
    fn with_memory(&self, receipt: Receipt) -> Receipt {
        Receipt {
            undone: receipt.undone.or_else(|| self.undone.get(&receipt.job).copied()),
            ..receipt
        }
    }

    async fn read(&self, path: &str) -> Result<Receipt> {
        self.read_as(path).await
    }

    async fn read_as<T: DeserializeOwned>(&self, path: &str) -> Result<T> {
        let (_, bytes) = self.store.get(path).await?.whole()?;
        serde_json::from_slice(&bytes).with_context(|| {
            format!("{path} is damaged, or of a newer version of Baler: nothing else depends on it")
        })
    }
}
