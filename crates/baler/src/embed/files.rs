//! Files are handed over by those who wrote them.

use std::sync::Arc;

use anyhow::{Context, Result, bail};
use baler_core::file::{File, FilePath, KeyRange, Level};
use baler_core::ids::{Partition, TableName};
use baler_core::request::{Added, Reply, Request};

use super::Baler;

/// A file of a format of the owner's, as its writer describes it: Baler does not look inside.
#[derive(Clone, Debug)]
pub struct NewFile {
    /// Its path below the root. No name is used twice.
    pub path: String,
    /// The boundary that no merge of it crosses.
    pub partition: Partition,
    /// How far it has been compacted already.
    pub level: Level,
    /// Its rows: as many must be read of it when it is merged.
    pub rows: u64,
    /// Bounds of its keys, if it is sorted.
    pub keys: Option<KeyRange>,
}

impl Baler {
    /// Adds files to a table. They must be whole; said twice, it counts once.
    pub async fn add_files(&self, table: &str, files: &[NewFile]) -> Result<Added> {
        let replica = &self.root().replica;
        replica.catch_up().await?;
        let evidence = replica.state().sequence;
        let mut described = Vec::new();
        for file in files {
            described.push(self.describe(file).await?);
        }
        let request = Request::AddFiles {
            table: TableName::from(table),
            evidence,
            files: described,
        };
        match replica.submit(request).await? {
            Reply::Added(added) => Ok(added),
            Reply::Refused(refusal) => bail!("{refusal}"),
            other => bail!("added files were answered {other:?}"),
        }
    }

    async fn describe(&self, file: &NewFile) -> Result<Arc<File>> {
        let path = FilePath::in_root(file.path.as_str());
        let identity = self.root().site.root.identity_now(&path).await?;
        let identity = identity.with_context(|| format!("{path} is not below the root"))?;
        Ok(Arc::new(File {
            partition: file.partition.clone(),
            level: file.level,
            keys: file.keys.clone(),
            ..File::found(path, identity, file.rows)
        }))
    }

    /// Adds Parquet files, which are looked at, to a native table. Names are paths below the root, or URLs there.
    #[cfg(feature = "parquet")]
    pub async fn add_parquet(&self, table: &str, names: &[&str]) -> Result<crate::adding::AddReport> {
        let names = names.iter().map(|name| Ok((*name).to_owned()));
        let silent = crate::report::ProgressView::silent();
        crate::adding::add(self.root(), &TableName::from(table), names, &silent).await
    }
}
