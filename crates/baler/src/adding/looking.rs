//! What a named file is: there or not, known or new, readable or not.

use std::sync::Arc;

use baler_core::file::{File, FilePath, Identity};
use baler_core::state::Table;
use baler_merge::FileError;

use super::partition;
use crate::depot::{Depot, InputError};
use crate::report::NamedReason;
use crate::spec::{self, Asked};

/// Looks at files for one table.
pub(super) struct Looking<'a> {
    depot: &'a Depot,
    table: &'a Table,
    asked: Arc<Asked>,
}

/// What a named file is.
pub(super) enum Looked {
    /// To be offered.
    Fresh { file: Arc<File>, columns: Vec<String> },
    /// The table has this very version, or has compacted it.
    Known,
    /// Not to be taken.
    Bad(NamedReason),
}

impl<'a> Looking<'a> {
    pub(super) fn new(depot: &'a Depot, table: &'a Table) -> Self {
        Self {
            depot,
            table,
            asked: Arc::new(Asked::for_table(&table.spec)),
        }
    }

    pub(super) async fn look_at(&self, path: FilePath) -> Looked {
        match self.look_closer(&path).await {
            Ok(looked) => looked,
            Err(reason) => Looked::Bad(NamedReason {
                path: path.to_string(),
                reason,
            }),
        }
    }

    async fn look_closer(&self, path: &FilePath) -> Result<Looked, String> {
        let now = self
            .depot
            .identity_now(path)
            .await
            .map_err(|error| error.to_string())?;
        let identity = now.ok_or("there is no such file")?;
        if self.is_known(path, &identity) {
            return Ok(Looked::Known);
        }
        if let Some(mark) = self
            .table
            .quarantine
            .get(path)
            .filter(|mark| mark.identity == identity)
        {
            return Err(format!(
                "quarantined: {}; `baler retry` lifts the mark",
                mark.reason
            ));
        }
        let facts = self.depot.inspect(path, &identity, &self.asked).await;
        let facts = facts
            .map_err(|error| in_words(&error))?
            .map_err(|error| match error {
                FileError::Refused(reason) => reason,
                FileError::Read(error) => format!("could not be read: {error}"),
                FileError::Cancelled => "reading it was cut short".to_owned(),
            })?;
        let columns = facts.columns.iter().map(|column| column.name.clone()).collect();
        let partition = partition::of(&self.table.spec, path, &facts)?;
        Ok(Looked::Fresh {
            file: Arc::new(spec::foreign_file(path.clone(), identity, partition, &facts)),
            columns,
        })
    }

    fn is_known(&self, path: &FilePath, identity: &Identity) -> bool {
        let live = self.table.files.get(path);
        live.is_some_and(|file| file.identity == *identity) || self.table.is_consumed(path, identity)
    }
}

fn in_words(error: &InputError) -> String {
    match error {
        InputError::Gone { .. } => "there is no such file".to_owned(),
        InputError::Changed { .. } => "it is being written: add it when it is whole".to_owned(),
        other => other.to_string(),
    }
}
