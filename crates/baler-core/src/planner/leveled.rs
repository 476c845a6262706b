//! Policy `leveled`.

use super::{Choice, PartitionView, Policy};
use crate::table::Leveled;

/// Policy `leveled`.
#[derive(Clone, Debug)]
pub struct LeveledPolicy<'a> {
    settings: &'a Leveled,
}

impl<'a> LeveledPolicy<'a> {
    /// With these settings.
    pub fn new(settings: &'a Leveled) -> Self {
        Self { settings }
    }
}

impl Policy for LeveledPolicy<'_> {
    fn choose(&self, _view: &PartitionView<'_>) -> Choice {
        let _ = self.settings;
        Choice::default()
    }
}
