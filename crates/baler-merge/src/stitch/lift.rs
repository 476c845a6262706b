//! Lifts pages of the sources into the column as they lie: data pages, dictionaries that are plain pages in disguise, and keys that
//! were kept as differences.

use super::Unfit;
use super::bench::Workbench;
use super::chunk::ReadChunk;
use super::draft::Draft;
use super::kept::Kept;
use super::write::{Origin, Writer};
use crate::pages::bounds::Bounds;
use crate::pages::chunk_writer::{PackedPage, PageFacts};
use crate::pages::codec::same_codec;
use crate::pages::header::{PageKind, PageStatistics};
use crate::pages::levels;
use crate::pages::open_page::unpack_body;
use crate::pages::raw::RawPage;
use crate::spec::Codec;
use parquet::basic::{Compression, Encoding};
use std::io;

impl Writer<'_> {
    /// Takes a page as it lies, or packed with another codec.
    pub(super) fn copy(
        &mut self,
        chunk: &ReadChunk,
        page: &RawPage,
        facts: &PageFacts,
        with: &mut Workbench,
    ) -> Result<(), Unfit> {
        self.flush().map_err(Unfit::Node)?;
        self.widen(chunk.bounds.as_ref().or(facts.bounds.as_ref()), facts);
        let nulls = facts.nulls;
        self.read.kind(&page.header.kind, page.header.unpacked, nulls);
        self.made.pass(facts.rows, nulls);
        let mut packed = PackedPage {
            kind: page.header.kind.clone(),
            unpacked: page.header.unpacked,
            body: vec![page.body.clone()],
            facts: facts.clone(),
        };
        if same_codec(chunk.compression, self.codec) {
            self.read.bytes(&page.body);
            self.origins.push(Origin::Copied { nulls });
        } else {
            let was_packed = !matches!(packed.kind, PageKind::V2 { is_packed: false, .. });
            self.repack(chunk.compression, page, &mut packed, with)?;
            self.origins.push(Origin::Repacked { nulls, was_packed });
        }
        self.chunk.packed_page(packed).map(drop).map_err(Unfit::Node)
    }

    /// Packs a page with the output's codec.
    fn repack(
        &mut self,
        compression: Compression,
        page: &RawPage,
        into: &mut PackedPage,
        with: &mut Workbench,
    ) -> Result<(), Unfit> {
        let (unpacker, scratch) = with.tools(compression)?;
        let (levels, values) = unpack_body(page, unpacker, scratch).map_err(Unfit::damaged)?;
        self.read.bytes(&page.body[..levels]);
        self.read.bytes(values);
        if let PageKind::V2 { is_packed, .. } = &mut into.kind {
            *is_packed = self.codec != Codec::None;
        }
        let packed = self.chunk.pack(values).map_err(Unfit::Node)?;
        into.body = vec![page.body.slice(..levels), packed.into()];
        Ok(())
    }

    /// Keys that were kept as differences are a page as they lie.
    pub(super) fn lift_kept(&mut self, kept: &Kept) -> io::Result<()> {
        self.flush()?;
        self.read
            .lifted(&kept.hash.to_le_bytes(), kept.plain_bytes(), kept.rows);
        self.read.lifted_rows(kept.rows, None);
        self.made.pass(kept.rows, 0);
        let [first, last] = &kept.ends;
        let facts = PageFacts {
            rows: kept.rows,
            bounds: self
                .order
                .map(|_| Bounds::exact(first.as_slice(), last.as_slice(), None)),
            ..PageFacts::default()
        };
        self.widen(facts.bounds.as_ref(), &facts);
        self.origins.push(Origin::Kept);
        let levels = (self.leaf.max_def_level() == 1).then(|| levels::encode_equal(kept.rows, true));
        let encoding = Encoding::DELTA_BINARY_PACKED;
        self.chunk
            .page(encoding, levels.as_deref(), &kept.differences, facts)
            .map(drop)
    }

    /// The dictionary of a chunk as a data page: levels lie apart from values in pages of the second kind.
    pub(super) fn retype(&mut self, chunk: &mut ReadChunk, with: &mut Workbench) -> Result<(), Unfit> {
        self.flush().map_err(Unfit::Node)?;
        // A dictionary that becomes a page as it lies need not be looked into, if its bounds are known.
        let bounds = match (chunk.bounds.clone(), self.order) {
            (None, Some(order)) => with
                .dictionary(chunk, self.layout)?
                .and_then(|values| values.bounds(order)),
            (told, _) => told,
        };
        let (Some(dictionary), Some(disguise)) = (&chunk.dictionary, &chunk.disguise) else {
            return Err(Unfit::Node(io::Error::other(
                "a column without a dictionary was to be retyped",
            )));
        };
        let (body, unpacked) = (&dictionary.page.body, dictionary.page.header.unpacked);
        self.read.lifted(body, unpacked, dictionary.count);
        let mut all = Draft::new(self.leaf.max_def_level() == 1);
        for (rows, validity) in &disguise.0 {
            self.read.lifted_rows(*rows, validity.as_ref());
            all.add_rows(*rows, validity.as_ref());
        }
        let levels = all.levels().unwrap_or_default();
        let facts = PageFacts {
            rows: all.rows,
            nulls: all.nulls,
            bounds,
            byte_array_bytes: self.byte_array_bytes(unpacked, dictionary.count),
        };
        self.widen(facts.bounds.as_ref(), &facts);
        self.origins.push(Origin::Retyped);
        self.made.pass(all.rows, all.nulls);
        let page = PackedPage {
            kind: PageKind::V2 {
                values: all.rows as u32,
                nulls: all.nulls as u32,
                rows: all.rows as u32,
                encoding: Encoding::PLAIN,
                level_bytes: levels.len(),
                repetition_bytes: 0,
                is_packed: self.codec != Codec::None,
                statistics: PageStatistics::default(),
            },
            unpacked: levels.len() + unpacked,
            body: vec![levels.into(), body.clone()],
            facts,
        };
        self.chunk.packed_page(page).map(drop).map_err(Unfit::Node)
    }
}
