//! A journal on a real server behind a proxy, and what can go wrong with its requests.

use std::sync::Arc;
use std::time::Duration;

use baler_journal::checksum::Checksum;
use baler_journal::conformance::{JOURNAL, first_proposal};
use baler_journal::entry::Proposal;
use baler_journal::store::Store;
use baler_journal::{Access, Appended, Journal, ObjectLog};
use baler_teststores::{Fault, FaultProxy, shared_seaweed};

use crate::sites::{s3_store, store};

/// What the client waits for, and what the proxy adds to it.
const TIMEOUT: Duration = Duration::from_millis(600);
const TOO_LATE: Duration = Duration::from_millis(800);

/// The same journal twice: ours goes through the proxy, the rival's does not.
pub(super) struct World {
    pub(super) proxy: FaultProxy,
    pub(super) through: Arc<dyn Store>,
    pub(super) ours: ObjectLog,
    pub(super) rival: ObjectLog,
}

impl World {
    pub(super) async fn new() -> Option<Self> {
        let seaweed = shared_seaweed().await?;
        let bucket = seaweed.new_bucket().await.unwrap();
        let proxy = FaultProxy::start(seaweed.s3()).await.unwrap();
        let direct = s3_store(seaweed.s3(), &bucket);
        let rival = ObjectLog::open(direct, Access::ReadWrite).await.unwrap();
        let through = store("s3", proxy.s3().client_with_timeout(&bucket, TIMEOUT));
        let ours = ObjectLog::open(through.clone(), Access::ReadWrite).await.unwrap();
        Some(Self {
            proxy,
            through,
            ours,
            rival,
        })
    }

    /// With its first entry; the checksum of that.
    pub(super) async fn begun() -> Option<(Self, Checksum)> {
        let world = Self::new().await?;
        let first = first_proposal(JOURNAL);
        assert!(is_committed(&world.rival.append(&first).await.unwrap()));
        Some((world, first.checksum))
    }

    /// The slot holds this proposal, as seen from outside.
    pub(super) async fn assert_holds(&self, proposal: &Proposal, case: &str) {
        let entry = self.rival.read(proposal.sequence).await.unwrap();
        assert_eq!(entry.expect(case).nonce, proposal.nonce, "{case}");
    }

    pub(super) fn assert_faults_happened(&self, case: &str) {
        assert_eq!(
            self.proxy.faults_left(),
            0,
            "{case}: {:?}",
            self.proxy.take_exchanges()
        );
        self.proxy.take_exchanges();
    }
}

pub(super) fn is_committed(appended: &Appended) -> bool {
    matches!(appended, Appended::Committed { .. })
}

pub(super) fn faults_of_reads() -> Vec<Fault> {
    vec![
        Fault::DropRequest,
        Fault::LoseResponse,
        Fault::DelayResponse(TOO_LATE),
        Fault::CutResponse(12),
        Fault::Answer(500),
        Fault::Answer(503),
        Fault::Answer(429),
        Fault::ForwardThenAnswer(503),
    ]
}

/// A write may also be answered by "conflict", and happen after its answer.
pub(super) fn faults_of_writes() -> Vec<Fault> {
    let mut faults = faults_of_reads();
    faults.extend([
        Fault::Answer(409),
        Fault::ForwardThenAnswer(500),
        Fault::ForwardThenAnswer(409),
        Fault::ApplyLate(503, Duration::ZERO),
        Fault::ApplyLate(503, Duration::from_millis(150)),
        Fault::ApplyLate(409, Duration::from_millis(150)),
    ]);
    faults
}

/// A body that ends early. A HEAD has none.
pub(super) fn faults_of_bodies() -> Vec<Fault> {
    let mut faults = faults_of_reads();
    faults.push(Fault::CutBody(5));
    faults
}

pub(super) fn entry_name(slot: u64) -> String {
    format!("journal/{slot:020}")
}
