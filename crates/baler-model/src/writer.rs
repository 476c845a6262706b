//! Writers add files, and add them again when they hear nothing. In a plain table a listing finds what was overwritten.

use std::sync::Arc;

use baler_core::file::{File, FilePath};
use baler_core::ids::Sequence;
use baler_core::{Reply, Request};

use crate::disk::{Object, Rows};
use crate::world::{TABLE, World, file_of, found};

/// What is still to be added.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Writer {
    pub(crate) late: Vec<Rows>,
}

impl World {
    pub(crate) fn writer_asks(&self) -> Option<Request> {
        let (evidence, files) = match self.writer.late.first() {
            // Whoever was not answered shows the same evidence again.
            Some(rows) => (Sequence(1), vec![file_of(0, *rows)]),
            None => (self.head.sequence(), self.unknown()),
        };
        (!files.is_empty()).then(|| Request::AddFiles {
            table: TABLE.into(),
            evidence,
            files,
        })
    }

    /// What a listing of a plain table finds that the table does not show.
    fn unknown(&self) -> Vec<Arc<File>> {
        let table = self.table();
        if !table.spec.catalog.publishes() {
            return Vec::new();
        }
        let known = |path: &FilePath, object: &Object| {
            let live = table.files.get(path).map(|file| &file.identity);
            live == Some(&object.identity) || table.consumed.get(path) == Some(&object.identity)
        };
        let foreign = self.disk.iter().filter(|(path, _)| !self.state().is_own(path));
        let new = foreign.filter(|(path, object)| !known(path, object));
        new.map(|(path, object)| found(path, object)).collect()
    }

    pub(crate) fn writer_hears(&mut self, reply: Reply) -> bool {
        let Reply::Added(added) = reply else {
            return false;
        };
        if !self.writer.late.is_empty() && added.added + added.known > 0 {
            self.heard.rows |= self.writer.late.remove(0);
            return true;
        }
        added.added > 0
    }
}
