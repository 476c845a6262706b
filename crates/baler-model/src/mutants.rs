//! A checker that finds nothing proves nothing: worlds in which the product is a little wrong, on purpose.

use baler_core::ids::TableName;
use baler_core::names::Attempt;
use baler_core::{Decision, Request, State};

use crate::world::{JOURNAL, TABLE};

/// What is wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mutant {
    /// An entry is written over whatever is there.
    AppendsWithoutCondition,
    /// A result under an old token is taken for one under the present token.
    TakesAnyToken,
    /// Nobody looks whether the inputs are still there.
    ChecksNoSources,
    /// The collector does not know the readers.
    IgnoresPins,
    /// The collector does not know which outputs the table shows.
    SweepsWhatIsLive,
    /// What was replaced is forgotten at once.
    ForgetsWhatWasConsumed,
    /// A worker that hears nothing takes its outputs away.
    DeletesOnUnknown,
    /// The collector deletes what others named by name alone.
    DeletesByName,
}

impl Mutant {
    /// All of them.
    pub const ALL: [Self; 8] = [
        Self::AppendsWithoutCondition,
        Self::TakesAnyToken,
        Self::ChecksNoSources,
        Self::IgnoresPins,
        Self::SweepsWhatIsLive,
        Self::ForgetsWhatWasConsumed,
        Self::DeletesOnUnknown,
        Self::DeletesByName,
    ];

    /// Whether it shows in a native table; else in a plain one.
    pub fn is_native(self) -> bool {
        !matches!(self, Self::ChecksNoSources | Self::DeletesByName)
    }
}

/// Decides as the product does, or a little wrong.
pub(crate) fn decide(mutant: Option<Mutant>, state: &State, request: &Request) -> Decision {
    let mut state = state.clone();
    let mut request = request.clone();
    match (mutant, &mut request) {
        (Some(Mutant::TakesAnyToken), Request::Finish(finish)) => {
            let job = state.jobs.get(&finish.job);
            let lease = job.and_then(|job| job.range(finish.range)?.lease());
            if let (Some(job), Some(lease)) = (job, lease) {
                let attempt = Attempt {
                    job: job.id,
                    range: finish.range,
                    token: lease.token,
                };
                finish.finished.token = lease.token;
                let catalog = &state.tables[&TableName::from(TABLE)].spec.catalog;
                for output in &mut finish.finished.outputs {
                    output.path = job.output_path(catalog, JOURNAL, &attempt, output.part);
                }
            }
        }
        (Some(Mutant::ChecksNoSources), Request::Finish(finish)) => {
            if let Some(job) = state.jobs.get(&finish.job) {
                let planned = job.inputs.iter().map(|input| Some(input.identity.clone()));
                finish.inputs_now = Some(planned.collect());
            }
        }
        (Some(Mutant::IgnoresPins), Request::DeclareDue { .. }) => state.pins.clear(),
        (Some(Mutant::SweepsWhatIsLive), Request::ReportSweep { .. }) => {
            state.tables[&TableName::from(TABLE)].files.clear();
        }
        (Some(Mutant::ForgetsWhatWasConsumed), Request::AddFiles { .. }) => {
            let table = &mut state.tables[&TableName::from(TABLE)];
            table.consumed.clear();
            table.removed.clear();
        }
        _ => {}
    }
    baler_core::decide(&state, &request)
}
