//! What every policy must obey, whatever it aims at. A new policy runs `check_laws` and `check_trickle` from its
//! tests; `naive` shows that each law can be broken.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use super::simulator::{World, file, range};
use super::standing::standings;
use super::{Choice, Policy, Proposal, Verdict};
use crate::file::{File, FilePath, Level};
use crate::ids::{JobId, Sequence};
use crate::limits::{JOB_INPUTS_MAX, JOB_TARGETS_MAX, LEVEL_MAX};
use crate::table::MergeSpec;
use crate::time::{Millis, StoreTime};

/// Longer than any policy may let a file wait.
const VERY_LONG: Millis = Millis::from_secs(10 * 365 * 24 * 60 * 60);

/// The laws, by what breaks them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Law {
    /// Each file has one verdict; "chosen" names the one job that it is in; nobody waits for a turn that no job ends.
    VerdictsMatchJobs,
    /// No file is in two jobs, or twice in one.
    OneJobAFile,
    /// Inputs are files of the view: so never of another partition, and never busy.
    OnlyFromTheView,
    /// At least two inputs, at most so many, and so many bytes unless they are two.
    Bounded,
    /// Inputs come oldest first; outputs are above level 0 and not below an input.
    OrderedAndLevelled,
    /// Files that failed together share no job.
    ApartStaysApart,
    /// The choice does not depend on the order of the view.
    Deterministic,
    /// No output overlaps a file that no input overlapped.
    NoNewOverlap,
    /// Each job lowers the overlap, or leaves it and lowers the number of files.
    LowersStanding,
    /// Planning and merging in turn comes to an end, even where merges make other files than expected.
    FixedPoint,
    /// In a partition where nothing arrives, whatever overlaps or is small is merged in the end.
    AgeFires,
    /// A partition of which nothing was chosen stays at rest until it is due, if nothing but time passes.
    RestsUntilDue,
    /// With windows: what is merged lies in one window, and that one is closed.
    ClosedWindow,
    /// With windows: no output spans more time than the widest input.
    SpansStay,
    /// Where a few bytes arrive at a time, a byte is rewritten a logarithmic number of times.
    NotForNothing,
}

/// A law that was broken, and how.
pub(super) struct Broken {
    pub(super) law: Law,
    how: String,
}

impl fmt::Debug for Broken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}: {}", self.law, self.how)
    }
}

fn must(holds: bool, law: Law, how: impl FnOnce() -> String) -> Result<(), Broken> {
    if holds {
        Ok(())
    } else {
        Err(Broken { law, how: how() })
    }
}

/// Checks one choice, then every job of it as the simulator carries it out, then the choice after that, until nothing
/// is left to do; then with the busy files free; then with all files old.
pub(super) fn check_laws(policy: &dyn Policy, world: &World) -> Result<(), Broken> {
    let mut rested = world.clone();
    run_to_rest(policy, &mut rested)?;
    let freed = std::mem::take(&mut rested.busy);
    rested.files.extend(freed);
    run_to_rest(policy, &mut rested)?;
    check_age(policy, &mut rested)?;
    check_rest_when_sloppy(policy, world)
}

fn run_to_rest(policy: &dyn Policy, world: &mut World) -> Result<(), Broken> {
    let rounds_max = 8 + world.files.len() + targets(world);
    for _ in 0..rounds_max {
        let choice = policy.choose(&world.view());
        check_choice(world, &choice)?;
        check_shuffled(policy, world, &choice)?;
        if choice.jobs.is_empty() {
            return check_due(policy, world, &choice);
        }
        for job in &choice.jobs {
            check_job(world, job)?;
        }
    }
    must(false, Law::FixedPoint, || {
        format!("still jobs after {rounds_max} rounds: {world:?}")
    })
}

/// Looks at the last moment before it is due.
fn check_due(policy: &dyn Policy, world: &World, choice: &Choice) -> Result<(), Broken> {
    let due = policy.due(&world.view(), choice);
    let mut later = world.clone();
    later.now = due.map_or(world.now + VERY_LONG, |due| due - Millis(1));
    let rests = later.now < world.now || policy.choose(&later.view()).jobs.is_empty();
    must(rests, Law::RestsUntilDue, || {
        format!("due at {due:?}, but there are jobs before: {later:?}")
    })
}

/// Planning must end even if merges do not what is expected of them.
fn check_rest_when_sloppy(policy: &dyn Policy, world: &World) -> Result<(), Broken> {
    let mut world = world.clone();
    world.sloppy = true;
    let rounds_max = (8 + world.files.len() + targets(&world)) * usize::from(LEVEL_MAX);
    for _ in 0..rounds_max {
        let choice = policy.choose(&world.view());
        check_choice(&world, &choice)?;
        if choice.jobs.is_empty() {
            return Ok(());
        }
        choice.jobs.iter().for_each(|job| drop(world.run(job)));
    }
    must(false, Law::FixedPoint, || {
        format!("still jobs after {rounds_max} rounds of sloppy merges: {world:?}")
    })
}

fn targets(world: &World) -> usize {
    let bytes: u64 = world.live().map(File::bytes).sum();
    usize::try_from(bytes / world.merge.target_bytes).expect("a small world")
}

fn check_choice(world: &World, choice: &Choice) -> Result<(), Broken> {
    let mut job_of: BTreeMap<&FilePath, usize> = BTreeMap::new();
    for (number, job) in choice.jobs.iter().enumerate() {
        for path in &job.inputs {
            must(world.file(path).is_some(), Law::OnlyFromTheView, || {
                format!("{path} is not in the view")
            })?;
            let before = job_of.insert(path, number);
            must(before.is_none(), Law::OneJobAFile, || {
                format!("{path} is taken twice")
            })?;
        }
        check_proposal(world, job)?;
    }
    let one_each = choice.verdicts.len() == world.files.len();
    must(one_each, Law::VerdictsMatchJobs, || {
        "not one verdict a file".into()
    })?;
    for (file, verdict) in world.files.iter().zip(&choice.verdicts) {
        let said = match verdict {
            Verdict::Chosen { job } => Some(*job),
            _ => None,
        };
        let matches = said == job_of.get(&file.path).copied();
        let has_turn = *verdict != Verdict::WaitsForTurn || !choice.jobs.is_empty();
        must(matches && has_turn, Law::VerdictsMatchJobs, || {
            format!("{}: {verdict}", file.path)
        })?;
    }
    Ok(())
}

fn check_proposal(world: &World, job: &Proposal) -> Result<(), Broken> {
    let inputs: Vec<&File> = job.inputs.iter().filter_map(|path| world.file(path)).collect();
    let bytes: u64 = inputs.iter().map(|file| file.bytes()).sum();
    let bytes_fit = bytes <= JOB_TARGETS_MAX * world.merge.target_bytes || inputs.len() == 2;
    let bounded = (2..=JOB_INPUTS_MAX).contains(&inputs.len()) && bytes_fit;
    must(bounded, Law::Bounded, || {
        format!("{} inputs of {bytes} bytes", inputs.len())
    })?;

    let age = |file: &File| (file.added, file.identity.modified, file.path.clone());
    let ordered = inputs.is_sorted_by_key(|file| age(file));
    let top = inputs.iter().map(|file| file.level).max().unwrap_or_default();
    let levelled = (top.max(Level(1))..=Level(LEVEL_MAX)).contains(&job.output_level);
    must(ordered && levelled, Law::OrderedAndLevelled, || {
        format!("{job:?}")
    })?;

    let windows: BTreeSet<_> = inputs.iter().map(|file| world.window_of(file)).collect();
    let closed = inputs.iter().all(|file| is_closed(world, file));
    must(windows.len() == 1 && closed, Law::ClosedWindow, || {
        format!("{job:?} in {world:?}")
    })?;

    let marks: Vec<JobId> = inputs.iter().filter_map(|file| file.apart).collect();
    let distinct: BTreeSet<JobId> = marks.iter().copied().collect();
    must(distinct.len() == marks.len(), Law::ApartStaysApart, || {
        format!("{job:?}")
    })
}

/// Whether the window of a file is past, with all the lateness that is granted.
fn is_closed(world: &World, file: &File) -> bool {
    let (Some(settings), Some(window)) = (&world.windows, world.window_of(file)) else {
        return true;
    };
    let length = i64::try_from(settings.window.0.max(1)).expect("a short window");
    let lateness = i64::try_from(settings.lateness.0).expect("a short lateness");
    let now = i64::try_from(world.now.unix_ms).expect("an early time");
    (window + 1) * length + lateness < now
}

fn check_shuffled(policy: &dyn Policy, world: &World, choice: &Choice) -> Result<(), Broken> {
    let mut shuffled = world.clone();
    shuffled.files.reverse();
    let middle = shuffled.files.len() / 2;
    shuffled.files[middle..].reverse();
    let other = policy.choose(&shuffled.view());
    let by_path = |world: &World, choice: &Choice| -> BTreeMap<FilePath, String> {
        let verdicts = choice.verdicts.iter().map(ToString::to_string);
        world
            .files
            .iter()
            .map(|file| file.path.clone())
            .zip(verdicts)
            .collect()
    };
    let same = other.jobs == choice.jobs && by_path(&shuffled, &other) == by_path(world, choice);
    must(same, Law::Deterministic, || {
        format!("{choice:#?}\nbut shuffled {other:#?}")
    })
}

/// Carries out a job and compares.
fn check_job(world: &mut World, job: &Proposal) -> Result<(), Broken> {
    let before = world.clone();
    let outputs = world.run(job);
    let inputs: BTreeSet<&FilePath> = job.inputs.iter().collect();
    for other in before.live().filter(|file| !inputs.contains(&file.path)) {
        let met = job
            .inputs
            .iter()
            .filter_map(|path| before.file(path))
            .any(|input| before.overlap(input, other));
        let meets = outputs.iter().any(|output| world.overlap(output, other));
        must(met || !meets, Law::NoNewOverlap, || {
            format!("{job:?} reaches across {}", other.path)
        })?;
    }
    check_spans(&before, job, &outputs)?;
    let (was, is) = standings(&before, world);
    must(is < was, Law::LowersStanding, || {
        format!("{job:?}: from {was:?} to {is:?}")
    })
}

fn check_spans(before: &World, job: &Proposal, outputs: &[File]) -> Result<(), Broken> {
    let Some(settings) = &before.windows else {
        return Ok(());
    };
    let length = i64::try_from(settings.window.0.max(1)).expect("a short window");
    let windows = |file: &File| {
        file.times.map_or(0, |times| {
            times.max.unix_ms.div_euclid(length) - times.min.unix_ms.div_euclid(length)
        })
    };
    let inputs = job.inputs.iter().filter_map(|path| before.file(path));
    let widest = inputs.map(windows).max();
    let stay = outputs.iter().all(|output| Some(windows(output)) <= widest);
    must(stay, Law::SpansStay, || format!("{job:?} in {before:?}"))
}

/// Lets all files grow old, as often as that starts anything, and looks at what is left.
fn check_age(policy: &dyn Policy, world: &mut World) -> Result<(), Broken> {
    loop {
        let jobs_run = world.jobs_run;
        world.now = world.now + VERY_LONG;
        run_to_rest(policy, world)?;
        if world.jobs_run == jobs_run {
            break;
        }
    }
    // A mark has to be lifted by a merge with somebody else, which need not exist.
    let files: Vec<&File> = world.files.iter().filter(|file| file.apart.is_none()).collect();
    if files.len() < world.files.len() {
        return Ok(());
    }
    for (at, a) in files.iter().enumerate() {
        for b in &files[at + 1..] {
            let overlap = world.overlap(a, b);
            let together = world.window_of(a) == world.window_of(b);
            let small = together && world.is_small(a) && world.is_small(b) && !is_between_any(world, a, b);
            must(!overlap && !small, Law::AgeFires, || {
                format!("{} and {} are left in {world:?}", a.path, b.path)
            })?;
        }
    }
    Ok(())
}

/// Whether a third file touches the stretch of keys from one file to the other.
fn is_between_any(world: &World, a: &File, b: &File) -> bool {
    let (Some((a_min, a_max)), Some((b_min, b_max))) = (range(a), range(b)) else {
        return false;
    };
    let (min, max) = (a_min.min(b_min), a_max.max(b_max));
    let others = world
        .files
        .iter()
        .filter(|file| file.path != a.path && file.path != b.path)
        .filter(|file| world.window_of(file) == world.window_of(a));
    world.is_sorted()
        && others
            .filter_map(range)
            .any(|(other_min, other_max)| other_min <= max && min <= other_max)
}

/// One byte at a time arrives, `steps` times, with keys as `keys` says; each time the policy plans until it rests. No
/// more than `factor · n · log2 n` bytes may be rewritten.
pub(super) fn check_trickle(
    policy: &dyn Policy,
    merge: &MergeSpec,
    steps: u64,
    factor: u64,
    keys: fn(u64) -> (u64, u64),
) -> Result<(), Broken> {
    let mut world = World::new(merge.clone(), Vec::new());
    for step in 0..steps {
        world.now = StoreTime { unix_ms: step };
        world.files.push(File {
            added: Sequence(step),
            ..file(&format!("in-{step:05}"), 1, Some(keys(step)))
        });
        loop {
            let choice = policy.choose(&world.view());
            choice.jobs.iter().for_each(|job| drop(world.run(job)));
            if choice.jobs.is_empty() || world.bytes_rewritten > steps * steps {
                break;
            }
        }
    }
    let allowed = factor * steps * u64::from(steps.ilog2());
    must(world.bytes_rewritten <= allowed, Law::NotForNothing, || {
        format!(
            "{} bytes rewritten for {steps}, allowed {allowed}",
            world.bytes_rewritten
        )
    })
}
