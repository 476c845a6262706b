//! Standing still on request. What is leased goes on: a merge that was begun costs less finished than thrown away.

use super::{Answer, Draft};
use crate::event::Event;
use crate::ids::TableName;
use crate::request::Reply;

impl Draft {
    pub(super) fn pause(&mut self, table: Option<&TableName>) -> Answer {
        match self.stands_still(table)? {
            true => Ok(Reply::Done),
            false => self.done(Event::Paused {
                table: table.cloned(),
            }),
        }
    }

    pub(super) fn resume(&mut self, table: Option<&TableName>) -> Answer {
        match self.stands_still(table)? {
            true => self.done(Event::Resumed {
                table: table.cloned(),
            }),
            false => Ok(Reply::Done),
        }
    }

    fn stands_still(&self, table: Option<&TableName>) -> Result<bool, crate::request::Refusal> {
        match table {
            Some(table) => Ok(self.table(table)?.paused),
            None => Ok(self.state.paused),
        }
    }
}
