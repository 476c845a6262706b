//! What can go wrong, sorted by what the caller should do about it.

use std::io;

/// Why a merge ended without a result. Nothing that it wrote may be committed.
#[derive(Debug, thiserror::Error)]
pub enum MergeError {
    /// Some inputs are damaged or do not go with the others: set these aside and merge the rest.
    #[error("input {}: {reason}", list(culprits))]
    Input {
        /// Indices into the list of inputs, ascending.
        culprits: Vec<usize>,
        /// What is odd about them, in words for the owner of the files.
        reason: String,
    },
    /// Reading an input failed although the file may be sound: try again later.
    #[error("input {input} could not be read: {source}")]
    Read {
        /// Index into the list of inputs.
        input: usize,
        /// What the store said.
        source: io::Error,
    },
    /// This machine failed (disk full, sink broken): try again elsewhere.
    #[error("{doing} failed: {source}")]
    Node {
        /// What was being done.
        doing: &'static str,
        /// What the system said.
        source: io::Error,
    },
    /// The caller asked to stop.
    #[error("cancelled")]
    Cancelled,
    /// The spec cannot be carried out: change it as the text says.
    #[error("{0}")]
    Spec(String),
    /// Rows in and rows out do not balance: a defect of Baler; commit nothing and report it.
    #[error("the proof failed, nothing may be committed: {0}")]
    Proof(String),
}

impl MergeError {
    /// The same error, where what it calls input number `n` is input number `inputs[n]` of the caller.
    pub(crate) fn renumbered(self, inputs: &[usize]) -> Self {
        let number = |input: usize| inputs.get(input).copied().unwrap_or(input);
        match self {
            MergeError::Input { culprits, reason } => MergeError::Input {
                culprits: culprits.into_iter().map(number).collect(),
                reason,
            },
            MergeError::Read { input, source } => MergeError::Read {
                input: number(input),
                source,
            },
            other => other,
        }
    }
}

/// Why one file could not be used.
#[derive(Debug, thiserror::Error)]
pub enum FileError {
    /// The file itself is at fault; reading it again will not help.
    #[error("{0}")]
    Refused(String),
    /// The store did not deliver; the file may be sound.
    #[error("could not be read: {0}")]
    Read(io::Error),
    /// The caller asked to stop.
    #[error("cancelled")]
    Cancelled,
}

impl FileError {
    /// The same error as that of the merge which has this file as input `input`.
    pub(crate) fn of_input(self, input: usize) -> MergeError {
        match self {
            FileError::Refused(reason) => MergeError::Input {
                culprits: vec![input],
                reason,
            },
            FileError::Read(source) => MergeError::Read { input, source },
            FileError::Cancelled => MergeError::Cancelled,
        }
    }
}

/// An `Err(Refused)` from anything that can be shown.
pub(crate) fn refused<T>(reason: impl std::fmt::Display) -> Result<T, FileError> {
    Err(FileError::Refused(reason.to_string()))
}

fn list(indices: &[usize]) -> String {
    indices
        .iter()
        .map(usize::to_string)
        .collect::<Vec<_>>()
        .join(", ")
}
