//! Azurite: Azure's emulator, which has Azure's conditions, errors and ETags. After SIGKILL it has lost what it had
//! not flushed, so nothing about durability is tested on it.

use std::path::Path;
use std::process::Command;
use std::sync::atomic::{AtomicU64, Ordering};

use anyhow::Result;
use tokio::sync::OnceCell;

use crate::azure::Azure;
use crate::ports;
use crate::server::{Server, installed};

/// An Azurite server of this process.
#[derive(Debug)]
pub struct Azurite {
    server: Server,
    azure: Azure,
    containers: AtomicU64,
}

impl Azurite {
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
        let Some(main) = installed("BALER_AZURITE") else {
            return Ok(None);
        };
        let [port] = ports::free()?;
        let node = std::env::var_os("BALER_NODE").unwrap_or_else(|| "node".into());
        let mut command = Command::new(node);
        command.arg(main).arg("--location").arg(directory);
        command.args(["--blobHost", "127.0.0.1", "--blobPort", &port.to_string()]);
        command.args(["--silent", "--disableTelemetry", "--skipApiVersionCheck"]);
        Ok(Some(Self {
            server: Server::new(command, directory.join("log.txt")),
            azure: Azure::on_port(port),
            containers: AtomicU64::new(0),
        }))
    }

    /// How to reach it.
    pub fn azure(&self) -> &Azure {
        &self.azure
    }

    /// Makes a container that nobody else uses.
    pub async fn new_container(&self) -> Result<String> {
        let container = format!("container-{}", self.containers.fetch_add(1, Ordering::Relaxed));
        self.azure.create_container(&container).await?;
        Ok(container)
    }

    /// SIGKILL; it is gone when this returns.
    pub fn kill(&self) {
        self.server.kill();
    }

    /// Starts it again, on the same directory and port, after `kill`.
    pub async fn restart(&self) -> Result<()> {
        self.server
            .start(async || self.new_container().await.map(drop))
            .await
    }

    /// Its process, while it runs.
    pub fn pid(&self) -> Option<u32> {
        self.server.pid()
    }
}

/// The server that all tests of this process share, each in a container of its own. It ends with the process.
pub async fn shared_azurite() -> Option<&'static Azurite> {
    static SHARED: OnceCell<Option<Azurite>> = OnceCell::const_new();
    let start = async || Azurite::start_for_all().await.expect("Azurite starts");
    SHARED.get_or_init(start).await.as_ref()
}
