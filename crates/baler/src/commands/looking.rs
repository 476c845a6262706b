//! How a root stands, as its journal says, or as a coordinator does.

use std::path::Path;

use anyhow::Result;
use baler_core::ids::{JobId, TableName};

use crate::cli::LookAt;
#[cfg(feature = "http")]
use crate::desk::Client;
use crate::receipts::{Receipt, Receipts, Wanted};
use crate::report::{Heard, Jobs, Status};
use crate::root::Root;
use crate::settings::Usage;

/// Who is asked.
pub(super) enum View {
    /// The journal.
    Root(Box<Root>),
    /// A coordinator.
    #[cfg(feature = "http")]
    Coordinator(Client),
}

impl View {
    pub(super) async fn open(at: &LookAt, token_file: Option<&Path>) -> Result<Self> {
        match at {
            LookAt::Root(_) if token_file.is_some() => {
                Err(Usage("--token-file is for coordinators, named like http://host:7070".to_owned()).into())
            }
            LookAt::Root(root) => Ok(Self::Root(Box::new(Root::open_to_read(root).await?))),
            #[cfg(feature = "http")]
            LookAt::Coordinator(url) => {
                let bearer = token_file.map(crate::api::Bearer::read).transpose()?;
                let token = bearer.as_ref().map(crate::api::Bearer::token);
                Ok(Self::Coordinator(Client::new(url, token)?))
            }
            #[cfg(not(feature = "http"))]
            LookAt::Coordinator(url) => Err(Usage(format!(
                "{url}: this program was built without HTTP. Name the root itself"
            ))
            .into()),
        }
    }

    pub(super) async fn status(&self, only: Option<&TableName>) -> Result<Status> {
        match self {
            Self::Root(root) => {
                root.replica.catch_up().await?;
                Status::of(root, only, &Heard::default())
            }
            #[cfg(feature = "http")]
            Self::Coordinator(client) => Ok(client.look(&path("/v1/status", only)).await?),
        }
    }

    pub(super) async fn jobs(&self, only: Option<&TableName>) -> Result<Jobs> {
        match self {
            Self::Root(root) => {
                root.replica.catch_up().await?;
                Jobs::of(root, only, &Heard::default())
            }
            #[cfg(feature = "http")]
            Self::Coordinator(client) => Ok(client.look(&path("/v1/jobs", only)).await?),
        }
    }
}

impl View {
    pub(super) async fn receipt(&self, job: JobId) -> Result<Option<Receipt>> {
        match self {
            Self::Root(root) => Receipts::of(root)?.get(job).await,
            #[cfg(feature = "http")]
            Self::Coordinator(client) => Ok(client.look(&format!("/v1/receipts/{job}")).await?),
        }
    }

    pub(super) async fn receipts(&self, wanted: &Wanted) -> Result<(Vec<Receipt>, usize)> {
        match self {
            Self::Root(root) => Receipts::of(root)?.find(wanted).await,
            #[cfg(feature = "http")]
            Self::Coordinator(client) => {
                let path = path("/v1/receipts", wanted.table.as_ref());
                let mark = if path.contains('?') { '&' } else { '?' };
                let path = match wanted.since {
                    Some(since) => format!("{path}{mark}since_ms={}", since.as_millis()),
                    None => path,
                };
                Ok(client.look(&path).await?)
            }
        }
    }
}

/// Names of tables are plain: there is nothing to escape.
#[cfg(feature = "http")]
fn path(path: &str, only: Option<&TableName>) -> String {
    match only {
        Some(table) => format!("{path}?table={table}"),
        None => path.to_owned(),
    }
}
