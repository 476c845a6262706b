//! Parquet files of strangers: looked at, read, and merged with a sound one.

use std::io::{self, Write};
use std::sync::Arc;

use baler_merge::{
    Asked, Budget, FileError, Input, MemoryFile, MergeError, MergeSpec, Output, OutputSink, RowHash,
    SortColumn, Unwatched, digest_of, inspect, merge,
};
use bytes::Bytes;

/// Files that claim more are sound perhaps, and take too long here.
const ROWS_MAX: u64 = 20_000;

const BUDGET: Budget = Budget {
    memory_bytes: 8 << 20,
    threads: 1,
};

/// A file. It is refused, or it holds the rows that its footer claims, however it is read.
pub fn parquet(data: &[u8]) {
    let input: Arc<dyn Input> = Arc::new(MemoryFile::new("fuzzed", Bytes::copy_from_slice(data)));
    let key = [SortColumn::ascending("key")];
    let asked = Asked {
        sort: &key,
        row_time: None,
        constants: &["key".to_owned()],
    };
    let Ok(facts) = inspect(&input, &asked) else {
        return;
    };
    if facts.rows > ROWS_MAX {
        return;
    }
    let read = digest_of(&input, RowHash::default(), BUDGET, &Unwatched);
    match &read {
        Ok((rows, _)) => assert_eq!(*rows, facts.rows, "rows were skipped in silence"),
        Err(FileError::Refused(_)) => {}
        Err(other) => panic!("a file in memory is not at fault for this: {other}"),
    }
    let has_key = facts.columns.iter().any(|column| column.name == "key");
    let sorts = if has_key { &key[..] } else { &[] };
    for (sort, decode_all) in [(sorts, true), (sorts, false), (&[], false)] {
        let spec = MergeSpec {
            sort: sort.to_vec(),
            decode_all,
            ..MergeSpec::default()
        };
        let merged = merge_alone(&input, &spec);
        match (merged, &read) {
            (Ok(rows), _) => assert_eq!(rows, facts.rows, "a merge lost rows"),
            (Err(MergeError::Input { culprits, .. }), _) => assert!(culprits.iter().all(|input| *input == 0)),
            // What cannot be read need not be named in one way only.
            (Err(_), Err(_)) => {}
            (Err(other), Ok(_)) => panic!("a file that can be read cannot be merged: {other}"),
        }
    }
}

/// The rows that come out.
fn merge_alone(input: &Arc<dyn Input>, spec: &MergeSpec) -> Result<u64, MergeError> {
    let inputs = [Arc::clone(input)];
    let spill = std::env::temp_dir();
    let report = merge(&inputs, spec, BUDGET, &spill, &mut Nowhere, &Unwatched)?;
    Ok(report.outputs.iter().map(|output| output.rows).sum())
}

/// Outputs that nobody reads.
struct Nowhere;

impl OutputSink for Nowhere {
    fn create(&mut self, _part: u32) -> io::Result<Box<dyn Output>> {
        Ok(Box::new(Nowhere))
    }
}

impl Write for Nowhere {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        Ok(bytes.len())
    }
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Output for Nowhere {
    fn finish(self: Box<Self>) -> io::Result<()> {
        Ok(())
    }
}
