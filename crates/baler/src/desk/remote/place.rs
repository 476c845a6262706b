//! Who a worker of coordinators is, and where it finds the files.

use anyhow::{Result, bail};
use baler_core::ids::WorkerId;

use super::RemoteDesk;
use crate::desk::Desk;
use crate::root::Root;
use crate::site::Site;
use crate::store::Location;

impl RemoteDesk {
    /// Where the files lie, as this machine sees it: at `root`, or where the coordinator finds them. In another place a worker
    /// would miss every input, and report them as gone: so the journal there must be the coordinator's.
    pub async fn find_site(&self, root: Option<&Location>) -> Result<Site> {
        let hello = self.hello();
        let location = match root {
            Some(root) => root.clone(),
            None => hello.root.parse()?,
        };
        let root = Root::open_to_merge(&location, hello.outputs.clone()).await?;
        if root.journal()? != self.journal() {
            bail!(
                "{location} is not the root of this coordinator: its journal is another. Give --root, with the place where this \
                 machine finds {}",
                hello.root
            );
        }
        Ok(root.site)
    }
}

/// A name for a worker, for people: ownership is proved by token alone.
pub fn worker_name() -> WorkerId {
    let host = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    let host = host.trim();
    let unique = baler_journal::host::chance() as u32;
    WorkerId(format!("{host}-{}-{unique:08x}", std::process::id()).into())
}
