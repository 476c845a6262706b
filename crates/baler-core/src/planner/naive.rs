//! Policies that a tired person might write. The laws catch each of them; a law that none of these breaks would be
//! a law that cannot fail.

use super::laws::{Broken, Law, check_laws, check_trickle};
use super::simulator::{World, file, sorted, unsorted};
use super::{Choice, PartitionView, Policy, Proposal, Verdict};
use crate::file::{File, Level};
use crate::job::Why;
use crate::table::TimeWindow;
use crate::time::{Millis, RowTime, StoreTime, TimeRange};

/// A policy by what it merges, as positions in the view.
struct Naive(fn(&PartitionView<'_>) -> Vec<Vec<usize>>);

impl Policy for Naive {
    fn choose(&self, view: &PartitionView<'_>) -> Choice {
        let mut jobs = (self.0)(view);
        let mut verdicts = vec![Verdict::Healthy; view.files.len()];
        for (job, inputs) in jobs.iter_mut().enumerate() {
            inputs.sort_by_key(|&at| {
                (
                    view.files[at].added,
                    view.files[at].identity.modified,
                    &view.files[at].path,
                )
            });
            inputs
                .iter()
                .for_each(|&at| verdicts[at] = Verdict::Chosen { job });
        }
        let proposal = |inputs: &Vec<usize>| Proposal {
            inputs: inputs.iter().map(|&at| view.files[at].path.clone()).collect(),
            output_level: inputs
                .iter()
                .map(|&at| view.files[at].level)
                .max()
                .unwrap_or_default()
                .up(),
            why: Why::SmallFiles,
        };
        Choice {
            jobs: jobs.iter().map(proposal).collect(),
            verdicts,
        }
    }

    fn due(&self, _: &PartitionView<'_>, _: &Choice) -> Option<StoreTime> {
        None
    }
}

fn small(view: &PartitionView<'_>) -> Vec<usize> {
    let small = |file: &File| file.bytes() < view.merge.target_bytes / 2;
    (0..view.files.len())
        .filter(|&at| small(view.files[at]))
        .collect()
}

/// `inputs` as one job, if they are at least `least`.
fn one_job(inputs: Vec<usize>, least: usize) -> Vec<Vec<usize>> {
    if inputs.len() < least {
        Vec::new()
    } else {
        vec![inputs]
    }
}

fn broken(policy: fn(&PartitionView<'_>) -> Vec<Vec<usize>>, world: &World) -> Option<Law> {
    check_laws(&Naive(policy), world)
        .err()
        .map(|Broken { law, .. }| law)
}

fn small_files(count: u64) -> World {
    let files = (0..count).map(|at| file(&format!("f{at}"), 10, Some((at * 10, at * 10 + 5))));
    World::new(unsorted(), files.collect())
}

#[test]
fn rewriting_every_small_file_each_round_never_rests() {
    assert_eq!(
        broken(|view| one_job(small(view), 1), &small_files(1)),
        Some(Law::Bounded)
    );
    let trickle = check_trickle(&Naive(|view| one_job(small(view), 2)), &unsorted(), 40, 3, |_| {
        (0, 1)
    });
    assert_eq!(trickle.err().map(|broken| broken.law), Some(Law::NotForNothing));
}

#[test]
fn expecting_too_much_of_merges_never_rests() {
    assert_eq!(
        broken(|view| one_job(small(view), 2), &small_files(5)),
        Some(Law::FixedPoint)
    );
}

#[test]
fn merging_what_is_large_enough_lowers_nothing() {
    let mut world = small_files(4);
    world.files.iter_mut().for_each(|file| file.identity.bytes = 100);
    assert_eq!(
        broken(|view| one_job((0..view.files.len()).collect(), 2), &world),
        Some(Law::LowersStanding)
    );
}

#[test]
fn picking_by_size_only_reaches_across_a_healthy_file() {
    let mut world = small_files(3);
    world.merge = sorted();
    world.files[1].identity.bytes = 100;
    assert_eq!(
        broken(|view| one_job(small(view), 2), &world),
        Some(Law::NoNewOverlap)
    );
}

#[test]
fn looking_at_sizes_only_leaves_overlaps_for_ever() {
    let files = vec![file("a", 100, Some((0, 9))), file("b", 100, Some((5, 15)))];
    let world = World::new(sorted(), files);
    assert_eq!(
        broken(|view| one_job(small(view), 2), &world),
        Some(Law::AgeFires)
    );
}

#[test]
fn waiting_for_company_for_ever_breaks_the_age_law() {
    assert_eq!(
        broken(|view| one_job(small(view), 5), &small_files(4)),
        Some(Law::AgeFires)
    );
}

#[test]
fn taking_a_file_twice_is_caught() {
    assert_eq!(
        broken(|_| vec![vec![0, 1], vec![1, 2]], &small_files(3)),
        Some(Law::OneJobAFile)
    );
}

#[test]
fn taking_everything_at_once_is_too_much() {
    let mut world = small_files(50);
    world.files.iter_mut().for_each(|file| file.identity.bytes = 49);
    assert_eq!(broken(|view| one_job(small(view), 2), &world), Some(Law::Bounded));
}

#[test]
fn depending_on_the_order_of_the_view_is_caught() {
    assert_eq!(
        broken(
            |view| if view.files.len() > 2 {
                vec![vec![0, 1]]
            } else {
                Vec::new()
            },
            &small_files(5)
        ),
        Some(Law::Deterministic)
    );
}

#[test]
fn ignoring_marks_is_caught() {
    let mut world = small_files(2);
    world
        .files
        .iter_mut()
        .for_each(|file| file.apart = Some(crate::ids::JobId(7)));
    assert_eq!(
        broken(|view| one_job(small(view), 2), &world),
        Some(Law::ApartStaysApart)
    );
}

/// A policy that hands out a fixed choice for the first file or two.
struct Fixed(fn(&PartitionView<'_>) -> Choice);

impl Policy for Fixed {
    fn choose(&self, view: &PartitionView<'_>) -> Choice {
        (self.0)(view)
    }

    fn due(&self, _: &PartitionView<'_>, _: &Choice) -> Option<StoreTime> {
        None
    }
}

fn fixed(policy: fn(&PartitionView<'_>) -> Choice) -> Option<Law> {
    check_laws(&Fixed(policy), &small_files(2))
        .err()
        .map(|Broken { law, .. }| law)
}

fn both(view: &PartitionView<'_>) -> Choice {
    Naive(|_| vec![vec![0, 1]]).choose(view)
}

#[test]
fn saying_otherwise_than_doing_is_caught() {
    let unsaid = fixed(|view| Choice {
        verdicts: vec![Verdict::Healthy; 2],
        ..both(view)
    });
    assert_eq!(unsaid, Some(Law::VerdictsMatchJobs));
    let too_few = fixed(|_| Choice::default());
    assert_eq!(too_few, Some(Law::VerdictsMatchJobs));
    let no_turn = fixed(|_| Choice {
        jobs: Vec::new(),
        verdicts: vec![Verdict::WaitsForTurn; 2],
    });
    assert_eq!(no_turn, Some(Law::VerdictsMatchJobs));
}

#[test]
fn taking_what_is_not_there_is_caught() {
    let law = fixed(|view| {
        let mut choice = both(view);
        choice.jobs[0].inputs[0] = crate::file::FilePath::in_root("another-partition/f");
        choice
    });
    assert_eq!(law, Some(Law::OnlyFromTheView));
}

#[test]
fn newest_first_and_level_0_outputs_are_caught() {
    let newest_first = fixed(|view| {
        let mut choice = both(view);
        choice.jobs[0].inputs.reverse();
        choice
    });
    assert_eq!(newest_first, Some(Law::OrderedAndLevelled));
    let level_0 = fixed(|view| {
        let mut choice = both(view);
        choice.jobs[0].output_level = Level(0);
        choice
    });
    assert_eq!(level_0, Some(Law::OrderedAndLevelled));
}

/// Two windows of ten milliseconds, both closed unless `now` is earlier.
fn windowed(now: u64, times: [(i64, i64); 2]) -> World {
    let mut world = small_files(2);
    for (file, (min, max)) in world.files.iter_mut().zip(times) {
        file.times = Some(TimeRange {
            min: RowTime { unix_ms: min },
            max: RowTime { unix_ms: max },
        });
    }
    world.now = StoreTime { unix_ms: now };
    world.windows = Some(TimeWindow {
        window: Millis(10),
        lateness: Millis(5),
        age: Millis(1_000),
    });
    world
}

#[test]
fn merging_across_windows_is_caught() {
    let two_windows = windowed(100, [(0, 5), (10, 15)]);
    let law = broken(|view| one_job(small(view), 2), &two_windows);
    assert_eq!(law, Some(Law::ClosedWindow));
}

#[test]
fn merging_what_is_still_being_written_is_caught() {
    let open = windowed(25, [(10, 12), (10, 15)]);
    let law = broken(|view| one_job(small(view), 2), &open);
    assert_eq!(
        law,
        Some(Law::ClosedWindow),
        "the end and the lateness are not past"
    );
    let machine_says_closed = windowed(26, [(10, 12), (10, 15)]);
    let law = broken(|view| one_job(small(view), 2), &machine_says_closed);
    assert_ne!(law, Some(Law::ClosedWindow));
}

/// A merge that grows the span of time would show where windows are judged by the oldest row.
#[test]
fn assigning_files_by_their_oldest_row_is_caught() {
    let nested = windowed(1_000, [(0, 5), (0, 95)]);
    let law = broken(|view| one_job(small(view), 2), &nested);
    assert_eq!(law, Some(Law::ClosedWindow));
}

/// An age trigger that nobody is told of: an idle partition would never be looked at again.
#[test]
fn an_age_that_is_not_announced_is_caught() {
    let law = broken(
        |view| one_job(small(view), if view.now.unix_ms > 500 { 2 } else { 9 }),
        &small_files(3),
    );
    assert_eq!(law, Some(Law::RestsUntilDue));
}
