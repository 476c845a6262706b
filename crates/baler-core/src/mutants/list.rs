//! The bugs: what each does, and the guarantee of the design that it breaks. Where it is planted, `planted!` says its name.

use std::sync::atomic::{AtomicUsize, Ordering};

impl Mutant {
    /// Why a simulated fleet does not meet it, where that is so: a walk or a test that `cargo xtask mutants` knows finds it.
    pub fn not_simulated(self) -> Option<&'static str> {
        match self {
            Self::DeathSeenLate => Some("how soon a death is seen is not among the guarantees"),
            Self::DeathsForgotten => Some("no simulated file kills its worker"),
            Self::RoutesIgnored | Self::EvenShares => {
                Some("simulated workers take everything, and have room for it")
            }
            Self::StormNotHeeded => Some("a simulated store has no limit that requests could exceed"),
            Self::CacheUnchecked => Some("simulated workers have no cache"),
            Self::StopsWithItsWatcher => Some(
                "coordinators seldom die while a merge is long under way and another stays: 150 fleets in which only processes \
                 die did not show it",
            ),
            Self::OtherBytesOffered => {
                Some("what is decided anew finds itself done: 300 simulated fleets did not show it")
            }
            Self::PositionsNotCompared => Some("simulated merges read each row once"),
            Self::ForeignIsLate => Some("no other journal's files lie in a simulated root"),
            Self::GarbageOfTheLiving => Some("one simulated fleet in ten thousand meets it"),
            Self::OldListsCount => Some("one simulated fleet in some ten thousand meets it"),
            Self::LateStagingStays => Some(
                "what is staged seldom lands there after its attempt was forgotten: in one of some thousand seeds",
            ),
            _ => None,
        }
    }
}

/// Names the bug that a process begins with, so that any test can be run with it.
pub const VARIABLE: &str = "BALER_MUTANT";

/// The number of the chosen one, counted from 1; 0 is none.
static CHOSEN: AtomicUsize = AtomicUsize::new(UNSET);

const UNSET: usize = usize::MAX;

/// Chooses a bug for this process, or none.
pub fn choose(mutant: Option<Mutant>) {
    CHOSEN.store(mutant.map_or(0, |mutant| mutant as usize + 1), Ordering::SeqCst);
}

/// Whether this one is chosen.
pub fn is_chosen(mutant: Mutant) -> bool {
    if CHOSEN.load(Ordering::Relaxed) == UNSET {
        choose(chosen_outside());
    }
    CHOSEN.load(Ordering::Relaxed) == mutant as usize + 1
}

/// The one that the environment names.
#[expect(
    clippy::disallowed_methods,
    reason = "what is planted is chosen from outside, and never in the product"
)]
pub fn chosen_outside() -> Option<Mutant> {
    let name = std::env::var(VARIABLE).ok()?;
    let mutant = Mutant::named(&name);
    Some(mutant.unwrap_or_else(|| panic!("{VARIABLE}: there is no mutant {name}")))
}

macro_rules! mutants {
    ($($name:ident, $guarantee:literal, $says:literal;)+) => {
        /// A planted bug.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Mutant {
            $(#[doc = $says] $name,)+
        }

        impl Mutant {
            /// All of them.
            pub const ALL: &[Self] = &[$(Self::$name),+];

            /// What it does.
            pub fn says(self) -> &'static str {
                match self {
                    $(Self::$name => $says,)+
                }
            }

            /// The guarantee that it breaks, by its number in section 3 of the design.
            pub fn guarantee(self) -> u32 {
                match self {
                    $(Self::$name => $guarantee,)+
                }
            }

            /// The one of this name.
            pub fn named(name: &str) -> Option<Self> {
                Self::ALL.iter().copied().find(|mutant| mutant.name() == name)
            }

            /// Its name.
            pub fn name(self) -> &'static str {
                match self {
                    $(Self::$name => stringify!($name),)+
                }
            }
        }
    };
}

mutants! {
    // The journal.
    NoReadBack, 4, "An append that got no clear answer is taken for done.";
    NoBoundaryCheck, 4, "A writer that filled a slot does not ask whether the slot is retired.";
    ReaderIgnoresBoundary, 4, "A replica that read entries does not ask whether they are retired.";
    GroupOnOneState, 3, "Requests of a group are decided on one state, not each after those before it.";
    AnswersFromMemory, 4, "A refusal is given on whatever state is known, without looking for a later one.";
    OtherBytesOffered, 4, "A slot whose outcome is unknown is offered a batch that was decided anew.";
    ResumeSkipsBatch, 4, "The first entry after a snapshot is skipped.";

    // Leases.
    TokenAtLeast, 3, "A token counts if it is as great as the lease's, or greater.";
    TokenReused, 3, "Leases that follow each other closely get the same token.";
    RenewalWithoutCondition, 3, "A worker that shows any token is told to go on, and its lease is made anew.";
    IdleWatcherRobbed, 3, "A grant is no sign of life of its watcher.";
    WatcherAlwaysSure, 3, "A watcher answers for its leases however long ago it gave a sign of life.";
    WatcherNamedByProcess, 3, "A watcher's id is its process's number, the same in each container and after each restart.";
    HeartbeatByBytes, 7, "A worker is heard only when it has read more bytes.";
    StopsWithItsWatcher, 7, "A worker stops its merges as soon as its watcher does not answer, though another would accept them.";
    GrantNotTimed, 7, "A grant whose worker is never heard of is never let go.";
    RetryWithoutBudget, 8, "Whoever fails tries again at once.";
    DeleteOnUnknown, 1, "A worker that is not told whether its result counts deletes what it wrote.";

    // Jobs.
    GoneBeforeTheCut, 7, "An input that was removed before its job was cut is taken for a store that fails.";
    NoSourceCheck, 2, "Nobody looks whether the inputs are still there when a merge is finished.";
    FinalStateOverwritten, 7, "An ended job is written back by an older copy of it.";
    PublishedBeforeCommitted, 1, "The outputs of the first range are shown before the others are finished.";
    InputsGoBeforePublished, 1, "Inputs may go as soon as the outputs are merged.";
    UnpublishedIsLetGo, 1, "An output that is not published yet is let go when a listing misses it.";
    PositionsNotCompared, 1, "Rows read over all ranges are counted, and nobody asks which they are.";
    NotReread, 1, "Outputs are not read back where their table asks for it.";
    SharedOutputNames, 1, "Two attempts at a range write to the same names.";
    TombstoneDroppedEarly, 1, "A tombstone goes although older rows of its key are in other files.";
    WrongTieBreak, 1, "Of two rows with one key and version, the older file's wins.";

    // What comes and goes.
    StaleEvidence, 1, "A listing or a 404 is believed however old it is.";
    ForgetsConsumed, 1, "What was replaced is forgotten at once.";
    AddsWhatIsDue, 1, "A file is taken although it is on a deletion list.";
    PinsWhatIsGone, 5, "Any version may be pinned, however much of it is gone.";
    CollectorIgnoresPins, 5, "The collector does not know the readers.";
    CollectorIgnoresJobs, 6, "The collector does not know what unfinished jobs count on.";
    FinishedIsLeftover, 6, "A finished range is taken for a leftover of its attempt.";
    SweepsWhatIsLive, 6, "The collector does not know which outputs the table shows.";
    ForeignIsLate, 6, "A name of Baler's form is taken for a late write whatever journal's id it holds.";
    DeletesByName, 6, "What others named is deleted in whatever version it is.";
    PinEndsUnseen, 6, "On an idle root nobody looks at the clock for a pin that holds what came back by an undo.";
    LateUploadsStay, 6, "An upload in parts that began after its attempt was forgotten is left.";
    LateStagingStays, 6, "What an attempt staged after it was forgotten is left.";
    OldProbesStay, 6, "On an idle root a probe's object is never old enough to be swept.";
    OldListsCount, 1, "A deletion from an older list counts for a version that came under the name since.";
    GarbageOfTheLiving, 7, "A version is on its way out under a path that is live in another.";
    UndoesWhatIsDue, 6, "An undo brings files back that are on a deletion list.";
    GraceBeginsEarly, 5, "A duration begins before the entry that began it was written.";

    // Whole processes.
    ClocksCompared, 9, "How long a watcher was silent is told by this machine's clock and the store's.";
    DeathSeenLate, 7, "A worker is taken for dead after three lease times.";
    DeathsForgotten, 7, "Leases that were lost without a word are not counted.";
    RoutesIgnored, 8, "A worker is granted work whatever it said that it takes.";
    EvenShares, 8, "Every merge has the same share of a worker's memory.";
    StormNotHeeded, 8, "Requests go on at their pace when the store says that it is too busy.";
    CacheUnchecked, 1, "What lies in the cache is believed.";
}
