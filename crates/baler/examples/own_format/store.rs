//! A small key-value store: writes gather in memory, are flushed as sorted files, and a manifest says which are live.

use std::collections::BTreeMap;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Result, anyhow};
use baler::depot::Input;
use baler::embed::{Baler, NewFile};
use baler::merge::Merge;
use baler::merge::rows::{MergeOperator, Row, RowFormat};
use baler::owner::{Policy, Wanted};
use baler_core::file::{KeyRange, Level};
use baler_core::ids::Partition;
use baler_core::job::Span;
use baler_core::limits::LEVEL_MAX;
use baler_core::planner::PartitionView;
use baler_core::table::{self, MergeSpec, TableSpec};
use baler_core::time::Millis;
use bytes::Bytes;

use super::format::{self, Counters, Kv};
use super::manifest::Manifests;

/// The one table of the store.
pub(crate) const TABLE: &str = "kv";

/// The store, as its one writer sees it.
pub(crate) struct Store {
    folder: PathBuf,
    manifests: Manifests,
    memory: Vec<Row>,
    version: u64,
    files: u64,
}

/// What the table is to Baler.
pub(crate) fn table() -> TableSpec {
    let merge = format::merge();
    TableSpec {
        policy: table::Policy::Owner,
        merge: Arc::new(MergeSpec {
            format: Some(merge.format().into()),
            own_rules: merge.rules(),
            target_bytes: 64 << 10,
            ..MergeSpec::default()
        }),
        grace: Millis::from_secs(1),
        names_once: true,
        ..TableSpec::of(table::Catalog::External)
    }
}

/// Four files of a level become one of the next.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FourByFour;

impl Policy for FourByFour {
    fn choose(&self, view: &PartitionView<'_>) -> Vec<Wanted> {
        let mut wanted = Vec::new();
        for level in 0..LEVEL_MAX {
            let mut files: Vec<_> = view
                .files
                .iter()
                .filter(|file| file.level == Level(level))
                .collect();
            files.sort_by_key(|file| (file.added, file.path.clone()));
            wanted.extend(files.chunks_exact(4).map(|files| Wanted {
                inputs: files.iter().map(|file| file.path.clone()).collect(),
                output_level: Level(level + 1),
                reason: format!("four files of level {level}").into(),
            }));
        }
        wanted
    }
}

impl Store {
    /// Opens the store in this folder.
    pub(crate) fn open(folder: &Path) -> Result<Self> {
        fs::create_dir_all(folder.join("files"))?;
        Ok(Self {
            folder: folder.to_owned(),
            manifests: Manifests::open(folder)?,
            memory: Vec::new(),
            version: 0,
            files: 0,
        })
    }

    /// The manifests, for whoever compacts.
    pub(crate) fn manifests(&self) -> &Manifests {
        &self.manifests
    }

    /// Sets a key.
    pub(crate) fn set(&mut self, key: &str, value: &str) {
        self.push(key, format!("={value}"));
    }

    /// Adds to a key.
    pub(crate) fn add(&mut self, key: &str, number: i64) {
        self.push(key, format!("+{number}"));
    }

    fn push(&mut self, key: &str, value: String) {
        self.version += 1;
        self.memory.push(Row {
            key: Bytes::copy_from_slice(key.as_bytes()),
            version: self.version,
            value: value.into(),
        });
    }

    /// Writes a sorted file, makes it live, and tells Baler of it.
    pub(crate) async fn flush(&mut self, baler: &Baler) -> Result<()> {
        self.memory
            .sort_by(|a, b| (&a.key, a.version).cmp(&(&b.key, b.version)));
        let (Some(first), Some(last)) = (self.memory.first(), self.memory.last()) else {
            return Ok(());
        };
        let keys = KeyRange {
            min: first.key.to_vec().into(),
            max: last.key.to_vec().into(),
        };
        self.files += 1;
        let path = format!("files/{:06}.kv", self.files);
        let mut file = fs::File::create_new(self.folder.join(&path))?;
        let mut writer = Kv.write();
        for row in &self.memory {
            writer.push(row, &mut file)?;
        }
        writer.end(&mut file)?;
        file.flush()?;
        file.sync_all()?;
        let rows = self.memory.len() as u64;
        self.memory.clear();
        self.manifests.update(|manifest| {
            manifest.files.insert(path.clone());
        })?;
        let new = NewFile {
            path,
            partition: Partition::from(""),
            level: Level(0),
            rows,
            keys: Some(keys),
        };
        baler.add_files(TABLE, &[new]).await?;
        Ok(())
    }

    /// Everything there is, as a reader of the manifest sees it.
    pub(crate) fn read_all(&self) -> Result<BTreeMap<String, String>> {
        loop {
            let manifest = self.manifests.present()?;
            match self.read_files(manifest.files.iter()) {
                // A reader that was overtaken by two compactions begins anew.
                Err(_) if self.manifests.present()?.version != manifest.version => {}
                read => return read,
            }
        }
    }

    fn read_files<'a>(&self, files: impl Iterator<Item = &'a String>) -> Result<BTreeMap<String, String>> {
        let mut rows: BTreeMap<Bytes, Vec<Row>> = BTreeMap::new();
        for path in files {
            let file: Arc<dyn Input> = Arc::new(Whole::read(&self.folder.join(path))?);
            for row in Kv.read(&file, &Span::default())? {
                let (_, row) = row?;
                rows.entry(row.key.clone()).or_default().push(row);
            }
        }
        let shown = rows.into_iter().map(|(key, mut rows)| {
            rows.sort_by_key(|row| row.version);
            let row = Counters
                .fold(&rows)
                .pop()
                .ok_or_else(|| anyhow!("a key came to nothing"))?;
            let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
            Ok((text(&key), text(&row.value[1..])))
        });
        shown.collect()
    }
}

/// A file that was read whole.
struct Whole {
    name: String,
    bytes: Bytes,
}

impl Whole {
    fn read(path: &Path) -> Result<Self> {
        Ok(Self {
            name: path.display().to_string(),
            bytes: fs::read(path)?.into(),
        })
    }
}

impl Input for Whole {
    fn name(&self) -> &str {
        &self.name
    }
    fn len(&self) -> u64 {
        self.bytes.len() as u64
    }
    fn read_at(&self, offset: u64, length: usize) -> std::io::Result<Bytes> {
        let begin = usize::try_from(offset).map_err(std::io::Error::other)?;
        let end = begin.checked_add(length).filter(|end| *end <= self.bytes.len());
        end.map(|end| self.bytes.slice(begin..end))
            .ok_or_else(|| std::io::ErrorKind::UnexpectedEof.into())
    }
}
