//! An attempt's outputs on their way out, under names of its own.

use std::io::{self, Write};
use std::sync::Arc;

use baler_merge::{Output, OutputSink};

use super::engine::Order;
use super::meter::Meter;
use crate::depot::DepotError;

/// Opens an attempt's outputs.
pub(super) struct AttemptSink<'a> {
    order: &'a Order,
    meter: Arc<Meter>,
}

impl<'a> AttemptSink<'a> {
    pub(super) fn new(order: &'a Order, meter: Arc<Meter>) -> Self {
        Self { order, meter }
    }
}

impl OutputSink for AttemptSink<'_> {
    fn create(&mut self, part: u32) -> io::Result<Box<dyn Output>> {
        let output = self.order.site.root.create_output(self.order.written_as(part));
        Ok(Box::new(MeteredOutput {
            output: output.map_err(DepotError::into_io)?,
            meter: self.meter.clone(),
        }))
    }
}

struct MeteredOutput {
    output: Box<dyn crate::depot::Output>,
    meter: Arc<Meter>,
}

impl Write for MeteredOutput {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.output.write(bytes)?;
        self.meter.wrote(written as u64);
        Ok(written)
    }
    fn flush(&mut self) -> io::Result<()> {
        self.output.flush()
    }
}

impl Output for MeteredOutput {
    fn finish(self: Box<Self>) -> io::Result<()> {
        self.output.finish()
    }
}
