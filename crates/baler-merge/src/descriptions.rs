//! What the files of a table say alike: their schema, and the words that they carry about themselves. It is most of a footer, so that
//! it is parsed once and kept once for all files that say the same; byte by byte the same, so nothing is taken for alike that is not.

use arrow::datatypes::SchemaRef;
use parquet::file::metadata::KeyValue;
use parquet::schema::types::SchemaDescPtr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// What a file says about its rows.
#[derive(Debug)]
pub(crate) struct Description {
    /// The schema as it lies in the footer.
    pub(crate) raw: Vec<u8>,
    /// The same, parsed.
    pub(crate) parquet: SchemaDescPtr,
    /// Words about the file, its Arrow schema among them.
    pub(crate) pairs: Option<Vec<KeyValue>>,
    /// The columns, in plain layout.
    pub(crate) schema: SchemaRef,
}

/// Those of the files that were opened last.
#[derive(Debug, Default)]
pub(crate) struct Descriptions(Mutex<Vec<Arc<Description>>>);

/// Tables have few schemas at a time.
const KEPT_MAX: usize = 16;

impl Descriptions {
    /// The schema that lies in a footer as these bytes, if it is known.
    pub(crate) fn schema(&self, raw: &[u8]) -> Option<SchemaDescPtr> {
        let known = self.known();
        let same = known.iter().find(|known| known.raw == raw)?;
        Some(Arc::clone(&same.parquet))
    }

    /// What is known of a file with this schema and these words.
    pub(crate) fn find(&self, raw: &[u8], pairs: Option<&Vec<KeyValue>>) -> Option<Arc<Description>> {
        let known = self.known();
        let same = |known: &&Arc<Description>| known.raw == raw && known.pairs.as_ref() == pairs;
        known.iter().find(same).cloned()
    }

    /// Remembers one more.
    pub(crate) fn add(&self, description: Description) -> Arc<Description> {
        let description = Arc::new(description);
        let mut known = self.known();
        if known.len() == KEPT_MAX {
            known.remove(0);
        }
        known.push(Arc::clone(&description));
        description
    }

    fn known(&self) -> MutexGuard<'_, Vec<Arc<Description>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
