//! What an attempt takes: time, bytes, and requests to stores with their price. Only the attempt itself can tell, and it
//! goes with its result into the journal, for the receipt.

use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::time::Instant;

use baler_core::receipt::Effort;
use bytes::Bytes;

use crate::depot::{Depot, Input};
use crate::merge::Merged;
use crate::store::Kind;

/// Counts for one attempt.
#[derive(Debug)]
pub(super) struct Ledger {
    began: Instant,
    taken: Mutex<Effort>,
}

impl Ledger {
    /// For an attempt that begins now.
    pub(super) fn begin() -> Arc<Self> {
        Arc::new(Self {
            began: Instant::now(),
            taken: Mutex::default(),
        })
    }

    /// So many requests were sent to where this lies; none to a folder.
    pub(super) fn asked(&self, depot: &Depot, kind: Kind, requests: u64) {
        let Some(prices) = depot.prices() else {
            return;
        };
        let mut taken = self.lock();
        taken.requests += requests;
        taken.price_nano_usd += (prices.requests(kind, requests) * 1e9).round() as u64;
    }

    /// An input whose reads are counted.
    pub(super) fn counted(self: &Arc<Self>, depot: &Depot, input: Arc<dyn Input>) -> Arc<dyn Input> {
        Arc::new(Counted {
            input,
            depot: depot.clone(),
            ledger: self.clone(),
        })
    }

    /// All of it, with what writing these outputs took.
    pub(super) fn effort(&self, root: &Depot, merged: &Merged) -> Effort {
        for output in &merged.outputs {
            let (kind, requests) = root.requests_to_write(output.bytes);
            self.asked(root, kind, requests);
        }
        Effort {
            worked_ms: u64::try_from(self.began.elapsed().as_millis()).unwrap_or(u64::MAX),
            bytes_out: merged.outputs.iter().map(|output| output.bytes).sum(),
            rows_copied: merged.ways.copied,
            rows_stitched: merged.ways.stitched,
            rows_merged: merged.ways.merged,
            ..*self.lock()
        }
    }

    fn lock(&self) -> MutexGuard<'_, Effort> {
        self.taken.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

struct Counted {
    input: Arc<dyn Input>,
    depot: Depot,
    ledger: Arc<Ledger>,
}

impl Input for Counted {
    fn name(&self) -> &str {
        self.input.name()
    }

    fn len(&self) -> u64 {
        self.input.len()
    }

    fn read_at(&self, offset: u64, length: usize) -> io::Result<Bytes> {
        let bytes = self.input.read_at(offset, length)?;
        self.ledger.asked(&self.depot, Kind::Get, u64::from(length > 0));
        self.ledger.lock().bytes_in += bytes.len() as u64;
        Ok(bytes)
    }
}
