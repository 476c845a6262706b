//! Policy `time_window`: files are merged within windows of their rows' times, so that old rows stay apart from new
//! ones, and a file can be dropped when its newest row has expired.
//!
//! ```text
//!  row time ──┤  window 7  ├──┤  window 8  ├──┤  window 9  ├──▶
//!              [a] [b][c]        [ d  ]           [e] [f]
//!        [────── g ──────────────────]                          g belongs to 8, where its newest row is
//! ```
//!
//! A file belongs to the window of its newest row. All files of a job end in one window, so their spans lie inside
//! each other, and the output spans no window that the widest input did not. A window is merged once it is closed: its
//! end and the lateness are past on the store's clock. Within a window policy `leveled` chooses; rows that come late
//! are weighed against what they would cause to be rewritten. Windows know nothing of each other, and files whose
//! times are not known are a group of their own.

use std::collections::BTreeMap;

use super::parts::Parts;
use super::{Choice, LeveledPolicy, PartitionView, Policy, Verdict, next_age};
use crate::file::File;
use crate::table::{Leveled, TimeWindow};
use crate::time::{Millis, StoreTime};

/// Policy `time_window`.
#[derive(Clone, Debug)]
pub struct TimeWindowPolicy {
    settings: TimeWindow,
    within_a_window: Leveled,
}

/// The number of a window; `None` for files whose times are not known.
pub(super) type Window = Option<i64>;

impl TimeWindowPolicy {
    /// With these settings.
    pub fn new(settings: &TimeWindow) -> Self {
        Self {
            settings: settings.clone(),
            within_a_window: Leveled {
                age: settings.age,
                ..Leveled::default()
            },
        }
    }

    fn groups<'f>(&self, view: &PartitionView<'f>) -> BTreeMap<Window, Group<'f>> {
        let mut groups: BTreeMap<Window, Group<'f>> = BTreeMap::new();
        for (at, file) in view.files.iter().enumerate() {
            let window = window_of(file, self.settings.window);
            groups.entry(window).or_default().free.push(at);
        }
        for &file in &view.busy {
            let window = window_of(file, self.settings.window);
            if let Some(group) = groups.get_mut(&window) {
                group.busy.push(file);
            }
        }
        groups
    }

    /// The last moment at which a window is still open.
    pub(super) fn open_until(&self, window: i64) -> StoreTime {
        let end = (i128::from(window) + 1) * length(self.settings.window);
        let last = end + i128::from(self.settings.lateness.0);
        StoreTime {
            unix_ms: u64::try_from(last.max(0)).unwrap_or(u64::MAX),
        }
    }
}

#[derive(Default)]
struct Group<'f> {
    free: Vec<usize>,
    busy: Vec<&'f File>,
}

/// The window of a file's newest row.
pub(super) fn window_of(file: &File, window: Millis) -> Window {
    let times = file.times.filter(|times| times.min <= times.max)?;
    let window = i128::from(times.max.unix_ms).div_euclid(length(window));
    i64::try_from(window).ok()
}

fn length(window: Millis) -> i128 {
    i128::from(window.0.max(1))
}

impl Policy for TimeWindowPolicy {
    fn choose(&self, view: &PartitionView<'_>) -> Choice {
        let leveled = LeveledPolicy::new(&self.within_a_window);
        let mut parts = Parts::of(view);
        for (window, group) in self.groups(view) {
            let until = window.map_or(StoreTime::default(), |window| self.open_until(window));
            if window.is_some() && until >= view.now {
                let verdict = Verdict::WaitsForWindow { until };
                group.free.iter().for_each(|&at| parts.say(at, verdict));
                continue;
            }
            let choice = parts.look(&leveled, &group.free, group.busy);
            parts.take(&group.free, &choice, |_| true);
            for (&at, verdict) in group.free.iter().zip(&choice.verdicts) {
                parts.say(at, *verdict);
            }
        }
        parts.finish()
    }

    fn due(&self, view: &PartitionView<'_>, choice: &Choice) -> Option<StoreTime> {
        let closing = choice.verdicts.iter().filter_map(|verdict| match verdict {
            Verdict::WaitsForWindow { until } => Some(*until + Millis(1)),
            _ => None,
        });
        closing.chain(next_age(view, choice, self.settings.age)).min()
    }
}
