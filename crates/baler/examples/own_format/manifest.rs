//! The manifest: which files are live. Each version is a file of its own, created and never overwritten; whoever creates
//! the next one first has committed.

use std::collections::BTreeSet;
use std::fs;
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use anyhow::{Context, Result};
use async_trait::async_trait;
use baler::owner::{Catalog, Commit, CommitId, History, Tried};
use baler_core::external::CatalogVersion;
use serde::{Deserialize, Serialize};

/// Writer and committer may be in one process: no two of them write to one name.
static SERIAL: AtomicU64 = AtomicU64::new(0);

/// The manifests of a store.
#[derive(Clone, Debug)]
pub(crate) struct Manifests {
    folder: PathBuf,
}

/// One version.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Manifest {
    /// Its number.
    pub(crate) version: u64,
    /// Paths of the live files, below the store's folder.
    pub(crate) files: BTreeSet<String>,
    /// The job that made it, if it was a compaction.
    pub(crate) job: Option<String>,
}

impl Manifests {
    /// Below the store's folder.
    pub(crate) fn open(store: &Path) -> Result<Self> {
        let folder = store.join("manifest");
        fs::create_dir_all(&folder)?;
        let manifests = Self { folder };
        manifests.create(&Manifest::default())?;
        Ok(manifests)
    }

    /// The present one.
    pub(crate) fn present(&self) -> Result<Manifest> {
        let mut newest = None;
        for entry in fs::read_dir(&self.folder)? {
            let name = entry?.file_name();
            newest = newest.max(name.to_str().and_then(|name| name.parse().ok()));
        }
        self.read(newest.context("there is no manifest")?)
    }

    /// Version number so-and-so.
    pub(crate) fn read(&self, version: u64) -> Result<Manifest> {
        Ok(serde_json::from_slice(&fs::read(self.path(version))?)?)
    }

    /// Makes the next version of what this says; false if somebody else was first.
    pub(crate) fn create(&self, manifest: &Manifest) -> Result<bool> {
        let serial = SERIAL.fetch_add(1, Ordering::Relaxed);
        let whole = self.folder.join(format!(".{}-{serial}", std::process::id()));
        let mut file = fs::File::create(&whole)?;
        file.write_all(&serde_json::to_vec(manifest)?)?;
        file.sync_all()?;
        // A link fails where there is a name already, and what it links is whole.
        let linked = fs::hard_link(&whole, self.path(manifest.version));
        fs::remove_file(&whole)?;
        match linked {
            Ok(()) => Ok(true),
            Err(error) if error.kind() == ErrorKind::AlreadyExists => Ok(false),
            Err(error) => Err(error.into()),
        }
    }

    /// Changes what is live, as often as it takes to be first.
    pub(crate) fn update(&self, change: impl Fn(&mut Manifest)) -> Result<()> {
        loop {
            let mut next = self.present()?;
            next.version += 1;
            next.job = None;
            change(&mut next);
            if self.create(&next)? {
                return Ok(());
            }
        }
    }

    fn path(&self, version: u64) -> PathBuf {
        self.folder.join(format!("{version:08}"))
    }
}

#[async_trait]
impl Catalog for Manifests {
    async fn version(&self) -> Result<CatalogVersion> {
        Ok(CatalogVersion(self.present()?.version))
    }

    async fn commit(&self, commit: &Commit, base: CatalogVersion) -> Result<Tried> {
        let mut manifest = self.read(base.0)?;
        for input in &commit.inputs {
            if !manifest.files.remove(&*input.path.path) {
                return Ok(Tried::Refused(format!("{} is not live", input.path)));
            }
        }
        let outputs = commit.outputs.iter().map(|output| output.path.path.to_string());
        manifest.files.extend(outputs);
        manifest.version = base.0 + 1;
        manifest.job = Some(commit.id.to_string());
        match self.create(&manifest)? {
            true => Ok(Tried::Landed),
            false => Ok(Tried::Moved),
        }
    }

    async fn history(&self, after: CatalogVersion) -> Result<History> {
        let until = self.present()?.version;
        let mut jobs: Vec<CommitId> = Vec::new();
        for version in after.0 + 1..=until {
            jobs.extend(
                self.read(version)?
                    .job
                    .and_then(|job| job.parse::<CommitId>().ok()),
            );
        }
        let until = CatalogVersion(until);
        Ok(History::Whole { until, jobs })
    }

    async fn pass(&self, base: CatalogVersion) -> Result<()> {
        let mut next = self.read(base.0)?;
        next.version = base.0 + 1;
        next.job = None;
        self.create(&next)?;
        Ok(())
    }
}
