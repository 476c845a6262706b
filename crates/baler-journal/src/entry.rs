//! One entry as bytes: a zstd stream of JSON lines, so that `zstd -dc` shows it.
//!
//! ```text
//! {"format":1,"journal":"…","sequence":42,"nonce":"…","parent":"…","parent_time":{"unix_ms":…}}
//! {"FilesAdded":{…}}                                             one line an event
//! {"xxh3":"…"}                                                   of all bytes before this line
//! ```
//!
//! Unknown fields are passed over; an unknown kind of event is refused, and so is every kind of damage.

use std::cell::RefCell;
use std::io::Read;

use baler_core::event::{Batch, Event};
use baler_core::ids::{JournalId, Sequence};
use baler_core::time::StoreTime;
use bytes::Bytes;
use serde::{Deserialize, Serialize};
use zstd::zstd_safe::{DCtx, ResetDirective};

use crate::checksum::Checksum;
use crate::error::{JournalError, entry_name};
use crate::host;
use crate::limits::{ENTRY_BYTES_MAX, FORMAT};

/// An entry that was read and checked by itself; `Position::check_next` checks it against the one before it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// The journal it says it belongs to.
    pub journal: JournalId,
    /// Who wrote it: made at random for each proposal.
    pub nonce: Nonce,
    /// The checksum of the entry before it; zero for the first.
    pub parent: Checksum,
    /// Its own.
    pub checksum: Checksum,
    /// What it holds.
    pub batch: Batch,
    /// When the store wrote it, where that came with it.
    pub modified: Option<StoreTime>,
}

/// Tells a writer his own entry from another's.
pub type Nonce = Checksum;

/// A batch on offer for one slot. As long as the slot's outcome is unknown, these very bytes are offered again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Proposal {
    /// The slot.
    pub sequence: Sequence,
    /// Whose it is.
    pub nonce: Nonce,
    /// The entry's checksum.
    pub checksum: Checksum,
    /// The lowest format level whose versions know what it holds.
    pub level: u32,
    /// The entry's body.
    pub bytes: Bytes,
}

#[derive(Debug, Serialize, Deserialize)]
struct Envelope {
    format: u32,
    journal: JournalId,
    sequence: Sequence,
    nonce: Nonce,
    parent: Checksum,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    parent_time: Option<StoreTime>,
}

#[derive(Debug, Deserialize)]
struct FormatOnly {
    format: u32,
}

#[derive(Debug, Serialize, Deserialize)]
struct Seal {
    xxh3: Checksum,
}

/// Events on their way into an entry.
#[derive(Debug)]
pub(crate) struct Lines {
    /// The JSON line of each.
    pub(crate) text: Vec<u8>,
    /// The lowest format level whose versions know all of them.
    level: u32,
}

impl Lines {
    /// None yet.
    pub(crate) const NONE: Self = Self {
        text: Vec::new(),
        level: 1,
    };

    /// One more.
    pub(crate) fn add(&mut self, event: &Event) {
        self.text.extend(event_line(event));
        self.level = self.level.max(event.level());
    }
}

/// The JSON line of an event.
fn event_line(event: &Event) -> Vec<u8> {
    let mut line = serde_json::to_vec(event).expect("events have text keys only");
    line.push(b'\n');
    line
}

impl Proposal {
    /// For the slot after `parent`, with the events' lines.
    pub(crate) fn new(
        journal: JournalId,
        sequence: Sequence,
        parent: Checksum,
        parent_time: Option<StoreTime>,
        events: &Lines,
    ) -> Result<Self, JournalError> {
        let nonce = Checksum(host::wide_chance());
        let envelope = Envelope {
            format: events.level,
            journal,
            sequence,
            nonce,
            parent,
            parent_time,
        };
        let mut text = serde_json::to_vec(&envelope).expect("the envelope has text keys only");
        text.push(b'\n');
        text.extend_from_slice(&events.text);
        let checksum = Checksum::of(&text);
        text.extend(serde_json::to_vec(&Seal { xxh3: checksum }).expect("the seal has text keys only"));
        text.push(b'\n');
        if text.len() > ENTRY_BYTES_MAX {
            return Err(JournalError::TooLarge {
                bytes: text.len(),
                max: ENTRY_BYTES_MAX,
            });
        }
        Ok(Self {
            sequence,
            nonce,
            checksum,
            level: events.level,
            bytes: compress(&text),
        })
    }

    /// For a whole batch, as tests and tools make it.
    pub fn of_batch(journal: JournalId, parent: Checksum, batch: &Batch) -> Result<Self, JournalError> {
        let mut lines = Lines::NONE;
        batch.events.iter().for_each(|event| lines.add(event));
        Self::new(journal, batch.sequence, parent, batch.parent_time, &lines)
    }
}

/// The bytes as one frame that carries zstd's own checksum too.
fn compress(text: &[u8]) -> Bytes {
    let compressed = (|| {
        let mut encoder = zstd::Encoder::new(Vec::new(), 3)?;
        // For a length that is not known zstd clears tables of a megabyte, and an entry is often a few hundred bytes.
        encoder.set_pledged_src_size(Some(text.len() as u64))?;
        encoder.include_checksum(true)?;
        std::io::Write::write_all(&mut encoder, text)?;
        encoder.finish()
    })();
    compressed.expect("compression into memory does not fail").into()
}

impl Entry {
    /// Reads the body of the entry in this slot.
    pub fn decode(sequence: Sequence, bytes: &[u8]) -> Result<Self, JournalError> {
        let damaged = |why: &str| JournalError::damaged_entry(sequence, why);
        let text = decompress(sequence, bytes)?;
        let (first, _) = split_line(&text).ok_or_else(|| damaged("its first line is cut off"))?;
        check_format(sequence, first)?;
        let (body, seal) = split_seal(&text).ok_or_else(|| damaged("its last line is missing"))?;
        let checksum = Checksum::of(body);
        if seal.xxh3 != checksum {
            return Err(damaged("its checksum does not match its content"));
        }
        let mut lines = body.split_inclusive(|byte| *byte == b'\n');
        let envelope: Envelope = parse(sequence, lines.next().unwrap_or_default())?;
        if envelope.sequence != sequence {
            return Err(damaged(&format!(
                "it says that it is entry {}",
                envelope.sequence
            )));
        }
        let events = lines
            .map(|line| parse(sequence, line))
            .collect::<Result<_, _>>()?;
        Ok(Self {
            journal: envelope.journal,
            nonce: envelope.nonce,
            parent: envelope.parent,
            checksum,
            batch: Batch {
                sequence,
                parent_time: envelope.parent_time,
                events,
            },
            modified: None,
        })
    }
}

thread_local! {
    /// To make one takes longer than to read most entries with it.
    static CONTEXT: RefCell<DCtx<'static>> = RefCell::new(DCtx::create());
}

fn decompress(sequence: Sequence, bytes: &[u8]) -> Result<Vec<u8>, JournalError> {
    let damaged = |why: String| JournalError::damaged_entry(sequence, why);
    if bytes.is_empty() {
        return Err(damaged("it is empty".to_owned()));
    }
    let mut text = Vec::new();
    let read = CONTEXT.with_borrow_mut(|context| {
        // Whatever it was in the middle of was damaged.
        let _never_fails = context.reset(ResetDirective::SessionOnly);
        let decoder = zstd::Decoder::with_context(bytes, context);
        decoder.take(ENTRY_BYTES_MAX as u64 + 1).read_to_end(&mut text)
    });
    read.map_err(|e| damaged(format!("it does not decompress: {e}")))?;
    if text.len() > ENTRY_BYTES_MAX {
        return Err(damaged(format!("it is larger than {ENTRY_BYTES_MAX} bytes")));
    }
    Ok(text)
}

/// Before anything else is believed: a newer format may do all the rest in another way.
fn check_format(sequence: Sequence, first_line: &[u8]) -> Result<(), JournalError> {
    match serde_json::from_slice::<FormatOnly>(first_line) {
        Ok(FormatOnly { format }) if format > FORMAT => Err(JournalError::NewerFormat {
            what: entry_name(sequence),
            found: format,
        }),
        Ok(_) => Ok(()),
        Err(error) => Err(JournalError::damaged_entry(
            sequence,
            format!("its first line: {error}"),
        )),
    }
}

fn split_line(text: &[u8]) -> Option<(&[u8], &[u8])> {
    let end = text.iter().position(|byte| *byte == b'\n')?;
    Some(text.split_at(end + 1))
}

fn split_seal(text: &[u8]) -> Option<(&[u8], Seal)> {
    let without_end = text.strip_suffix(b"\n")?;
    let start = without_end.iter().rposition(|byte| *byte == b'\n')? + 1;
    let seal = serde_json::from_slice(&without_end[start..]).ok()?;
    Some((&text[..start], seal))
}

/// The checksum was right, so what is not understood was written like this.
fn parse<T: for<'a> Deserialize<'a>>(sequence: Sequence, line: &[u8]) -> Result<T, JournalError> {
    serde_json::from_slice(line).map_err(|error| JournalError::NewerContent {
        what: entry_name(sequence),
        why: error.to_string(),
    })
}
