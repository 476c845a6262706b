//! The scratch table: a folder of its own below the place that the user named, and files of known rows in it. Nothing else is
//! ever written or deleted.

use std::collections::BTreeMap;
use std::sync::Arc;

use anyhow::{Context, Result, ensure};
use arrow::array::cast::AsArray;
use arrow::array::{Int64Array, RecordBatch, StringArray};
use arrow::datatypes::{DataType, Field, Int64Type, Schema};
use baler_journal::host;
use bytes::Bytes;
use futures::{StreamExt, TryStreamExt};
use object_store::local::LocalFileSystem;
use object_store::path::Path;
use object_store::{ObjectStore, ObjectStoreExt, PutPayload};
use parquet::arrow::ArrowWriter;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;

use crate::store::{Bucket, Location, Purpose};

/// Rows in each file.
const ROWS_A_FILE: u32 = 200;

/// Folders that files arrive in, by turns.
const FOLDERS: u32 = 4;

/// A place of its own.
#[derive(Debug)]
pub(super) struct Scratch {
    /// Where it is.
    pub(super) location: Location,
    objects: Arc<dyn ObjectStore>,
    files: u32,
}

impl Scratch {
    /// Makes one below this place. What is there already is never touched: a name that is taken is refused.
    pub(super) async fn make(below: &Location) -> Result<Self> {
        let name = format!("baler-chaos-{:016x}", host::chance());
        let location: Location = format!("{below}/{name}").parse()?;
        let objects: Arc<dyn ObjectStore> = match &location {
            Location::Local(path) => {
                std::fs::create_dir(path).with_context(|| format!("cannot make {}", path.display()))?;
                Arc::new(LocalFileSystem::new_with_prefix(path)?)
            }
            Location::Bucket(url) => Bucket::open(url)?.objects(Purpose::Output),
        };
        let scratch = Self {
            location,
            objects,
            files: 0,
        };
        ensure!(
            scratch.names().await?.is_empty(),
            "{} is not empty",
            scratch.location
        );
        Ok(scratch)
    }

    /// Files that were written.
    pub(super) fn files(&self) -> u32 {
        self.files
    }

    /// Rows that were written: numbered from 0.
    pub(super) fn rows(&self) -> u64 {
        u64::from(self.files) * u64::from(ROWS_A_FILE)
    }

    /// One more file arrives. Its rows count only once it is there.
    pub(super) async fn write(&mut self) -> Result<()> {
        let number = self.files;
        let path = Path::from(format!("part={}/file-{number:06}.parquet", number % FOLDERS));
        let bytes = file(number)?;
        self.objects.put(&path, PutPayload::from(bytes)).await?;
        self.files += 1;
        Ok(())
    }

    /// Everything that lies there.
    pub(super) async fn names(&self) -> Result<Vec<String>> {
        let listed = self.objects.list(None).map_ok(|meta| meta.location.to_string());
        Ok(listed.try_collect().await?)
    }

    /// How often each row is in the files that readers find.
    pub(super) async fn count(&self) -> Result<BTreeMap<i64, u64>> {
        let mut counted = BTreeMap::new();
        for name in self.names().await?.iter().filter(|name| is_data(name)) {
            let bytes = self
                .objects
                .get(&Path::from(name.as_str()))
                .await?
                .bytes()
                .await?;
            for id in ids(bytes).with_context(|| format!("cannot read {name}"))? {
                *counted.entry(id).or_default() += 1;
            }
        }
        Ok(counted)
    }

    /// Takes away all of it, and nothing else. Answers what is left.
    pub(super) async fn clear(&self) -> Result<u64> {
        if let Location::Local(path) = &self.location {
            std::fs::remove_dir_all(path)?;
            return Ok(0);
        }
        let names = self.names().await?;
        let paths = futures::stream::iter(names)
            .map(|name| Ok(Path::from(name)))
            .boxed();
        let deleted: Vec<_> = self.objects.delete_stream(paths).collect().await;
        tracing::debug!(objects = deleted.len(), "the scratch table was deleted");
        Ok(self.names().await?.len() as u64)
    }
}

/// What a reader's glob finds.
pub(super) fn is_data(name: &str) -> bool {
    let hidden = name.split('/').any(|part| part.starts_with(['_', '.']));
    !hidden && name.ends_with(".parquet")
}

fn file(number: u32) -> Result<Vec<u8>> {
    let first = i64::from(number) * i64::from(ROWS_A_FILE);
    let ids: Int64Array = (first..first + i64::from(ROWS_A_FILE)).map(Some).collect();
    let texts: StringArray = ids.values().iter().map(|id| Some(format!("row {id}"))).collect();
    let schema = Arc::new(Schema::new(vec![
        Field::new("id", DataType::Int64, false),
        Field::new("text", DataType::Utf8, false),
    ]));
    let batch = RecordBatch::try_new(schema.clone(), vec![Arc::new(ids), Arc::new(texts)])?;
    let mut bytes = Vec::new();
    let mut writer = ArrowWriter::try_new(&mut bytes, schema, None)?;
    writer.write(&batch)?;
    writer.close()?;
    Ok(bytes)
}

/// The rows of a file, each checked against its text.
fn ids(bytes: Bytes) -> Result<Vec<i64>> {
    let mut all = Vec::new();
    for batch in ParquetRecordBatchReaderBuilder::try_new(bytes)?.build()? {
        let batch = batch?;
        let ids = batch.column_by_name("id").context("no column id")?;
        let texts = batch.column_by_name("text").context("no column text")?;
        let (ids, texts) = (ids.as_primitive::<Int64Type>(), texts.as_string::<i32>());
        for (id, text) in ids.values().iter().zip(texts.iter()) {
            ensure!(text == Some(&format!("row {id}")), "row {id} says {text:?}");
            all.push(*id);
        }
    }
    Ok(all)
}
