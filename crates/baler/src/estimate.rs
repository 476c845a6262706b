//! What a compaction would ask of its stores, before it does: one line for each purpose. The figures that it rests on are
//! how worker, collector and journal work; a test compares them with a real run.

use baler_core::table::{Catalog, Replaced, TableSpec};

use crate::report::Cost;
use crate::site::Site;
use crate::store::{Kind, PriceList, Purpose};

/// A page of a listing.
const OBJECTS_PER_PAGE: u64 = 1_000;

/// Files up to this size are read whole, in one request.
const SMALL_FILE_BYTES: u64 = 4 << 20;

/// Larger ones in stretches of about this size.
const STRETCH_BYTES: u64 = 4 << 20;

/// Outputs are sent in parts of this size.
const PART_BYTES: u64 = 8 << 20;

/// Entries that a job takes from its planning to the deletion of what it replaced.
const ENTRIES_PER_JOB: u64 = 5;

/// Requests for an entry beside the write itself: the time of the one before, the boundary, a look for a newer one.
const LOOKS_PER_ENTRY: u64 = 3;

/// Files that a look at the inbox met.
#[derive(Clone, Copy, Debug, Default)]
pub struct Looked {
    /// All that were listed.
    pub listed: u64,
    /// Those whose footers had to be read.
    pub fresh: u64,
}

/// A job that would be done.
#[derive(Clone, Copy, Debug, Default)]
pub struct PlannedJob {
    /// Files up to four mebibytes.
    pub small_files: u64,
    /// Larger files.
    pub large_files: u64,
    /// Bytes of the larger ones.
    pub large_bytes: u64,
    /// All bytes.
    pub bytes: u64,
    /// Where outputs are rolled.
    pub target_bytes: u64,
    /// Whether its inputs go when it is done.
    pub deletes: bool,
}

impl PlannedJob {
    /// One of a table, without files so far.
    pub fn of(spec: &TableSpec) -> Self {
        Self {
            target_bytes: spec.merge.target_bytes,
            deletes: !matches!(spec.catalog, Catalog::Output { .. }) && spec.replaced != Replaced::Remember,
            ..Self::default()
        }
    }

    /// Counts a file in.
    pub fn take(&mut self, bytes: u64) {
        self.bytes += bytes;
        match bytes <= SMALL_FILE_BYTES {
            true => self.small_files += 1,
            false => {
                self.large_files += 1;
                self.large_bytes += bytes;
            }
        }
    }
}

/// What the whole run would cost. Nothing where source and root are folders.
pub fn estimate(site: &Site, looked: Looked, jobs: &[PlannedJob]) -> Cost {
    let mut cost = Cost::default();
    if let Some(inbox) = site.inbox().prices() {
        cost.expect(
            &inbox,
            Purpose::List,
            Kind::List,
            looked.listed.div_ceil(OBJECTS_PER_PAGE).max(1),
        );
        cost.expect(&inbox, Purpose::Footer, Kind::Get, looked.fresh);
    }
    expect_jobs(&mut cost, site, jobs);
    cost
}

/// What these jobs alone would cost.
pub fn of_jobs(site: &Site, jobs: &[PlannedJob]) -> Cost {
    let mut cost = Cost::default();
    expect_jobs(&mut cost, site, jobs);
    cost
}

fn expect_jobs(cost: &mut Cost, site: &Site, jobs: &[PlannedJob]) {
    if let Some(inbox) = site.inbox().prices() {
        for job in jobs {
            expect_reading(cost, &inbox, job);
        }
    }
    if let Some(root) = site.root.prices() {
        for job in jobs {
            expect_writing(cost, &root, job);
        }
    }
}

fn expect_reading(cost: &mut Cost, prices: &PriceList, job: &PlannedJob) {
    let stretches = job.large_files + job.large_bytes.div_ceil(STRETCH_BYTES);
    cost.expect(prices, Purpose::Input, Kind::Get, job.small_files + stretches);
    cost.expect(
        prices,
        Purpose::Head,
        Kind::Head,
        job.small_files + job.large_files,
    );
    cost.bytes_in += job.bytes;
}

fn expect_writing(cost: &mut Cost, prices: &PriceList, job: &PlannedJob) {
    let outputs = job.bytes.div_ceil(job.target_bytes.max(1)).max(1);
    let parts = job.bytes.div_ceil(PART_BYTES).max(1);
    match job.bytes > PART_BYTES {
        true => cost.expect(prices, Purpose::Output, Kind::Multipart, parts + 2 * outputs),
        false => cost.expect(prices, Purpose::Output, Kind::Put, outputs),
    }
    cost.expect(prices, Purpose::Publish, Kind::Copy, outputs);
    cost.expect(prices, Purpose::Head, Kind::Head, 4 * outputs);
    cost.expect(prices, Purpose::Journal, Kind::Put, ENTRIES_PER_JOB);
    cost.expect(
        prices,
        Purpose::Journal,
        Kind::Get,
        ENTRIES_PER_JOB * LOOKS_PER_ENTRY,
    );
    let replaced = if job.deletes {
        job.small_files + job.large_files
    } else {
        0
    };
    cost.expect(prices, Purpose::Delete, Kind::Delete, replaced + outputs);
    cost.bytes_out += job.bytes;
}
