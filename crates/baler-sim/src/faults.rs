//! What goes wrong, and how often. Each seed draws its own mix; a run can be told to leave kinds out.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use crate::dice::Dice;

/// A kind of fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Fault {
    /// A request takes seconds or minutes.
    Slow,
    /// A request fails before it reaches the store.
    FailBefore,
    /// A request is carried out, and its answer is lost.
    ApplyThenFail,
    /// A write or a delete is given up, and lands later.
    ApplyLate,
    /// A conditional write is told that the name is taken, though nothing is there.
    FalseExists,
    /// The store is too busy for most requests, for a while.
    Storm,
    /// A body ends early.
    ShortRead,
    /// A bit of a body is flipped.
    DamagedRead,
    /// Another stretch of an object comes than the one that was asked for.
    WrongRange,
    /// A listing lacks what is new, and shows what is gone.
    StaleList,
    /// A step of an upload in parts fails.
    Multipart,
    /// A worker's encoder writes other rows than it was handed.
    BadEncoder,
    /// A process dies.
    Crash,
    /// A process stands still, and goes on.
    Pause,
    /// A process cannot reach the store, or its answers do not come back.
    Partition,
    /// A process's wall clock is wrong.
    WrongClock,
    /// A process's wall clock jumps.
    ClockJump,
    /// A message between worker and coordinator is lost.
    MessageLost,
    /// It takes long.
    MessageSlow,
    /// It arrives twice.
    MessageTwice,
    /// It arrives again, much later.
    MessageReplayed,
    /// Somebody outside rewrites a file that was handed over.
    Overwrite,
    /// Somebody outside removes one.
    Remove,
    /// What a finished range wrote is cut short or gone before it is published.
    SpoiledCheckpoint,
}

impl Fault {
    /// Every kind.
    pub const ALL: [Self; 24] = [
        Self::Slow,
        Self::FailBefore,
        Self::ApplyThenFail,
        Self::ApplyLate,
        Self::FalseExists,
        Self::Storm,
        Self::ShortRead,
        Self::DamagedRead,
        Self::WrongRange,
        Self::StaleList,
        Self::Multipart,
        Self::BadEncoder,
        Self::Crash,
        Self::Pause,
        Self::Partition,
        Self::WrongClock,
        Self::ClockJump,
        Self::MessageLost,
        Self::MessageSlow,
        Self::MessageTwice,
        Self::MessageReplayed,
        Self::Overwrite,
        Self::Remove,
        Self::SpoiledCheckpoint,
    ];

    /// Its name, for `--without`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Slow => "slow",
            Self::FailBefore => "fail-before",
            Self::ApplyThenFail => "apply-then-fail",
            Self::ApplyLate => "apply-late",
            Self::FalseExists => "false-exists",
            Self::Storm => "storm",
            Self::ShortRead => "short-read",
            Self::DamagedRead => "damaged-read",
            Self::WrongRange => "wrong-range",
            Self::StaleList => "stale-list",
            Self::Multipart => "multipart",
            Self::BadEncoder => "bad-encoder",
            Self::Crash => "crash",
            Self::Pause => "pause",
            Self::Partition => "partition",
            Self::WrongClock => "wrong-clock",
            Self::ClockJump => "clock-jump",
            Self::MessageLost => "message-lost",
            Self::MessageSlow => "message-slow",
            Self::MessageTwice => "message-twice",
            Self::MessageReplayed => "message-replayed",
            Self::Overwrite => "overwrite",
            Self::Remove => "remove",
            Self::SpoiledCheckpoint => "spoiled-checkpoint",
        }
    }

    /// The kind of that name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|fault| fault.name() == name)
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// The mix of a seed: how often in a thousand each kind comes, where it could.
#[derive(Clone, Debug)]
pub(crate) struct Mix(BTreeMap<Fault, u64>);

impl Mix {
    /// Each kind is in about half of the seeds, seldom in some and often in others. In one seed of twenty nothing goes
    /// wrong at all, in one only clocks do, in one processes die too, and in two only one kind of fault happens.
    pub(crate) fn draw(seed: u64, without: &BTreeSet<Fault>) -> Self {
        let mut dice = Dice::new(seed, "mix");
        let (mode, single) = (dice.below(20), dice.one_of(&Fault::ALL));
        let mut mix = BTreeMap::new();
        for fault in Fault::ALL {
            let often = Dice::new(seed, fault.name()).one_of(&[0, 0, 0, 2, 5, 15, 40]);
            let is_clock = matches!(fault, Fault::WrongClock | Fault::ClockJump);
            let often = match mode {
                0 => 0,
                1 if is_clock => 40,
                2 | 3 if fault == single => 40,
                4 if is_clock || fault == Fault::Crash => 40,
                1..=4 => 0,
                _ => often,
            };
            if !without.contains(&fault) {
                mix.insert(fault, often);
            }
        }
        Self(mix)
    }

    /// How often in a thousand.
    pub(crate) fn of(&self, fault: Fault) -> u64 {
        self.0.get(&fault).copied().unwrap_or(0)
    }

    pub(crate) fn has(&self, fault: Fault) -> bool {
        self.of(fault) > 0
    }
}
