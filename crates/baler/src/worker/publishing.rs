//! Bringing a job's outputs to their final names. Done twice it is the same as done once, so whoever takes over a dead
//! worker's publishing simply does it again.

use anyhow::anyhow;
use baler_core::event::ReleaseReason;
use baler_core::file::Identity;
use baler_core::job::Job;
use baler_core::names::Attempt;
use baler_core::request::{Grant, Reply};
use baler_journal::steps::Step;

use super::Outcome;
use super::hands::Hands;
use super::memory::Loan;
use crate::depot::{Depot, DepotError, Publication, Staged};
use crate::desk::{DeskError, Held, Phase, Word};

pub(super) async fn publish(
    hands: &Hands,
    grant: &Grant,
    held: &Held,
    memory: &Loan,
) -> Result<Outcome, DeskError> {
    held.enter(Phase::Publishing);
    let published = tokio::select! {
        biased;
        published = publish_all(&hands.site.root, &grant.job, held) => published,
        // Outputs that are published already stay: whoever publishes next finds them.
        () = held.until_ended() => return stop(hands, grant).await,
    };
    let identities = match published {
        Ok(identities) => identities,
        Err(error) => return give_back(hands, grant, error.to_string()).await,
    };
    let word = Word::Publish {
        job: grant.job.id,
        token: grant.token,
        identities,
    };
    Step::Published.reached();
    let reply = hands.tell_last(word, memory).await?;
    Step::Committed.reached();
    match reply {
        Reply::Committed(summary) => Ok(Outcome::Committed(Box::new(summary))),
        Reply::JobCancelled(_) => Ok(Outcome::Cancelled),
        Reply::Refused(_) => Ok(Outcome::Released),
        other => Err(anyhow!("a publishing was answered {other:?}").into()),
    }
}

/// A lost lease is refused, and that is all right.
async fn stop(hands: &Hands, grant: &Grant) -> Result<Outcome, DeskError> {
    hands.desk.tell(release(grant, ReleaseReason::Stalled)).await?;
    Ok(Outcome::Released)
}

async fn give_back(hands: &Hands, grant: &Grant, error: String) -> Result<Outcome, DeskError> {
    let (why, outcome) = match hands.site.root {
        Depot::Folder(_) => (
            ReleaseReason::NodeFault(error.as_str().into()),
            Outcome::NodeFault(error),
        ),
        Depot::Bucket(_) => (
            ReleaseReason::StoreFault(error.as_str().into()),
            Outcome::StoreFault(error),
        ),
    };
    hands.desk.tell(release(grant, why)).await?;
    Ok(outcome)
}

fn release(grant: &Grant, why: ReleaseReason) -> Word {
    Word::Release {
        attempt: grant.attempt(),
        why,
        culprits: vec![],
    }
}

async fn publish_all(depot: &Depot, job: &Job, held: &Held) -> Result<Vec<Option<Identity>>, DepotError> {
    let mut identities = Vec::new();
    held.expect(job.outputs().map(|output| output.bytes).sum());
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
            Step::MidPublish.reached();
            held.worked_off(output.bytes);
            held.step();
        }
    }
    Ok(identities)
}
