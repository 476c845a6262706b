//! A reader: pins the table as it stands, reads, and lets go. Where it dies, an operator takes its pin away.

use baler_core::file::FilePath;
use baler_core::ids::{PinId, TableName};
use baler_core::time::Millis;
use baler_core::{Reply, Request};

use crate::world::{TABLE, World};

/// What the reader is at.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Reader {
    /// It wants to read.
    Coming,
    /// It reads these.
    Reading(PinId, Vec<FilePath>),
    /// It has read, and asks to be let go until it is answered.
    Leaving(PinId),
    /// It is let go, or is dead, or there is none.
    Gone,
}

impl Reader {
    pub(crate) fn new(comes: bool) -> Self {
        if comes { Self::Coming } else { Self::Gone }
    }

    pub(crate) fn is_reading(&self) -> bool {
        matches!(self, Self::Reading(..))
    }

    fn pin(&self) -> Option<PinId> {
        match self {
            Self::Reading(pin, _) | Self::Leaving(pin) => Some(*pin),
            Self::Coming | Self::Gone => None,
        }
    }
}

impl World {
    pub(crate) fn reader_asks(&self) -> Option<Request> {
        match &self.reader {
            Reader::Coming => Some(Request::Pin {
                table: TABLE.into(),
                owner: "reader".into(),
                lifetime: Millis(u64::MAX),
                version: None,
            }),
            Reader::Reading(pin, _) | Reader::Leaving(pin) => Some(Request::Unpin(*pin)),
            Reader::Gone => None,
        }
    }

    /// Whoever has asked to be let go reads no more.
    pub(crate) fn reader_leaves(&mut self) {
        if let Reader::Reading(pin, _) = self.reader {
            self.reader = Reader::Leaving(pin);
        }
    }

    pub(crate) fn reader_hears(&mut self, reply: &Reply) -> bool {
        self.reader = match reply {
            Reply::Pinned(pin) => {
                let pin = *pin;
                let files = self.state().files_at(&TableName::from(TABLE), pin.entry);
                let files = files.unwrap_or_default();
                Reader::Reading(pin, files.iter().map(|file| file.path.clone()).collect())
            }
            _ => Reader::Gone,
        };
        true
    }

    pub(crate) fn crash_reader(&mut self) {
        self.reader = Reader::Gone;
    }

    /// A pin that nobody reads under any more. One that the reader may yet hear of is left alone.
    pub(crate) fn operator_asks(&self) -> Option<Request> {
        if self.reader == Reader::Coming {
            return None;
        }
        let mut pins = self.state().pins.keys().copied();
        pins.find(|pin| Some(*pin) != self.reader.pin())
            .map(Request::Unpin)
    }
}
