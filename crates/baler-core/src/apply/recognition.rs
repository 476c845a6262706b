//! The files of a root that was copied are other versions than those that the journal wrote down, though their content is the
//! same. Whoever mends the journal knows which are.

use std::sync::Arc;

use imbl::OrdMap;

use crate::file::{File, FilePath, Identity};
use crate::garbage::Stage;
use crate::state::{State, Table};

/// Puts, for every version that the state names, the one that is there now: `now` says which has the same content, under the same
/// path. Where it says nothing, the state goes on naming what it did. What is on its way out is not asked for, but for what an undo
/// was bringing back.
pub fn recognise(state: &mut State, now: impl Fn(&FilePath, &Identity) -> Option<Identity>) {
    let rename = |path: &FilePath, identity: &mut Identity| {
        if let Some(now) = now(path, identity) {
            *identity = now;
        }
    };
    each(&mut state.tables, |_, table| in_table(table, &rename));
    each(&mut state.jobs, |_, job| {
        for input in &mut Arc::make_mut(job).inputs {
            in_file(input, &rename);
        }
    });
    each(&mut state.garbage, |aside, garbage| {
        let returning = garbage.stage == Stage::Returning;
        if let Some(original) = Arc::make_mut(garbage).original.as_mut().filter(|_| returning) {
            rename(aside, &mut original.identity);
        }
    });
}

fn in_table(table: &mut Table, rename: &impl Fn(&FilePath, &mut Identity)) {
    each(&mut table.files, |_, file| in_file(file, rename));
    each(&mut table.history, |_, left| {
        each(left, |_, file| in_file(file, rename))
    });
    each(&mut table.consumed, rename);
    each(&mut table.removed, |path, removed| {
        if let Some(identity) = &mut removed.consumed {
            rename(path, identity);
        }
    });
    each(&mut table.quarantine, |path, mark| {
        rename(path, &mut Arc::make_mut(mark).identity)
    });
    // Ages are counted from the times in identities.
    table.unsettle_all();
}

fn in_file(file: &mut Arc<File>, rename: &impl Fn(&FilePath, &mut Identity)) {
    let file = Arc::make_mut(file);
    rename(&file.path, &mut file.identity);
}

fn each<K: Ord + Clone, V: Clone>(map: &mut OrdMap<K, V>, change: impl Fn(&K, &mut V)) {
    let changed = map.iter().map(|(key, value)| {
        let mut value = value.clone();
        change(key, &mut value);
        (key.clone(), value)
    });
    *map = changed.collect();
}
