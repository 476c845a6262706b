//! Files come and go.

use crate::file::{File, FilePath, Identity};
use crate::ids::TableName;
use crate::state::{State, Table};
use std::sync::Arc;

impl State {
    pub(super) fn table_mut(&mut self, name: &TableName) -> &mut Table {
        self.tables.get_mut(name).expect("events name tables that exist")
    }

    pub(super) fn add_files(&mut self, table: &TableName, files: &[Arc<File>]) {
        let added = self.sequence;
        for file in files {
            self.forget_overwritten(&file.path);
        }
        let table = self.table_mut(table);
        for file in files {
            table.forget_path(&file.path);
            table.quarantine.remove(&file.path);
            table.insert_file(Arc::new(File {
                added,
                ..File::clone(file)
            }));
        }
    }

    /// A replaced version that was overwritten is not there any more: not to be deleted, and not to be met again.
    fn forget_overwritten(&mut self, path: &FilePath) {
        let Some(garbage) = self.garbage.remove(path) else {
            return;
        };
        let original = garbage.original.as_ref();
        let consumed = original.map(|original| &original.identity);
        let table = self.table_mut(&garbage.table);
        if consumed.is_some() && table.consumed.get(path) == consumed {
            table.consumed.remove(path);
        }
    }

    pub(super) fn lose_files(&mut self, table: &TableName, paths: &[FilePath]) {
        let at = self.sequence;
        let table = self.table_mut(table);
        for path in paths {
            assert!(
                !table.held.contains_key(path),
                "a held file is let go only after its job ended"
            );
            let file = table.remove_file(path).expect("only live files are lost");
            table.retire(file, at);
            table.quarantine.remove(path);
            table.remember_removed(path.clone(), at, None);
        }
    }

    /// With an identity, only that version is forgotten: the path may have been consumed again since.
    pub(super) fn forget_consumed(
        &mut self,
        table: &TableName,
        path: &FilePath,
        identity: Option<&Identity>,
    ) {
        let at = self.sequence;
        let table = self.table_mut(table);
        let Some(consumed) = table.consumed.get(path) else {
            return;
        };
        if identity.is_some_and(|identity| identity != consumed) {
            return;
        }
        let consumed = table.consumed.remove(path);
        if !table.files.contains_key(path) {
            table.remember_removed(path.clone(), at, consumed);
        }
    }
}
