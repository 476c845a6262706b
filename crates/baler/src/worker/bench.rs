//! What an attempt gives to its merge: outputs under names of its own, and somebody who watches.

use std::io::{self, Write};
use std::sync::Arc;

use super::engine::Order;
use super::meter::Meter;
use crate::cache::{Cache, Spool, Spools};
use crate::depot::{DepotError, Output, Scratch};
use crate::merge::Bench;

/// An attempt, as its merge sees it.
pub(super) struct AttemptBench {
    order: Arc<Order>,
    meter: Arc<Meter>,
}

impl AttemptBench {
    pub(super) fn new(order: Arc<Order>, meter: Arc<Meter>) -> Self {
        Self { order, meter }
    }
}

impl Bench for AttemptBench {
    fn create(&self, part: u32) -> io::Result<Box<dyn Output>> {
        let output = self.order.site.root.create_output(self.order.written_as(part));
        let spool = self.order.site.cache.as_ref().and_then(Cache::spool);
        Ok(Box::new(MeteredOutput {
            output: output.map_err(DepotError::into_io)?,
            meter: self.meter.clone(),
            spool: spool.map(|spool| (part, spool)),
            spools: self.order.spools.clone(),
        }))
    }

    fn scratch(&self) -> io::Result<Scratch> {
        self.order.site.root.scratch(&self.order.grant.attempt())
    }

    fn advanced(&self, rows: u64) {
        self.meter.advanced(rows);
    }

    fn is_cancelled(&self) -> bool {
        self.meter.is_cancelled()
    }
}

struct MeteredOutput {
    output: Box<dyn Output>,
    meter: Arc<Meter>,
    spool: Option<(u32, Spool)>,
    spools: Arc<Spools>,
}

impl Write for MeteredOutput {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.output.write(bytes)?;
        self.meter.wrote(written as u64);
        if let Some((_, spool)) = &mut self.spool {
            spool.write(&bytes[..written]);
        }
        Ok(written)
    }
    fn flush(&mut self) -> io::Result<()> {
        self.output.flush()
    }
}

impl Output for MeteredOutput {
    fn finish(self: Box<Self>) -> io::Result<()> {
        self.output.finish()?;
        if let Some((part, spool)) = self.spool {
            self.spools.written(part, spool);
        }
        Ok(())
    }
}
