//! A check that cannot fail proves nothing: deliberately wrong state machines must be found out.

use super::super::fixtures::{NATIVE, output_of};
use super::{Decide, walk};
use crate::decide::{Decision, decide};
use crate::event::Event;
use crate::external::{CatalogVersion, CommitOutcome, History};
use crate::file::Digest;
use crate::ids::{Sequence, TableName};
use crate::names::Attempt;
use crate::positions::Positions;
use crate::request::Request;
use crate::state::State;
use crate::time::TimeRange;
use std::sync::Arc;

const SEEDS: u64 = 400;

fn is_found_out(mutant: Decide) {
    let found = (0..SEEDS).find_map(|seed| walk(seed, mutant).err());
    assert!(found.is_some(), "{SEEDS} walks found nothing wrong");
}

/// "Ownership by job is enough": a finish under an old token is taken for one under the present token.
fn no_token_check(state: &State, request: &Request) -> Decision {
    let Request::Finish(finish) = request else {
        return decide(state, request);
    };
    let mut finish = finish.clone();
    let lease = state
        .jobs
        .get(&finish.job)
        .and_then(|job| job.range(finish.range)?.lease());
    if let Some(lease) = lease {
        let attempt = Attempt {
            job: finish.job,
            range: finish.range,
            token: lease.token,
        };
        finish.finished.token = lease.token;
        for output in &mut finish.finished.outputs {
            output.path = output_of(&state.jobs[&finish.job], &attempt, output.part);
        }
    }
    decide(state, &Request::Finish(finish))
}

/// A listing is believed however old it is.
fn stale_evidence(state: &State, request: &Request) -> Decision {
    let mut request = request.clone();
    let newest = Sequence(state.sequence.0 - 1);
    match &mut request {
        Request::AddFiles { evidence, .. } | Request::LoseFiles { evidence, .. } => *evidence = newest,
        _ => {}
    }
    decide(state, &request)
}

/// The merge's figures are not compared.
fn no_proof(state: &State, request: &Request) -> Decision {
    let mut request = request.clone();
    if let Request::Finish(finish) = &mut request
        && let [first, rest @ ..] = &mut finish.finished.outputs[..]
    {
        let rows: u64 = finish.finished.reads.iter().map(|read| read.rows).sum();
        let digest: Digest = finish.finished.reads.iter().map(|read| read.digest).sum();
        let rest_rows: u64 = rest.iter().map(|output| output.rows).sum();
        let rest_digest: Digest = rest.iter().map(|output| output.digest).sum();
        first.rows = rows - rest_rows;
        first.digest = Digest(digest.0.wrapping_sub(rest_digest.0));
    }
    decide(state, &request)
}

/// Each range is proved by itself, and nobody adds them up.
fn ranges_are_not_added_up(state: &State, request: &Request) -> Decision {
    let mut state = state.clone();
    if let Request::Finish(finish) = request
        && let Some(job) = state.jobs.get_mut(&finish.job)
    {
        let job = Arc::make_mut(job);
        let finished: Vec<_> = job
            .finished()
            .map(|(_, finished)| finished.reads.clone())
            .collect();
        for (index, input) in job.inputs.iter_mut().enumerate() {
            let reads = finished.iter().chain([&finish.finished.reads]);
            let input = Arc::make_mut(input);
            input.rows = reads.map(|reads| reads[index].rows).sum();
            input.digest = None;
        }
    }
    positions_are_not_added_up(&state, request)
}

/// Rows are counted, and nobody asks which they are.
fn positions_are_not_added_up(state: &State, request: &Request) -> Decision {
    let mut request = request.clone();
    if let Request::Finish(finish) = &mut request
        && let Some(job) = state.jobs.get(&finish.job)
    {
        for (index, (input, read)) in job.inputs.iter().zip(&mut finish.finished.reads).enumerate() {
            let others = job
                .finished()
                .filter_map(|(_, finished)| finished.reads[index].positions);
            let others: Positions = others.sum();
            read.positions = Some(others.lacking_to(Positions::all(input.rows)));
        }
    }
    decide(state, &request)
}

/// A catalog that refuses is believed without proof.
fn gives_up_without_proof(state: &State, request: &Request) -> Decision {
    let mut request = request.clone();
    if let Request::ReportCommit {
        outcome: CommitOutcome::Refused { history, .. },
        ..
    } = &mut request
    {
        *history = History {
            after: CatalogVersion(0),
            until: CatalogVersion(u64::MAX),
        };
    }
    decide(state, &request)
}

/// Nobody looks whether the inputs are still there.
fn no_source_check(state: &State, request: &Request) -> Decision {
    let mut request = request.clone();
    if let Request::Finish(finish) = &mut request
        && let Some(job) = state.jobs.get(&finish.job)
    {
        let planned = job.inputs.iter().map(|input| Some(input.identity.clone()));
        finish.inputs_now = Some(planned.collect());
    }
    decide(state, &request)
}

/// The collector does not know the jobs.
fn collector_ignores_jobs(state: &State, request: &Request) -> Decision {
    let mut state = state.clone();
    if matches!(request, Request::ReportLateWrites { .. }) {
        state.jobs.clear();
    }
    decide(&state, request)
}

/// The collector does not know the readers.
fn collector_ignores_pins(state: &State, request: &Request) -> Decision {
    let mut state = state.clone();
    if matches!(request, Request::DeclareDue { .. }) {
        state.pins.clear();
    }
    decide(&state, request)
}

/// What was replaced is forgotten at once.
fn forgets_what_was_consumed(state: &State, request: &Request) -> Decision {
    let mut state = state.clone();
    if matches!(request, Request::AddFiles { .. }) {
        for name in super::TABLES.map(TableName::from) {
            let table = &mut state.tables[&name];
            table.consumed.clear();
            table.removed.clear();
        }
    }
    decide(&state, request)
}

/// An end without a result leaves nothing behind.
fn forgets_leftovers(state: &State, request: &Request) -> Decision {
    let mut state = state.clone();
    if matches!(request, Request::ReportSweep { .. }) {
        state.leftovers.clear();
    }
    decide(&state, request)
}

/// Retention looks at the oldest row of a file.
fn retention_drops_newer_rows(state: &State, request: &Request) -> Decision {
    let mut state = state.clone();
    if matches!(request, Request::ApplyRetention(_)) {
        let native = &mut state.tables[&TableName::from(NATIVE)];
        let files: Vec<_> = native.files.values().cloned().collect();
        for mut file in files {
            let times = &mut Arc::make_mut(&mut file).times;
            *times = times.map(|times| TimeRange {
                max: times.min,
                ..times
            });
            native.files.insert(file.path.clone(), file);
        }
    }
    decide(&state, request)
}

/// The collector does not know which outputs the table shows.
fn sweeps_what_is_live(state: &State, request: &Request) -> Decision {
    let mut state = state.clone();
    if matches!(request, Request::ReportSweep { .. }) {
        let native = &mut state.tables[&TableName::from(NATIVE)];
        native.files.clear();
    }
    decide(&state, request)
}

/// Any version may be pinned, however much of it is gone.
fn pins_what_is_gone(state: &State, request: &Request) -> Decision {
    let mut state = state.clone();
    if matches!(request, Request::Pin { .. }) {
        let native = &mut state.tables[&TableName::from(NATIVE)];
        native.readable_from = Sequence(1);
    }
    decide(&state, request)
}

/// An undo does not look whether its outputs were merged on.
fn undoes_what_was_merged_on(state: &State, request: &Request) -> Decision {
    let mut state = state.clone();
    if let Request::Undo(undo) = request
        && let Some(committed) = state.committed.get(&undo.job).cloned()
    {
        let table = &mut state.tables[&committed.job.table];
        for output in &committed.outputs {
            table.files.insert(output.path.clone(), output.clone());
        }
    }
    let mut decision = decide(&state, request);
    // What holds them now is not cancelled for it either.
    if matches!(request, Request::Undo(_)) {
        decision
            .events
            .retain(|event| matches!(event, Event::JobUndone { .. }));
    }
    decision
}

macro_rules! found_out {
    ($($mutant:ident),+ $(,)?) => {
        mod found_out {
            $(
                #[test]
                fn $mutant() {
                    super::is_found_out(super::$mutant);
                }
            )+
        }
    };
}

found_out!(
    no_token_check,
    stale_evidence,
    no_proof,
    ranges_are_not_added_up,
    positions_are_not_added_up,
    gives_up_without_proof,
    no_source_check,
    collector_ignores_jobs,
    collector_ignores_pins,
    forgets_what_was_consumed,
    forgets_leftovers,
    retention_drops_newer_rows,
    sweeps_what_is_live,
    pins_what_is_gone,
    undoes_what_was_merged_on,
);
