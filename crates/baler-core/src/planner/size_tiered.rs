//! Policy `size_tiered`: files wait until there are enough of their size, so that a byte is rewritten once a tier.
//!
//! ```text
//!  target/128 ── target/32 ── target/8 ── target/2 ──▶ bytes        (with a factor of 4)
//!     tier 4  │   tier 3   │   tier 2   │  tier 1  │  tier 0: large enough
//! ```
//!
//! A tier with enough files is chosen from as policy `leveled` would, as if all other files were busy: nothing is
//! merged across them. So the laws that `leveled` obeys hold here too. A file that has waited long enough is merged
//! with whatever `leveled` would merge it with: files of different sizes whose keys overlap meet in the end.

use std::collections::BTreeMap;

use super::parts::Parts;
use super::{Choice, LeveledPolicy, PartitionView, Policy, SMALL_BELOW_TARGET_OVER, Verdict, next_age};
use crate::file::File;
use crate::table::{Leveled, SizeTiered};
use crate::time::StoreTime;

/// The last tier: below it a file costs by being there, not by its bytes.
const TIER_MAX: u32 = 6;

/// Policy `size_tiered`.
#[derive(Clone, Debug)]
pub struct SizeTieredPolicy {
    settings: SizeTiered,
    within_a_tier: Leveled,
}

impl SizeTieredPolicy {
    /// With these settings.
    pub fn new(settings: &SizeTiered) -> Self {
        Self {
            settings: settings.clone(),
            within_a_tier: Leveled {
                files_per_level: settings.files_per_tier,
                age: settings.age,
                ..Leveled::default()
            },
        }
    }

    fn wanted(&self) -> u32 {
        self.settings.files_per_tier.max(2)
    }

    fn tier(&self, file: &File, target_bytes: u64) -> u32 {
        let factor = u64::from(self.settings.factor.max(2));
        let mut floor = target_bytes.div_ceil(SMALL_BELOW_TARGET_OVER);
        let mut tier = 0;
        while file.bytes() < floor && tier < TIER_MAX {
            floor /= factor;
            tier += 1;
        }
        tier
    }

    fn tiers(&self, view: &PartitionView<'_>) -> BTreeMap<u32, Vec<usize>> {
        let mut tiers: BTreeMap<u32, Vec<usize>> = BTreeMap::new();
        for (at, file) in view.files.iter().enumerate() {
            let tier = self.tier(file, view.merge.target_bytes.max(1));
            tiers.entry(tier).or_default().push(at);
        }
        tiers
    }

    fn is_old(&self, view: &PartitionView<'_>, at: usize) -> bool {
        view.now.since(view.files[at].identity.modified) >= self.settings.age
    }
}

impl Policy for SizeTieredPolicy {
    fn choose(&self, view: &PartitionView<'_>) -> Choice {
        let leveled = LeveledPolicy::new(&self.within_a_tier);
        if overlaps_everything(view) {
            return leveled.choose(view);
        }
        let mut parts = Parts::of(view);
        let all: Vec<usize> = (0..view.files.len()).collect();
        let regardless_of_size = parts.look(&leveled, &all, view.busy.clone());
        parts.take(&all, &regardless_of_size, |inputs| {
            inputs.iter().any(|&at| self.is_old(view, at))
        });
        // The smallest first: many small files cost readers more than a few large ones.
        for files in self.tiers(view).into_values().rev() {
            let count = u32::try_from(files.len()).unwrap_or(u32::MAX);
            if count >= self.wanted() {
                choose_in_tier(view, files, &leveled, &regardless_of_size, &mut parts);
            } else {
                let company = Verdict::WaitsForTier {
                    files: count,
                    wanted: self.wanted(),
                };
                for at in files {
                    parts.say(at, told(regardless_of_size.verdicts[at], company));
                }
            }
        }
        parts.finish()
    }

    fn due(&self, view: &PartitionView<'_>, choice: &Choice) -> Option<StoreTime> {
        next_age(view, choice, self.settings.age)
    }
}

fn choose_in_tier(
    view: &PartitionView<'_>,
    mut files: Vec<usize>,
    leveled: &LeveledPolicy<'_>,
    regardless_of_size: &Choice,
    parts: &mut Parts<'_, '_>,
) {
    files.retain(|&at| !parts.is_taken(at));
    let mut is_free = vec![false; view.files.len()];
    files.iter().for_each(|&at| is_free[at] = true);
    let others = view.files.iter().zip(&is_free).filter(|(_, free)| !**free);
    let busy = others.map(|(file, _)| *file).chain(view.busy.iter().copied());
    let choice = parts.look(leveled, &files, busy.collect());
    parts.take(&files, &choice, |_| true);
    for (&at, verdict) in files.iter().zip(&choice.verdicts) {
        let verdict = match verdict {
            Verdict::WaitsForTurn | Verdict::WaitsForWeight { .. } | Verdict::WaitsForCompany { .. } => {
                *verdict
            }
            _ => told(regardless_of_size.verdicts[at], Verdict::WaitsForAge),
        };
        parts.say(at, verdict);
    }
}

/// Whether there is a file whose keys are not known. It may share keys with files of every size, so sizes say nothing
/// before it has been merged.
fn overlaps_everything(view: &PartitionView<'_>) -> bool {
    let unknown = |file: &&&File| file.keys.as_ref().is_none_or(|keys| keys.min > keys.max);
    let sorted = !view.merge.sort.is_empty();
    sorted && view.files.iter().chain(&view.busy).any(|file| unknown(&file))
}

/// What is so whatever the sizes are, or else what the sizes say.
fn told(regardless_of_size: Verdict, by_size: Verdict) -> Verdict {
    match regardless_of_size {
        Verdict::Chosen { .. } | Verdict::WaitsForTurn | Verdict::WaitsForCompany { .. } => by_size,
        other => other,
    }
}
