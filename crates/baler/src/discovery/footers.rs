//! A closer look at what a listing met: for new files, their footers.

use std::sync::Arc;

use baler_core::event::Quarantined;
use baler_core::file::{File, FilePath};
use baler_core::names;
use baler_merge::FileError;

use super::sorting::Sorted;
use crate::depot::{DataFile, Depot, DepotError, InputError};
use crate::report::NamedReason;
use crate::spec::{self, Asked};

/// A file after its footer was read, where that was due.
pub(super) enum Looked {
    Met(FilePath),
    New { file: Arc<File>, columns: Vec<String> },
    Bad(Quarantined),
    Young(FilePath),
    Skipped(NamedReason),
    Unknown(FilePath),
    Foreign(FilePath),
    Unreadable(String),
    Vanished,
}

pub(super) async fn look_closer(
    inbox: &Depot,
    asked: Arc<Asked>,
    sorted: Result<Sorted, DepotError>,
) -> Result<Looked, DepotError> {
    Ok(match sorted {
        Ok(Sorted::Fresh(file)) => return read_footer(inbox, &asked, file).await,
        Ok(Sorted::Known(file) | Sorted::Outside(file)) => Looked::Met(file.path),
        Ok(Sorted::Young(file)) => Looked::Young(file.path),
        Ok(Sorted::Unknown(file)) => Looked::Unknown(file.path),
        Ok(Sorted::Foreign(file)) => Looked::Foreign(file.path),
        Ok(Sorted::Skipped(skipped)) => Looked::Skipped(skipped),
        Err(error) if error.is_forbidden() => Looked::Unreadable(error.to_string()),
        Err(error) => return Err(error),
    })
}

async fn read_footer(inbox: &Depot, asked: &Arc<Asked>, found: DataFile) -> Result<Looked, DepotError> {
    let bad = |reason: String| {
        Looked::Bad(Quarantined {
            path: found.path.clone(),
            identity: found.identity.clone(),
            reason: reason.into(),
        })
    };
    let facts = match inbox.inspect(&found.path, &found.identity, asked).await {
        Ok(Ok(facts)) => facts,
        Ok(Err(FileError::Refused(reason))) => return Ok(bad(reason)),
        Ok(Err(FileError::Read(error))) => return Ok(bad(format!("could not be read: {error}"))),
        Ok(Err(FileError::Cancelled)) => return Ok(Looked::Vanished),
        Err(InputError::Gone { .. } | InputError::Changed { .. }) => return Ok(Looked::Vanished),
        Err(error @ InputError::Archived { .. }) => {
            return Ok(Looked::Skipped(NamedReason {
                path: found.path.to_string(),
                reason: error.to_string(),
            }));
        }
        Err(InputError::Failed(error)) if error.is_forbidden() => return Ok(bad(error.to_string())),
        Err(InputError::Failed(error)) => return Err(error),
    };
    let columns = facts.columns.iter().map(|column| column.name.clone()).collect();
    let partition = names::folder_partition(&found.path);
    let file = spec::foreign_file(found.path, found.identity, partition, &facts);
    Ok(Looked::New {
        file: Arc::new(file),
        columns,
    })
}
