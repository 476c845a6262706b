//! Length-delimited messages in a compressed stream, hashed as they pass.

use std::io::{self, BufReader, Read, Write};

use prost::Message;
use xxhash_rust::xxh3::Xxh3Default;

use crate::limits::RECORD_BYTES_MAX;

/// Level 1: a snapshot is read as soon as it is written, and soon replaced.
const COMPRESSION_LEVEL: i32 = 1;

pub(super) struct MessageWriter {
    compressed: zstd::Encoder<'static, Vec<u8>>,
    hash: Xxh3Default,
    message: Vec<u8>,
}

impl MessageWriter {
    pub(super) fn new() -> io::Result<Self> {
        let mut compressed = zstd::Encoder::new(Vec::new(), COMPRESSION_LEVEL)?;
        compressed.include_checksum(true)?;
        Ok(Self {
            compressed,
            hash: Xxh3Default::new(),
            message: Vec::new(),
        })
    }

    pub(super) fn write(&mut self, message: &impl Message) -> io::Result<()> {
        self.message.clear();
        message
            .encode_length_delimited(&mut self.message)
            .map_err(io::Error::other)?;
        self.hash.update(&self.message);
        self.compressed.write_all(&self.message)
    }

    /// Of everything written so far.
    pub(super) fn digest(&self) -> u128 {
        self.hash.digest128()
    }

    pub(super) fn finish(self) -> io::Result<Vec<u8>> {
        self.compressed.finish()
    }
}

pub(super) struct MessageReader<'a> {
    stream: BufReader<zstd::Decoder<'a, BufReader<&'a [u8]>>>,
    /// Of everything before `message`.
    hash: Xxh3Default,
    /// The message that was read last, with its length.
    message: Vec<u8>,
}

impl<'a> MessageReader<'a> {
    pub(super) fn new(bytes: &'a [u8]) -> io::Result<Self> {
        let stream = BufReader::with_capacity(1 << 16, zstd::Decoder::new(bytes)?);
        Ok(Self {
            stream,
            hash: Xxh3Default::new(),
            message: Vec::new(),
        })
    }

    /// The next message; `None` at the end of the stream.
    pub(super) fn read<M: Message + Default>(&mut self) -> io::Result<Option<M>> {
        self.hash.update(&self.message);
        self.message.clear();
        let Some(length) = self.read_length()? else {
            return Ok(None);
        };
        if length > RECORD_BYTES_MAX {
            return Err(io::Error::other(format!("a record of {length} bytes")));
        }
        let start = self.message.len();
        self.message.resize(start + length, 0);
        self.stream.read_exact(&mut self.message[start..])?;
        M::decode(&self.message[start..])
            .map(Some)
            .map_err(io::Error::other)
    }

    /// Of everything before the message that was read last.
    pub(super) fn digest_before_last(&self) -> u128 {
        self.hash.digest128()
    }

    fn read_length(&mut self) -> io::Result<Option<usize>> {
        let mut length = 0;
        for place in 0..5 {
            let mut byte = [0];
            if self.stream.read(&mut byte)? == 0 {
                return match place {
                    0 => Ok(None),
                    _ => Err(io::ErrorKind::UnexpectedEof.into()),
                };
            }
            self.message.push(byte[0]);
            length |= usize::from(byte[0] & 0x7f) << (7 * place);
            if byte[0] & 0x80 == 0 {
                return Ok(Some(length));
            }
        }
        Err(io::Error::other("a length of more than five bytes"))
    }
}
