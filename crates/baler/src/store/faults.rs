//! Faults on purpose, for `baler chaos`: its worker processes are started with two variables, and meet a store that refuses,
//! loses answers, dawdles and cuts bodies short. Without them nothing here is ever in the way.

#[cfg(all(feature = "cli", feature = "http"))]
use std::collections::BTreeMap;
use std::fs::OpenOptions;
use std::io::Write;
use std::path::PathBuf;
use std::time::Duration;

use baler_journal::host;

/// How many requests of a thousand meet a fault.
pub(crate) const FAULTS: &str = "BALER_CHAOS_FAULTS";

/// The file to which each fault is noted as it happens: whoever makes it may be dead a moment later.
pub(crate) const TALLY: &str = "BALER_CHAOS_TALLY";

/// The longest that a request is held up.
const DELAY_MS_MAX: u64 = 1_500;

/// What can go wrong with a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    /// Refused before anything is done, as by a busy server.
    Refused,
    /// Done, and the answer is lost.
    AnswerLost,
    /// Late.
    Delayed,
    /// The body ends early.
    Cut,
}

impl Fault {
    fn name(self) -> &'static str {
        match self {
            Self::Refused => "refused",
            Self::AnswerLost => "answer lost",
            Self::Delayed => "delayed",
            Self::Cut => "cut short",
        }
    }
}

/// Where faults come from.
#[derive(Clone, Debug)]
pub(crate) struct Faults {
    per_mille: u64,
    tally: Option<PathBuf>,
}

impl Faults {
    /// As the environment says; `None` in every process but those of `baler chaos`.
    pub(crate) fn wanted() -> Option<Self> {
        let per_mille = std::env::var(FAULTS).ok()?.parse().ok()?;
        let tally = std::env::var_os(TALLY).map(PathBuf::from);
        Some(Self { per_mille, tally })
    }

    /// Whether the request that comes now meets one of these.
    pub(crate) fn draw(&self, kinds: &[Fault]) -> Option<Fault> {
        if kinds.is_empty() || host::chance() % 1_000 >= self.per_mille {
            return None;
        }
        let fault = kinds[host::chance() as usize % kinds.len()];
        if let Some(tally) = &self.tally {
            let note = OpenOptions::new().create(true).append(true).open(tally);
            // A fault that could not be noted is missing in the report, and nowhere else.
            let _ = note.and_then(|mut file| writeln!(file, "{}", fault.name()));
        }
        Some(fault)
    }

    /// How long a request is held up.
    pub(crate) async fn dawdle() {
        tokio::time::sleep(Duration::from_millis(host::chance() % DELAY_MS_MAX)).await;
    }
}

/// Faults that were noted, by their names.
#[cfg(all(feature = "cli", feature = "http"))]
pub(crate) fn tallied(notes: &str) -> BTreeMap<String, u64> {
    let mut faults = BTreeMap::new();
    for line in notes.lines() {
        *faults.entry(line.to_owned()).or_default() += 1;
    }
    faults
}
