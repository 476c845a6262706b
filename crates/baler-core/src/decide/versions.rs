//! Readers' promises. A version can be pinned while nothing that it shows is on a deletion list.

use std::sync::Arc;

use super::files::cut;
use super::{Answer, Draft};
use crate::event::Event;
use crate::ids::{PinId, Sequence, TableName};
use crate::limits::PINS_MAX;
use crate::request::{Refusal, Reply};
use crate::time::Millis;

impl Draft {
    pub(super) fn pin(
        &mut self,
        name: &TableName,
        owner: &Arc<str>,
        lifetime: Millis,
        version: Option<Sequence>,
    ) -> Answer {
        if self.table(name)?.spec.catalog.publishes() {
            return Err(Refusal::CannotPin(name.clone()));
        }
        if let Some(version) = version {
            // The entry that is being decided is no version yet.
            let newest = Sequence(self.state.sequence.0 - 1);
            self.state.readable(name, version, newest)?;
        }
        if self.state.pins.len() >= PINS_MAX {
            return Err(Refusal::TooManyPins(PINS_MAX));
        }
        let pin = self.state.next_pin();
        self.emit(Event::Pinned {
            table: name.clone(),
            owner: cut(owner),
            lifetime: lifetime.between_stamps(),
            version,
        });
        Ok(Reply::Pinned(pin))
    }

    pub(super) fn unpin(&mut self, pin: PinId) -> Answer {
        match self.state.pins.contains_key(&pin) {
            true => self.done(Event::Unpinned { pin }),
            false => Err(Refusal::NoSuchPin(pin)),
        }
    }
}
