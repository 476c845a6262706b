//! How far compaction is behind, for writers who slow down when it is.

use crate::file::Level;
use crate::ids::TableName;
use crate::state::{State, Table};
use crate::time::Millis;

/// What waits in a table. Nothing of it is a promise: two looks at one state say the same, a later state says what it says.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Pressure {
    /// Files of level 0 that will be merged, those that are being merged among them.
    pub files: u64,
    /// Their bytes.
    pub bytes: u64,
    /// How long the oldest of them has been there, by the store's clock as far as the journal has carried it.
    pub oldest_wait: Millis,
    /// Jobs that are planned, running or to be committed.
    pub jobs: usize,
}

/// The pressure in a table; none in one that does not exist. Bad files, and those that are left alone on purpose, press
/// nobody: a writer who waits for them to go would wait for ever. It costs a look at every live file.
pub fn pressure(state: &State, name: &TableName) -> Pressure {
    let Some(table) = state.tables.get(name) else {
        return Pressure::default();
    };
    let jobs = state.jobs.values().filter(|job| job.table == *name).count();
    let waiting = table.files.values().filter(|file| file.level == Level(0));
    let waiting = waiting.filter(|file| {
        let left_alone = table.put_off.get(&file.path);
        let left_alone = left_alone.is_some_and(|put_off| state.is_put_off(put_off));
        !left_alone && !is_bad(table, file)
    });
    waiting.fold(
        Pressure {
            jobs,
            ..Pressure::default()
        },
        |sum, file| {
            let wait = state.began(file.added).map(|began| state.time.since(began));
            Pressure {
                files: sum.files + 1,
                bytes: sum.bytes.saturating_add(file.bytes()),
                oldest_wait: sum.oldest_wait.max(wait.unwrap_or(Millis(0))),
                jobs,
            }
        },
    )
}

fn is_bad(table: &Table, file: &crate::file::File) -> bool {
    table.is_quarantined(&file.path, &file.identity)
}
