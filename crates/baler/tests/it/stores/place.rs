//! A place to compact: a directory, or a bucket on a real server. Files are written and read here with a client of the
//! test's own, so that nothing that Baler believes of a place is taken for true.

use std::collections::BTreeMap;
use std::path::Path as FilePath;
use std::process::{Command, Stdio};
use std::sync::Arc;

use baler_journal::store::{ObjectStoreStore, Store};
use baler_teststores::{S3, shared_azurite, shared_seaweed};
use bytes::Bytes;
use futures::TryStreamExt;
use object_store::local::LocalFileSystem;
use object_store::path::Path;
use object_store::prefix::PrefixStore;
use object_store::{ObjectStore, ObjectStoreExt, PutPayload};
use tempfile::TempDir;

use crate::support::{Ended, ended, parquet_of, rows_in, soaking};

/// What a journal consists of, below its root, and what it leaves in writing.
const JOURNAL: [&str; 7] = [
    "journal",
    "snapshots",
    "boundary",
    "probed",
    "format",
    "receipts",
    "home",
];

/// A place to compact.
pub(super) struct Place {
    pub(super) name: &'static str,
    base: String,
    env: Vec<(&'static str, String)>,
    objects: Arc<dyn ObjectStore>,
    /// Where commands are run; on a directory, also what is compacted.
    dir: TempDir,
}

impl Place {
    pub(super) fn directory() -> Self {
        let dir = TempDir::new().unwrap();
        Self {
            name: "directory",
            base: dir.path().to_str().unwrap().to_owned(),
            env: Vec::new(),
            objects: Arc::new(LocalFileSystem::new_with_prefix(dir.path()).unwrap()),
            dir,
        }
    }

    /// A new bucket on the server that all stories share; `None` where it is not installed.
    pub(super) async fn seaweed() -> Option<Self> {
        let server = shared_seaweed().await?;
        let bucket = server.new_bucket().await.unwrap();
        Some(Self::in_bucket("SeaweedFS", server.s3(), &bucket))
    }

    /// A bucket of an S3 server, which may be a proxy.
    pub(super) fn in_bucket(name: &'static str, s3: &S3, bucket: &str) -> Self {
        Self {
            name,
            base: format!("s3://{bucket}"),
            env: s3.env().into(),
            objects: s3.client(bucket),
            dir: TempDir::new().unwrap(),
        }
    }

    /// A new container on the server that all stories share; `None` where it is not installed.
    pub(super) async fn azurite() -> Option<Self> {
        let server = shared_azurite().await?;
        let container = server.new_container().await.unwrap();
        Some(Self {
            name: "Azurite",
            base: format!("az://{container}"),
            env: server.azure().env().into(),
            objects: server.azure().client(&container),
            dir: TempDir::new().unwrap(),
        })
    }

    /// The same; `None` but in a soak.
    pub(super) async fn azurite_in_a_soak() -> Option<Self> {
        match soaking() {
            true => Self::azurite().await,
            false => None,
        }
    }

    /// Where the bucket or directory itself is.
    pub(super) fn base(&self) -> &str {
        &self.base
    }

    /// A root here, as the command line names it.
    pub(super) fn at(&self, root: &str) -> String {
        format!("{}/{root}", self.base)
    }

    /// A folder of this machine that goes with the place.
    pub(super) fn folder(&self) -> &FilePath {
        self.dir.path()
    }

    /// What a journal below this root is kept in.
    pub(super) fn journal_store(&self, root: &str) -> Arc<dyn Store> {
        let objects = PrefixStore::new(self.objects.clone(), root);
        Arc::new(ObjectStoreStore::new(self.base.clone(), Arc::new(objects)))
    }

    pub(super) async fn put(&self, path: &str, bytes: Vec<u8>) {
        let path = Path::from(path);
        self.objects.put(&path, PutPayload::from(bytes)).await.unwrap();
    }

    pub(super) async fn write(&self, path: &str, rows: &[(i64, i64, &str)]) {
        self.put(path, parquet_of(rows)).await;
    }

    /// Folders of small files whose keys overlap.
    pub(super) async fn write_many(&self, root: &str, folders: i64, files: i64, rows: i64) {
        for folder in 0..folders {
            for file in 0..files {
                let rows: Vec<(i64, i64, &str)> = (0..rows)
                    .map(|row| (row * files + file, folder, "some text"))
                    .collect();
                let path = format!("{root}/day={folder:02}/part-{file:04}.parquet");
                self.write(&path, &rows).await;
            }
        }
    }

    pub(super) async fn get(&self, path: &str) -> Option<Bytes> {
        match self.objects.get(&Path::from(path)).await {
            Ok(found) => Some(found.bytes().await.unwrap()),
            Err(object_store::Error::NotFound { .. }) => None,
            Err(error) => panic!("{path}: {error}"),
        }
    }

    /// Begins an upload in parts, and never completes it.
    pub(super) async fn begin_upload(&self, path: &str) {
        let mut upload = self.objects.put_multipart(&Path::from(path)).await.unwrap();
        upload.put_part(PutPayload::from(vec![7; 1000])).await.unwrap();
    }

    pub(super) async fn delete(&self, path: &str) {
        self.objects.delete(&Path::from(path)).await.unwrap();
    }

    /// Everything below a folder, counted from there.
    pub(super) async fn names(&self, folder: &str) -> Vec<String> {
        let listed = self.objects.list(Some(&Path::from(folder)));
        let prefix = format!("{folder}/");
        let name =
            |meta: object_store::ObjectMeta| meta.location.as_ref().strip_prefix(&prefix).map(str::to_owned);
        let mut names: Vec<String> = listed
            .try_filter_map(|meta| futures::future::ready(Ok(name(meta))))
            .try_collect()
            .await
            .unwrap();
        names.sort();
        names
    }

    /// What `ls *.parquet` in every folder shows.
    pub(super) async fn data_files(&self, root: &str) -> Vec<String> {
        let names = self.names(root).await.into_iter();
        let is_data = |name: &String| {
            let hidden = name.split('/').any(|part| part.starts_with(['_', '.']));
            !hidden && name.ends_with(".parquet")
        };
        names.filter(is_data).collect()
    }

    /// All rows of all data files, each with how often it is there.
    pub(super) async fn rows(&self, root: &str) -> BTreeMap<String, u64> {
        let mut counted = BTreeMap::new();
        for name in self.data_files(root).await {
            let path = format!("{root}/{name}");
            let bytes = self.get(&path).await.unwrap_or_else(|| panic!("{path} is gone"));
            for row in rows_in(bytes) {
                *counted.entry(row).or_default() += 1;
            }
        }
        counted
    }

    /// Below the root there is nothing but live files and the journal.
    pub(super) async fn assert_no_orphans(&self, root: &str) {
        let live = self.live(root);
        for name in self.names(root).await {
            let of_journal = JOURNAL
                .iter()
                .any(|part| name.starts_with(&format!("_baler/{part}/")) && !name.contains('#'));
            assert!(
                of_journal || live.contains(&name),
                "{}: {name} is an orphan",
                self.name
            );
        }
    }

    /// What `baler files` lists.
    pub(super) fn live(&self, root: &str) -> Vec<String> {
        let files = self.baler(&["files", &self.at(root), "--json"]);
        assert_eq!(files.code, 0, "{files:?}");
        let path = |line: &str| {
            let file: serde_json::Value = serde_json::from_str(line).unwrap();
            file["path"].as_str().unwrap().to_owned()
        };
        files.stdout.lines().map(path).collect()
    }

    pub(super) fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_baler"));
        command.args(args).current_dir(self.dir.path());
        command.envs(self.env.iter().map(|(name, value)| (name, value)));
        command
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        command
    }

    pub(super) fn baler(&self, args: &[&str]) -> Ended {
        ended(self.command(args).output().unwrap())
    }

    /// `compact` of a root here, with what is young taken as settled.
    pub(super) fn compact(&self, root: &str, args: &[&str]) -> Ended {
        ended(self.compact_command(root, args).output().unwrap())
    }

    pub(super) fn compact_command(&self, root: &str, args: &[&str]) -> Command {
        let root = self.at(root);
        let begin = ["compact", &root, "--settle", "0s", "--json"];
        self.command(&[&begin, args].concat())
    }
}
