//! From a grant to the merge engine and back: inputs opened in the version that was planned, outputs staged under the
//! attempt's own folder, and errors sorted by who is to blame.

use std::sync::Arc;

use baler_core::event::Quarantined;
use baler_core::file::{Digest, File, Identity};
use baler_core::ids::JournalId;
use baler_core::job::{Dropped, Finished, InputRead, Output};
use baler_core::request::Grant;
use baler_merge::{Budget, Input, MergeError, Report};

use super::meter::Meter;
use super::staged::StagedSink;
use crate::folder::input::{FolderInput, InputError};
use crate::folder::{FolderError, advice};
use crate::site::Site;
use crate::spec;

/// What to merge, and with what.
pub(super) struct Order {
    pub(super) site: Site,
    pub(super) journal: JournalId,
    pub(super) grant: Grant,
    pub(super) threads: usize,
    pub(super) memory_bytes: u64,
}

/// How a merge ended.
pub(super) enum MergeEnd {
    /// Everything is written and durable; and this is what a look at each input said afterwards.
    Merged {
        finished: Finished,
        inputs_now: Vec<Option<Identity>>,
    },
    /// It was asked to stop.
    Stopped,
    /// Inputs are not what they were.
    InputsChanged(Vec<Quarantined>),
    /// Inputs are bad: these, or nobody knows which.
    InputFault {
        error: String,
        culprits: Vec<Quarantined>,
    },
    /// This machine could not.
    NodeFault(String),
    /// The table's spec does not fit its files.
    Impossible(String),
}

pub(super) fn merge(order: &Order, meter: &Arc<Meter>) -> MergeEnd {
    let inputs = match open_inputs(order) {
        Ok(inputs) => inputs,
        Err(ending) => return ending,
    };
    let attempt = order.grant.attempt();
    let root = &order.site.root;
    let spill = root.path().join(attempt.staging_folder()).join("spill");
    if let Err(error) = std::fs::create_dir_all(&spill) {
        return MergeEnd::NodeFault(format!(
            "cannot make {}: {error}{}",
            spill.display(),
            advice(&error)
        ));
    }
    let budget = Budget {
        memory_bytes: order.memory_bytes,
        threads: order.threads,
    };
    let spec = spec::for_engine(&order.grant.job.merge);
    let mut sink = StagedSink::new(root.clone(), attempt, meter.clone());
    let merged = baler_merge::merge(&inputs, &spec, budget, &spill, &mut sink, &**meter);
    let _ = std::fs::remove_dir_all(&spill);
    match merged {
        Ok(report) => after_merge(order, &report),
        Err(error) => blame(order, error),
    }
}

fn open_inputs(order: &Order) -> Result<Vec<Arc<dyn Input>>, MergeEnd> {
    let mut inputs: Vec<Arc<dyn Input>> = Vec::new();
    let mut changed = Vec::new();
    for file in &order.grant.job.inputs {
        let folder = order.site.folder_of(&file.path);
        match FolderInput::open(folder, &file.path, &file.identity) {
            Ok(input) => inputs.push(Arc::new(spec::NamedInput::new(&file.path, input))),
            Err(InputError::Gone { .. } | InputError::Changed { .. }) => {
                changed.push(charge(file, "gone or overwritten"));
            }
            Err(InputError::Folder(error)) => return Err(MergeEnd::NodeFault(error.to_string())),
        }
    }
    match changed.is_empty() {
        true => Ok(inputs),
        false => Err(MergeEnd::InputsChanged(changed)),
    }
}

/// The inputs are looked at only now, so that nothing that changed during the merge goes unseen.
fn after_merge(order: &Order, report: &Report) -> MergeEnd {
    let now: Result<Vec<Option<Identity>>, FolderError> = order
        .grant
        .job
        .inputs
        .iter()
        .map(|file| order.site.identity_now(&file.path))
        .collect();
    match now {
        Ok(inputs_now) => MergeEnd::Merged {
            finished: finished(order, report),
            inputs_now,
        },
        Err(error) => MergeEnd::NodeFault(error.to_string()),
    }
}

/// An input that is not what it was is nobody's fault, whatever the engine says of it.
fn blame(order: &Order, error: MergeError) -> MergeEnd {
    let changed: Vec<Quarantined> = order
        .grant
        .job
        .inputs
        .iter()
        .filter(|file| matches!(order.site.identity_now(&file.path), Ok(now) if now.as_ref() != Some(&file.identity)))
        .map(|file| charge(file, "gone or overwritten"))
        .collect();
    let fault_of_an_input = matches!(error, MergeError::Input { .. } | MergeError::Read { .. });
    if fault_of_an_input && !changed.is_empty() {
        return MergeEnd::InputsChanged(changed);
    }
    let inputs = &order.grant.job.inputs;
    match error {
        MergeError::Input { culprits, reason } => {
            let culprits = culprits.into_iter().filter_map(|index| inputs.get(index));
            let culprits = culprits.map(|file| charge(file, &reason)).collect();
            MergeEnd::InputFault {
                error: reason,
                culprits,
            }
        }
        MergeError::Read { input, source } => {
            let name = inputs
                .get(input)
                .map_or_else(String::new, |file| file.path.to_string());
            MergeEnd::NodeFault(format!("cannot read {name}: {source}{}", advice(&source)))
        }
        MergeError::Node { doing, source } => {
            MergeEnd::NodeFault(format!("{doing} failed: {source}{}", advice(&source)))
        }
        MergeError::Cancelled => MergeEnd::Stopped,
        MergeError::Spec(error) => MergeEnd::Impossible(error),
        MergeError::Proof(error) => MergeEnd::InputFault {
            error,
            culprits: vec![],
        },
    }
}

fn charge(file: &File, reason: &str) -> Quarantined {
    Quarantined {
        path: file.path.clone(),
        identity: file.identity.clone(),
        reason: reason.into(),
    }
}

fn finished(order: &Order, report: &Report) -> Finished {
    let attempt = order.grant.attempt();
    let job = &order.grant.job;
    let outputs = report.outputs.iter().map(|output| Output {
        part: output.part,
        path: attempt.output(order.journal, &job.partition, output.part),
        bytes: output.bytes,
        rows: output.rows,
        digest: spec::digest_of(output.digest),
        checksum: Digest(output.checksum),
        keys: output.keys.as_ref().map(spec::key_range_of),
    });
    let reads = report.inputs.iter().map(|input| InputRead {
        rows: input.rows_read,
        digest: spec::digest_of(input.digest),
    });
    let drops = report.drops.iter().map(|dropped| Dropped {
        rule: dropped.rule.into(),
        rows: dropped.rows,
        digest: spec::digest_of(dropped.digest),
    });
    Finished {
        token: attempt.token,
        outputs: outputs.collect(),
        reads: reads.collect(),
        drops: drops.filter(|drop| drop.rows > 0).collect(),
    }
}
