//! Leases and those who answer for them. No clock appears here: watchers raise a counter in the journal, and others
//! time on their own monotonic clocks how long it has stood still.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::ids::{Sequence, Token, WatcherId, WorkerId};

/// The right to work on a range.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Lease {
    /// Proof of ownership, and the only one.
    pub token: Token,
    /// Who works on it, for people to read.
    pub worker: WorkerId,
    /// Who answers for it.
    pub watcher: WatcherId,
    /// Whether the watcher's own process does the work: then it dies with it.
    #[serde(default)]
    pub embedded: bool,
    /// Whether the worker can run a merge in a child process, and outlive it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub isolates: bool,
}

/// A process that answers for leases. It is in the state only while it has some.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Watcher {
    /// The entry of its last renewal or grant. It never goes back, also not after the watcher left and returned.
    pub counter: Sequence,
    /// Leases it answers for.
    pub leases: u32,
    /// How a process on the same machine can see it die.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host: Option<HostLock>,
}

/// A lock file that the operating system frees when its holder dies.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct HostLock {
    /// The boot of the machine that the lock belongs to. To others a free lock proves nothing.
    pub boot: Arc<str>,
    /// The lock file, below the root.
    pub lock: Arc<str>,
}
