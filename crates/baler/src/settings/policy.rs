//! Which files of a table are merged, and when.

use baler_core::limits::LEVEL_MAX;
use baler_core::table::{Leveled, Policy, SizeTiered, TimeWindow};
use baler_core::time::Millis;

use super::Usage;
use super::native::age;
use crate::cli::{NativeArgs, PolicyArg};

/// What the user said about the policy.
#[derive(Clone, Debug, Default)]
pub(super) struct PolicySettings {
    policy: Option<PolicyArg>,
    window: Option<Millis>,
}

impl PolicySettings {
    pub(super) fn check(args: &NativeArgs) -> Result<Self, Usage> {
        if args
            .cross_shard_from
            .is_some_and(|level| level == 0 || level > LEVEL_MAX)
        {
            return Err(Usage(format!("--cross-shard-from must be from 1 to {LEVEL_MAX}")));
        }
        let window = args.window.as_deref();
        Ok(Self {
            policy: args.policy,
            window: window.map(|text| age("--window", text)).transpose()?,
        })
    }

    /// A known policy, with what was said now. Windows wait for as long as rows may be late.
    pub(super) fn altered(&self, known: &Policy, lateness: Option<Millis>) -> Result<Policy, Usage> {
        let policy = match self.policy {
            Some(wanted) if Some(wanted) != kind(known) => fresh(wanted),
            _ => known.clone(),
        };
        match policy {
            Policy::TimeWindow(settings) => Ok(Policy::TimeWindow(TimeWindow {
                window: self.window.unwrap_or(settings.window),
                lateness: lateness.unwrap_or(settings.lateness),
                ..settings
            })),
            _ if self.window.is_some() => Err(Usage("--window needs --policy time-window".to_owned())),
            policy => Ok(policy),
        }
    }
}

/// A policy of the owner's cannot be typed.
fn kind(policy: &Policy) -> Option<PolicyArg> {
    Some(match policy {
        Policy::Leveled(_) => PolicyArg::Leveled,
        Policy::SizeTiered(_) => PolicyArg::SizeTiered,
        Policy::TimeWindow(_) => PolicyArg::TimeWindow,
        Policy::Owner => return None,
    })
}

fn fresh(policy: PolicyArg) -> Policy {
    match policy {
        PolicyArg::Leveled => Policy::Leveled(Leveled::default()),
        PolicyArg::SizeTiered => Policy::SizeTiered(SizeTiered::default()),
        PolicyArg::TimeWindow => Policy::TimeWindow(TimeWindow::default()),
    }
}
