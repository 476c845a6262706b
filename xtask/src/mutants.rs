//! Planted bugs: the checks must find each of them, or they prove nothing.

use anyhow::{Context, Result, bail, ensure};

use crate::args::{Options, Usage};
use crate::test::Binary;
use crate::workspace::Workspace;
use crate::{process, stores, test};

pub(crate) const HELP: &str = "\
Usage: cargo xtask mutants [--only NAME,…]

Plants the bugs of crates/baler-core/src/mutants/list.rs one after another in the tests as they are built for `cargo xtask test`. Random
walks over the state machine must find theirs within 2,000 seeds each, and print how many it took; for each bug that a walk cannot
meet, the test that is named for it must fail. The command fails if one is not found. All of them take minutes.

  --only NAME,…  these";

/// Names the bug that a process begins with.
const VARIABLE: &str = "BALER_MUTANT";

/// The walks, and the list of what they must find.
const WALKS: &str = "crates/baler-core/src/decide/tests/walk/planted.rs";

/// Bugs that walks do not meet: the test binary, and the test in it that must fail.
const TESTS: &[Hunt] = &[
    in_core("AddsWhatIsDue", "due_paths_cannot_be_added_or_pinned"),
    in_core(
        "GarbageOfTheLiving",
        "a_replaced_version_is_no_garbage_for_ever_under_a_name_that_is_live_in_another",
    ),
    in_core(
        "OldListsCount",
        "who_deleted_from_an_older_list_says_nothing_of_a_version_that_came_since",
    ),
    in_core("ForeignIsLate", "a_late_write_is_deleted_only_if_all_signs_agree"),
    in_core(
        "PinEndsUnseen",
        "the_end_of_such_a_pin_is_worth_a_look_at_the_clock",
    ),
    in_core("UndoesWhatIsDue", "what_is_due_does_not_come_back"),
    in_core(
        "GraceBeginsEarly",
        "a_duration_begins_never_before_its_entry_was_written",
    ),
    in_core(
        "IdleWatcherRobbed",
        "an_idle_watcher_is_not_robbed_after_its_grant",
    ),
    in_core(
        "TombstoneDroppedEarly",
        "a_tombstone_stays_while_a_busy_file_may_hold_its_key",
    ),
    in_core("WrongTieBreak", "at_the_level_the_shards_of_a_tenant_meet"),
    in_journal(
        "NoReadBack",
        "object_log_in_memory_faults::a_put_that_lands_late_is_committed_once",
    ),
    in_journal(
        "OtherBytesOffered",
        "object_log_in_memory_faults::nobody_is_answered_while_the_outcome_is_unknown",
    ),
    in_journal(
        "NoBoundaryCheck",
        "object_log_in_memory::a_stalled_writer_cannot_fill_a_retired_slot",
    ),
    in_journal(
        "ReaderIgnoresBoundary",
        "object_log_in_memory::a_replica_that_slept_through_retirement_reloads",
    ),
    in_journal(
        "GroupOnOneState",
        "object_log_in_memory::requests_that_wait_share_an_append_and_are_decided_in_order",
    ),
    in_journal(
        "AnswersFromMemory",
        "object_log_in_memory::a_refusal_is_given_only_on_a_state_caught_up_after_the_request_came",
    ),
    in_journal(
        "ResumeSkipsBatch",
        "object_log_in_memory::sixteen_racing_replicas_agree",
    ),
    in_stories(
        "ClocksCompared",
        "clocks_ten_minutes_apart_and_jumping_take_no_lease_from_the_living",
    ),
    in_stories(
        "DeathSeenLate",
        "a_killed_workers_range_is_running_elsewhere_within_its_lease_time_and_a_poll",
    ),
    in_stories(
        "DeathsForgotten",
        "a_file_that_kills_its_worker_is_found_and_named_and_all_others_are_merged",
    ),
    in_stories(
        "NotReread",
        "damage_inside_the_encoder_is_caught_by_reread_and_not_without",
    ),
    in_stories(
        "StopsWithItsWatcher",
        "killing_a_coordinator_stops_no_merge_while_another_is_there",
    ),
    in_stories("RoutesIgnored", "a_worker_takes_only_what_its_flags_name"),
    in_stories(
        "EvenShares",
        "a_large_merge_beside_small_ones_has_what_they_do_not_need",
    ),
    in_stories(
        "LateUploadsStay",
        "an_upload_that_begins_after_its_attempt_was_forgotten_is_ended",
    ),
    in_stories(
        "LateStagingStays",
        "on_a_directory::what_lands_in_staging_after_its_attempt_was_forgotten_is_deleted",
    ),
    in_program("StormNotHeeded", "throttle_slows_down_on_503_and_recovers"),
    in_stories(
        "CacheUnchecked",
        "damage_in_the_cache_costs_a_read_and_nothing_else",
    ),
];

/// Where a bug must show.
#[derive(Clone, Copy)]
struct Hunt {
    mutant: &'static str,
    package: &'static str,
    target: &'static str,
    test: &'static str,
}

const fn in_core(mutant: &'static str, test: &'static str) -> Hunt {
    Hunt {
        mutant,
        package: "baler-core",
        target: "baler_core",
        test,
    }
}

const fn in_journal(mutant: &'static str, test: &'static str) -> Hunt {
    Hunt {
        mutant,
        package: "baler-journal",
        target: "it",
        test,
    }
}

const fn in_program(mutant: &'static str, test: &'static str) -> Hunt {
    Hunt {
        mutant,
        package: "baler",
        target: "baler",
        test,
    }
}

/// Real processes, on directories and stores.
const fn in_stories(mutant: &'static str, test: &'static str) -> Hunt {
    Hunt {
        mutant,
        package: "baler",
        target: "it",
        test,
    }
}

/// Random walks over the state machine.
const WALK_HUNT: Hunt = in_core("", "planted_bugs_of_the_core_are_found");

pub(crate) fn run(args: &[String]) -> Result<()> {
    let options = Options::parse(args, &["only"])?;
    let workspace = Workspace::find()?;
    let only: String = options.one("only", String::new())?;
    let tests = test::build(&workspace)?;
    match only.as_str() {
        "" => all(&workspace, &tests),
        names => {
            let mut names = names.split(',');
            names.try_for_each(|name| one(&workspace, &tests, name))
        }
    }
}

fn all(workspace: &Workspace, tests: &[Binary]) -> Result<()> {
    WALK_HUNT.run(workspace, tests, None)?;
    for hunt in TESTS {
        one(workspace, tests, hunt.mutant)?;
    }
    Ok(())
}

/// Plants these, and fails unless each is found.
pub(crate) fn each(workspace: &Workspace, names: &[String]) -> Result<()> {
    let tests = match names.is_empty() {
        true => return Ok(()),
        false => test::build(workspace)?,
    };
    names.iter().try_for_each(|name| one(workspace, &tests, name))
}

fn one(workspace: &Workspace, tests: &[Binary], mutant: &str) -> Result<()> {
    if found_by_walks(workspace)?.iter().any(|name| name == mutant) {
        return WALK_HUNT.run(workspace, tests, Some(mutant));
    }
    let Some(hunt) = TESTS.iter().find(|hunt| hunt.mutant == mutant) else {
        return Err(Usage::new(format!(
            "there is no planted bug `{mutant}` that walks or tests find"
        ))
        .into());
    };
    hunt.run(workspace, tests, None)?;
    if hunt.run(workspace, tests, Some(mutant)).is_ok() {
        bail!("{mutant} was not found: {} passed with it", hunt.test);
    }
    println!("figure: {mutant}: {} fails with it", hunt.test);
    Ok(())
}

fn found_by_walks(workspace: &Workspace) -> Result<Vec<String>> {
    let source =
        std::fs::read_to_string(workspace.path(WALKS)).with_context(|| format!("cannot read {WALKS}"))?;
    let names = named_in(&source);
    ensure!(names.len() >= 5, "{WALKS} names too few");
    Ok(names)
}

/// The lines of the list.
fn named_in(source: &str) -> Vec<String> {
    let lines = source.lines().map(str::trim);
    let names = lines.filter_map(|line| line.strip_prefix("Mutant::")?.strip_suffix(','));
    names.map(str::to_owned).collect()
}

impl Hunt {
    /// Runs the test with this bug planted, or with none.
    fn run(self, workspace: &Workspace, tests: &[Binary], mutant: Option<&str>) -> Result<()> {
        let of_target = |binary: &&Binary| binary.package == self.package && binary.target == self.target;
        let mut found = false;
        for binary in tests.iter().filter(of_target) {
            let listed = process::output(binary.command().args([self.test, "--list", "--include-ignored"]))?;
            if !listed.contains(": test") {
                continue;
            }
            found = true;
            let mut command = binary.command();
            command.args([self.test, "--include-ignored", "--nocapture"]);
            command.envs(mutant.map(|mutant| (VARIABLE, mutant)));
            if self.package == "baler" {
                command.envs(stores::env(workspace)?);
            }
            process::run(&mut command)?;
        }
        ensure!(found, "there is no test {}", self.test);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_list_is_read_from_the_source() {
        let source = "const HERE: &[Mutant] = &[\n    Mutant::One,\n    Mutant::Two,\n];\n Mutant::ALL\n";
        assert_eq!(named_in(source), ["One", "Two"]);
    }
}
