//! Pages of indices that count up, one by one: those of a dictionary in disguise. Writers make the same pages in file after file, so
//! one that lies byte for byte as another did need not be opened to know what it holds.

use super::chunk::ReadChunk;
use crate::pages::header::PageKind;
use crate::pages::raw::RawPage;
use bytes::Bytes;
use parquet::basic::Compression;
use std::collections::VecDeque;

/// Pages that are remembered: those of a column chunk or two.
const PAGES_MAX: usize = 8;
/// A longer page is not remembered.
const PAGE_BYTES_MAX: usize = 128 << 10;

/// Pages that were opened, and count up without a null.
#[derive(Default)]
pub(super) struct Counting(VecDeque<Known>);

/// All that decides what a page holds.
#[derive(PartialEq, Eq)]
struct Known {
    first: u32,
    compression: Compression,
    nullable: bool,
    unpacked: usize,
    kind: PageKind,
    body: Bytes,
}

impl Known {
    fn of(chunk: &ReadChunk, page: &RawPage, first: u32) -> Self {
        Self {
            first,
            compression: chunk.compression,
            nullable: chunk.nullable,
            unpacked: page.header.unpacked,
            kind: page.header.kind.without_statistics(),
            body: page.body.clone(),
        }
    }
}

impl Counting {
    /// Whether a page is known to hold the numbers from `first` on, and no null.
    pub(super) fn knows(&self, chunk: &ReadChunk, page: &RawPage, first: u32) -> bool {
        !self.0.is_empty() && self.0.contains(&Known::of(chunk, page, first))
    }

    /// Remembers a page that does. Its bytes are copied, because they are a part of much longer ones.
    pub(super) fn remember(&mut self, chunk: &ReadChunk, page: &RawPage, first: u32) {
        if page.body.len() > PAGE_BYTES_MAX {
            return;
        }
        if self.0.len() == PAGES_MAX {
            self.0.pop_front();
        }
        self.0.push_back(Known {
            body: Bytes::copy_from_slice(&page.body),
            ..Known::of(chunk, page, first)
        });
    }
}

#[cfg(test)]
mod tests {
    use super::super::chunk::Part;
    use super::*;
    use crate::pages::header::{PageHeader, PageStatistics};
    use parquet::basic::Encoding;

    fn page(rows: u32, body: &[u8], nulls: Option<u64>) -> RawPage {
        RawPage {
            header: PageHeader {
                unpacked: 40,
                packed: body.len(),
                crc: None,
                kind: PageKind::V1 {
                    values: rows,
                    encoding: Encoding::RLE_DICTIONARY,
                    level_encoding: Encoding::RLE,
                    statistics: PageStatistics {
                        nulls,
                        ..PageStatistics::default()
                    },
                },
            },
            body: Bytes::copy_from_slice(body),
            length: body.len() + 20,
        }
    }

    fn chunk() -> ReadChunk {
        ReadChunk::of(Part::Nulls(0))
    }

    /// Trap: bytes that are the same stand for something else at another place, or packed otherwise.
    #[test]
    fn a_page_is_known_only_if_all_that_decides_is_the_same() {
        let mut counting = Counting::default();
        counting.remember(&chunk(), &page(9, b"body", None), 7);
        let knows = |chunk: &ReadChunk, page: &RawPage, first| counting.knows(chunk, page, first);
        assert!(knows(&chunk(), &page(9, b"body", None), 7));
        assert!(
            knows(&chunk(), &page(9, b"body", Some(0)), 7),
            "what a header tells of its values decides nothing"
        );
        assert!(!knows(&chunk(), &page(9, b"body", None), 0));
        assert!(!knows(&chunk(), &page(8, b"body", None), 7));
        assert!(!knows(&chunk(), &page(9, b"bodi", None), 7));
        let mut longer = page(9, b"body", None);
        longer.header.unpacked += 1;
        assert!(!knows(&chunk(), &longer, 7));
        let mut other = chunk();
        other.nullable = false;
        assert!(!knows(&other, &page(9, b"body", None), 7));
        let mut other = chunk();
        other.compression = Compression::SNAPPY;
        assert!(!knows(&other, &page(9, b"body", None), 7));
    }

    #[test]
    fn no_more_is_remembered_than_there_is_room_for() {
        let mut counting = Counting::default();
        let long = vec![1; PAGE_BYTES_MAX + 1];
        counting.remember(&chunk(), &page(9, &long, None), 0);
        assert!(!counting.knows(&chunk(), &page(9, &long, None), 0));
        for first in 0..=PAGES_MAX as u32 {
            counting.remember(&chunk(), &page(9, b"body", None), first);
        }
        assert!(
            !counting.knows(&chunk(), &page(9, b"body", None), 0),
            "the oldest went"
        );
        assert!(counting.knows(&chunk(), &page(9, b"body", None), PAGES_MAX as u32));
    }
}
