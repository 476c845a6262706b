//! SeaweedFS: a real S3 server, in one process.

use std::path::Path;
use std::process::Command;
use std::sync::atomic::{AtomicU64, Ordering};

use anyhow::Result;
use tokio::sync::OnceCell;

use crate::ports;
use crate::s3::{ACCESS_KEY, S3, SECRET_KEY};
use crate::server::{Server, installed};

/// A SeaweedFS server of this process.
#[derive(Debug)]
pub struct Seaweed {
    server: Server,
    s3: S3,
    buckets: AtomicU64,
}

impl Seaweed {
    /// Starts a server that keeps its data in this directory; `None`, with a line that says so, where it is not
    /// installed.
    pub async fn start(directory: &Path) -> Result<Option<Self>> {
        let Some(new) = Self::prepare(directory)? else {
            return Ok(None);
        };
        new.restart().await?;
        Ok(Some(new))
    }

    /// One whose directory goes when it does.
    async fn start_for_all() -> Result<Option<Self>> {
        let directory = tempfile::tempdir()?;
        let Some(mut new) = Self::prepare(directory.path())? else {
            return Ok(None);
        };
        new.server.sweep(directory.keep());
        new.restart().await?;
        Ok(Some(new))
    }

    fn prepare(directory: &Path) -> Result<Option<Self>> {
        let Some(weed) = installed("BALER_SEAWEED") else {
            return Ok(None);
        };
        let [master, volume, filer, s3] = ports::free()?;
        let keys = directory.join("s3.json");
        std::fs::write(&keys, identities())?;
        let mut command = Command::new(weed);
        command.args(["-logtostderr", "server", "-ip=127.0.0.1", "-ip.bind=127.0.0.1"]);
        command.arg(format!("-dir={}", directory.display()));
        command.args([format!("-master.port={master}"), format!("-volume.port={volume}")]);
        command.args(["-master.telemetry=false", "-master.electionTimeout=1s"]);
        command.args([
            "-master.heartbeatInterval=200ms",
            "-master.volumeSizeLimitMB=1024",
        ]);
        // Each bucket takes volumes of its own: one each, and enough of them.
        command
            .env("WEED_MASTER_VOLUME_GROWTH_COPY_1", "1")
            .arg("-volume.max=1000");
        command.args(["-filer".to_owned(), format!("-filer.port={filer}")]);
        command.args(["-s3".to_owned(), format!("-s3.port={s3}")]);
        command.arg(format!("-s3.config={}", keys.display()));
        command.args(["-s3.port.iceberg=0", "-s3.port.lance=0"]);
        Ok(Some(Self {
            server: Server::new(command, directory.join("log.txt")),
            s3: S3::on_port(s3),
            buckets: AtomicU64::new(0),
        }))
    }

    /// How to reach it.
    pub fn s3(&self) -> &S3 {
        &self.s3
    }

    /// Makes a bucket that nobody else uses.
    pub async fn new_bucket(&self) -> Result<String> {
        let bucket = format!("bucket-{}", self.buckets.fetch_add(1, Ordering::Relaxed));
        self.s3.create_bucket(&bucket).await?;
        Ok(bucket)
    }

    /// SIGKILL; it is gone when this returns.
    pub fn kill(&self) {
        self.server.kill();
    }

    /// Starts it again, on the same directory and ports, after `kill`.
    pub async fn restart(&self) -> Result<()> {
        self.server
            .start(async || self.new_bucket().await.map(drop))
            .await
    }

    /// Its process, while it runs.
    pub fn pid(&self) -> Option<u32> {
        self.server.pid()
    }
}

fn identities() -> String {
    format!(
        r#"{{"identities":[{{"name":"test","credentials":[{{"accessKey":"{ACCESS_KEY}","secretKey":"{SECRET_KEY}"}}],
"actions":["Admin","Read","Write","List","Tagging"]}}]}}"#
    )
}

/// The server that all tests of this process share, each in a bucket of its own. It ends with the process.
pub async fn shared_seaweed() -> Option<&'static Seaweed> {
    static SHARED: OnceCell<Option<Seaweed>> = OnceCell::const_new();
    let start = async || Seaweed::start_for_all().await.expect("SeaweedFS starts");
    SHARED.get_or_init(start).await.as_ref()
}
