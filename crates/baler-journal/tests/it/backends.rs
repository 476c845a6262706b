//! Every backend runs the whole suite.

use std::sync::Arc;

use baler_journal::conformance::{BLOCK, Site};
use baler_journal::store::{FaultyStore, LocalStore, MemoryStore, Store};
use baler_journal::{Journal, MemoryJournal, ObjectLog, journal_conformance, store_conformance};

fn memory() -> Site {
    let journal: Arc<dyn Journal> = Arc::new(MemoryJournal::with_block(BLOCK));
    Site::new(move |_| {
        let journal = journal.clone();
        Box::pin(async move { Ok(journal) })
    })
}

fn object_log(store: Arc<dyn Store>) -> Site {
    let store = Arc::new(FaultyStore::new(store));
    let faults = store.clone();
    let open = move |access| {
        let store = store.clone();
        let opening = async move {
            let log = ObjectLog::open(store, access).await?.with_block(BLOCK);
            Ok(Arc::new(log) as Arc<dyn Journal>)
        };
        Box::pin(opening) as _
    };
    Site::new(open).with_faults(faults)
}

fn in_memory_store() -> Site {
    object_log(Arc::new(MemoryStore::default()))
}

/// The directory is left to the operating system's cleaning: a site outlives no test, but knows not when it ends.
fn in_directory() -> Site {
    let directory = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap().keep();
    object_log(Arc::new(LocalStore::open(directory).unwrap()))
}

journal_conformance!(memory_journal, memory());
journal_conformance!(object_log_in_memory, in_memory_store());
store_conformance!(object_log_in_memory_faults, in_memory_store());
journal_conformance!(object_log_in_directory, in_directory());
store_conformance!(object_log_in_directory_faults, in_directory());
