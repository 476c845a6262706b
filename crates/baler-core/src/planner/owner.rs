//! Policy `owner`: somebody outside chooses, and proposes jobs. Nothing is planned here.

use super::{Choice, PartitionView, Policy, Verdict};
use crate::time::StoreTime;

/// Policy `owner`.
#[derive(Clone, Copy, Debug)]
pub struct OwnerPolicy;

impl Policy for OwnerPolicy {
    fn choose(&self, view: &PartitionView<'_>) -> Choice {
        Choice {
            jobs: Vec::new(),
            verdicts: vec![Verdict::LeftToOwner; view.files.len()],
        }
    }

    fn due(&self, _view: &PartitionView<'_>, _choice: &Choice) -> Option<StoreTime> {
        None
    }
}
