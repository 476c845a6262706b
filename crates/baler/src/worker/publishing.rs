//! Bringing a job's outputs to their final names. Done twice it is the same as done once, so whoever takes over a dead
//! worker's publishing simply does it again.

use anyhow::{Result, anyhow};
use baler_core::event::ReleaseReason;
use baler_core::file::Identity;
use baler_core::names::Attempt;
use baler_core::request::{Grant, Reply, Request};

use super::Outcome;
use crate::depot::{Depot, DepotError, Publication, Staged};
use crate::root::Root;

pub(super) async fn publish(root: &Root, grant: &Grant) -> Result<Outcome> {
    let identities = match publish_all(&root.site.root, &grant.job).await {
        Ok(identities) => identities,
        Err(error) => return give_back(root, grant, error.to_string()).await,
    };
    let request = Request::Publish {
        job: grant.job.id,
        token: grant.token,
        identities,
    };
    match root.replica.submit(request).await? {
        Reply::Committed(summary) => Ok(Outcome::Committed(summary)),
        Reply::JobCancelled(_) => Ok(Outcome::Cancelled),
        Reply::Refused(_) => Ok(Outcome::Released),
        other => Err(anyhow!("a publishing was answered {other:?}")),
    }
}

async fn give_back(root: &Root, grant: &Grant, error: String) -> Result<Outcome> {
    let (why, outcome) = match root.site.root {
        Depot::Folder(_) => (
            ReleaseReason::NodeFault(error.as_str().into()),
            Outcome::NodeFault(error),
        ),
        Depot::Bucket(_) => (
            ReleaseReason::StoreFault(error.as_str().into()),
            Outcome::StoreFault(error),
        ),
    };
    let request = Request::Release {
        attempt: grant.attempt(),
        why,
        culprits: vec![],
    };
    root.replica.submit(request).await?;
    Ok(outcome)
}

async fn publish_all(depot: &Depot, job: &baler_core::job::Job) -> Result<Vec<Option<Identity>>, DepotError> {
    let mut identities = Vec::new();
    for (range, finished) in job.finished() {
        let attempt = Attempt {
            job: job.id,
            range,
            token: finished.token,
        };
        for output in &finished.outputs {
            let staged = Staged {
                path: attempt.staged(output.part),
                bytes: output.bytes,
                checksum: output.checksum,
            };
            identities.push(match depot.publish(&staged, &output.path).await? {
                Publication::Published { identity } => Some(identity),
                Publication::Missing => None,
            });
        }
    }
    Ok(identities)
}
