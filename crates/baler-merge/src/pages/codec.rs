//! Packs and unpacks pages. Contexts are kept, because making one costs more than packing a small page.

use crate::spec::Codec;
use parquet::basic::{Compression, ZstdLevel};
use std::io;

/// What a footer calls the codec of a spec.
pub(crate) fn compression_of(codec: Codec) -> io::Result<Compression> {
    Ok(match codec {
        Codec::Zstd(level) => Compression::ZSTD(ZstdLevel::try_new(level).map_err(io::Error::other)?),
        Codec::Snappy => Compression::SNAPPY,
        Codec::Lz4 => Compression::LZ4_RAW,
        Codec::None => Compression::UNCOMPRESSED,
    })
}

/// Whether pages packed as `found` can stand in a chunk of `codec`; the level does not matter.
pub(crate) fn same_codec(found: Compression, codec: Codec) -> bool {
    matches!(
        (found, codec),
        (Compression::ZSTD(_), Codec::Zstd(_))
            | (Compression::SNAPPY, Codec::Snappy)
            | (Compression::LZ4_RAW, Codec::Lz4)
            | (Compression::UNCOMPRESSED, Codec::None)
    )
}

/// Whether pages of this codec can be unpacked here; others are left to the decoder of whole columns.
pub(crate) fn is_known(compression: Compression) -> bool {
    matches!(
        compression,
        Compression::ZSTD(_) | Compression::SNAPPY | Compression::LZ4_RAW | Compression::UNCOMPRESSED
    )
}

/// Packs pages with one codec.
pub(crate) enum Packer {
    /// With room for the longest that a page may become.
    Zstd(zstd::bulk::Compressor<'static>, Vec<u8>),
    Snappy(Box<snap::raw::Encoder>),
    Lz4,
    None,
}

impl Packer {
    pub(crate) fn new(codec: Codec) -> io::Result<Self> {
        Ok(match codec {
            Codec::Zstd(level) => Packer::Zstd(zstd::bulk::Compressor::new(level)?, Vec::new()),
            Codec::Snappy => Packer::Snappy(Box::new(snap::raw::Encoder::new())),
            Codec::Lz4 => Packer::Lz4,
            Codec::None => Packer::None,
        })
    }

    /// `bytes`, packed.
    pub(crate) fn pack(&mut self, bytes: &[u8]) -> io::Result<Vec<u8>> {
        match self {
            Packer::Zstd(context, room) => {
                room.clear();
                room.reserve(zstd::zstd_safe::compress_bound(bytes.len()));
                context.compress_to_buffer(bytes, room)?;
                Ok(room.as_slice().to_vec())
            }
            Packer::Snappy(context) => context.compress_vec(bytes).map_err(io::Error::other),
            Packer::Lz4 => Ok(lz4_flex::block::compress(bytes)),
            Packer::None => Ok(bytes.to_vec()),
        }
    }
}

/// One unpacker for each codec that was met.
#[derive(Default)]
pub(crate) struct Unpackers(Vec<(Compression, Unpacker)>);

impl Unpackers {
    /// Nothing for codecs that are left to the decoder of whole columns.
    pub(crate) fn of(&mut self, compression: Compression) -> io::Result<Option<&mut Unpacker>> {
        let place = match self.0.iter().position(|(known, _)| *known == compression) {
            Some(place) => place,
            None => match Unpacker::new(compression)? {
                Some(unpacker) => {
                    self.0.push((compression, unpacker));
                    self.0.len() - 1
                }
                None => return Ok(None),
            },
        };
        Ok(Some(&mut self.0[place].1))
    }
}

/// Unpacks pages of one codec.
pub(crate) enum Unpacker {
    Zstd(zstd::bulk::Decompressor<'static>),
    Snappy(snap::raw::Decoder),
    Lz4,
    None,
}

impl Unpacker {
    /// Nothing for codecs that are left to the decoder of whole columns.
    pub(crate) fn new(compression: Compression) -> io::Result<Option<Self>> {
        Ok(Some(match compression {
            Compression::ZSTD(_) => Unpacker::Zstd(zstd::bulk::Decompressor::new()?),
            Compression::SNAPPY => Unpacker::Snappy(snap::raw::Decoder::new()),
            Compression::LZ4_RAW => Unpacker::Lz4,
            Compression::UNCOMPRESSED => Unpacker::None,
            _ => return Ok(None),
        }))
    }

    /// Fills `into` with what `packed` unpacks to: exactly `length` bytes, or the page is damaged.
    pub(crate) fn unpack(&mut self, packed: &[u8], length: usize, into: &mut Vec<u8>) -> Result<(), String> {
        into.clear();
        let damaged = |why: &dyn std::error::Error| format!("a page does not unpack: {why}");
        let found = match self {
            Unpacker::Zstd(context) => {
                into.reserve(length);
                context
                    .decompress_to_buffer(packed, into)
                    .map_err(|why| damaged(&why))?
            }
            Unpacker::Snappy(context) => {
                into.resize(length, 0);
                context.decompress(packed, into).map_err(|why| damaged(&why))?
            }
            Unpacker::Lz4 => {
                into.resize(length, 0);
                lz4_flex::block::decompress_into(packed, into).map_err(|why| damaged(&why))?
            }
            Unpacker::None => {
                into.extend_from_slice(packed);
                packed.len()
            }
        };
        match found == length {
            true => Ok(()),
            false => Err(format!("a page unpacks to {found} bytes and claims {length}")),
        }
    }
}
