//! Tables begin, change and go.

use crate::file::{File, FilePath};
use crate::garbage::Stage;
use crate::ids::TableName;
use crate::state::{State, Table};
use crate::table::TableSpec;
use std::sync::Arc;

impl State {
    pub(super) fn begin_table(&mut self, name: &TableName, spec: &Arc<TableSpec>) {
        let table = Table::new(spec.clone(), self.sequence);
        self.tables.insert(name.clone(), table);
    }

    /// What is known of the rows' times was read from the column of then: with another it is not known.
    pub(super) fn alter_table(&mut self, name: &TableName, spec: &Arc<TableSpec>) {
        let table = self.table_mut(name);
        let other_times = table.spec.merge.row_time != spec.merge.row_time;
        table.spec = spec.clone();
        table.unsettle_all();
        if other_times {
            let timed = table.files.values().filter(|file| file.times.is_some());
            let timed: Vec<Arc<File>> = timed.cloned().collect();
            for file in timed {
                let times = None;
                table.insert_file(Arc::new(File {
                    times,
                    ..File::clone(&file)
                }));
            }
        }
    }

    pub(super) fn expire_files(&mut self, name: &TableName, paths: &[FilePath]) {
        for path in paths {
            self.let_go(name, path);
        }
    }

    /// Its jobs ended by events of their own before this one.
    pub(super) fn drop_table(&mut self, name: &TableName) {
        let paths: Vec<FilePath> = self.tables[name].files.keys().cloned().collect();
        for path in &paths {
            self.let_go(name, path);
        }
        let at = self.sequence;
        let table = self.table_mut(name);
        table.quarantine = imbl::OrdMap::new();
        table.dropped = Some(at);
        self.forget_committed_of(name);
    }

    /// A live file of a native table goes on its way out. This version of it does not come back.
    fn let_go(&mut self, name: &TableName, path: &FilePath) {
        let at = self.sequence;
        let table = self.table_mut(name);
        assert!(
            !table.held.contains_key(path),
            "a held file is let go only after its job ended"
        );
        let file = table.remove_file(path).expect("only live files are let go");
        table.quarantine.remove(path);
        table.consumed.insert(path.clone(), file.identity.clone());
        table.remember_removed(path.clone(), at, None);
        table.retire(file.clone(), at);
        self.discard(name, &file, path.clone(), Stage::Waiting);
    }
}
