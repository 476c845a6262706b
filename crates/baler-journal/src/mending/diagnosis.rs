//! What is wrong with a journal, piece by piece, and what that means for whoever wants to go on.

use baler_core::ids::{JournalId, Sequence};
use baler_core::invariants;
use serde::Serialize;

use super::recovery::{Recovery, recover};
use super::survey::{Snapshot, Survey};
use crate::checksum::Checksum;
use crate::entry::Entry;
use crate::error::{JournalError, entry_name};
use crate::journal::Position;
use crate::limits::FORMAT;
use crate::snapshot::snapshot_name;

/// One thing that is wrong.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Problem {
    /// Where, as in "journal entry 42".
    pub what: String,
    /// How it was noticed.
    pub why: String,
    /// What follows from it.
    pub means: String,
    /// Whether Baler stops because of it.
    pub stops: bool,
}

/// What a look at everything says.
#[derive(Debug)]
pub struct Diagnosis<'a> {
    /// What is wrong, in the order of the journal.
    pub problems: Vec<Problem>,
    /// What can be believed all the same.
    pub recovery: Recovery<'a>,
}

impl Diagnosis<'_> {
    /// Whether Baler cannot go on here.
    pub fn stops(&self) -> bool {
        self.problems.iter().any(|problem| problem.stops)
    }

    /// Which journal it is.
    pub fn journal(&self) -> Option<JournalId> {
        self.recovery.state.journal
    }
}

/// Looks at everything.
pub fn diagnose(survey: &Survey) -> Diagnosis<'_> {
    let recovery = recover(survey);
    let mut examiner = Examiner {
        survey,
        newest: survey.snapshots.keys().next_back().copied().unwrap_or_default(),
        is_cut: recovery.is_cut,
        until: recovery.until,
        problems: Vec::new(),
    };
    examiner.levels();
    examiner.boundaries();
    examiner.snapshots();
    examiner.entries();
    examiner.replay();
    for broken in invariants::broken(&recovery.state) {
        let why = format!("invariant {}: {}", broken.number, broken.says);
        examiner.say(
            "the state",
            why,
            "a defect of Baler: report it, with a copy of _baler",
            false,
        );
    }
    let problems = examiner.problems;
    Diagnosis { problems, recovery }
}

struct Examiner<'a> {
    survey: &'a Survey,
    /// The newest snapshot there is, good or not: everybody begins there.
    newest: Sequence,
    is_cut: bool,
    until: Sequence,
    problems: Vec<Problem>,
}

impl Examiner<'_> {
    fn say(
        &mut self,
        what: impl Into<String>,
        why: impl Into<String>,
        means: impl Into<String>,
        stops: bool,
    ) {
        self.problems.push(Problem {
            what: what.into(),
            why: why.into(),
            means: means.into(),
            stops,
        });
    }

    fn say_error(&mut self, error: &JournalError, means: String, stops: bool) {
        match error {
            JournalError::Damaged { what, why } => self.say(what.clone(), why.clone(), means, stops),
            other => self.say(
                "the journal",
                other.to_string(),
                "install the newer version",
                true,
            ),
        }
    }

    fn levels(&mut self) {
        match self.survey.levels.last() {
            Some(level) if *level > FORMAT => {
                let why = format!("its format level is {level}, and this Baler reads up to {FORMAT}");
                self.say(
                    "the root",
                    why,
                    "install the newer version; change nothing with this one",
                    true,
                );
            }
            Some(_) => {}
            None => {
                let means = "what made it a root is gone; `baler journal repair` writes it anew";
                self.say("the root", "its format level is missing", means, true);
            }
        }
    }

    /// What is lost with a piece that is not there.
    fn loss(&self) -> String {
        match self.is_cut {
            true => format!(
                "what was decided after entry {} is lost; `baler journal repair` looks through the data for what it can find of it",
                self.until
            ),
            false => "no decision is lost; `baler journal repair` rebuilds the journal from what is whole"
                .to_owned(),
        }
    }

    fn boundaries(&mut self) {
        let survey = self.survey;
        for (expected, (block, piece)) in (0..).zip(&survey.boundaries) {
            let means = "entries of that block count as retired all the same, and Baler goes on".to_owned();
            if let Err(error) = piece {
                self.say_error(error, means.clone(), false);
            }
            if *block != expected {
                self.say(
                    format!("boundary {expected}"),
                    "it is missing, though a later one is there",
                    means,
                    false,
                );
                break;
            }
        }
        let retired_until = survey
            .boundaries
            .keys()
            .next_back()
            .map(|block| (block + 1) * survey.block - 1);
        if let Some(end) = retired_until
            && self.newest.0 < end
        {
            let why = format!("its entries up to {end} are retired, and no snapshot stands for them");
            self.say("the journal", why, self.loss(), true);
        }
    }

    fn snapshots(&mut self) {
        let survey = self.survey;
        for (at, piece) in &survey.snapshots {
            let stops = *at == self.newest;
            // What a repair has closed, or a newer one stands for, counts no more.
            if !stops && survey.is_retired(*at) {
                continue;
            }
            let means = match stops {
                true => self.loss(),
                false => {
                    "nobody reads it any more, and newer ones replace it: nothing needs to be done".to_owned()
                }
            };
            match piece {
                Err(error) => self.say_error(error, means, stops),
                Ok(snapshot) => {
                    if let Some(why) = self.disagreement(*at, snapshot) {
                        self.say(snapshot_name(*at), why, means, stops);
                    }
                }
            }
        }
    }

    fn disagreement(&self, at: Sequence, snapshot: &Snapshot) -> Option<String> {
        let entry = self
            .survey
            .good_entry(at)
            .filter(|_| !self.survey.is_retired(at))?;
        if snapshot.entry != entry.checksum {
            return Some(format!(
                "it is of an entry with checksum {}, but entry {at} has {}",
                snapshot.entry, entry.checksum
            ));
        }
        let journal = snapshot
            .state
            .journal
            .filter(|journal| *journal != entry.journal)?;
        Some(format!(
            "it belongs to journal {journal}, but entry {at} to {}",
            entry.journal
        ))
    }

    /// Every slot from the first that is not retired to the last that is filled.
    fn entries(&mut self) {
        let survey = self.survey;
        let last_retired = survey
            .boundaries
            .keys()
            .next_back()
            .map(|block| (block + 1) * survey.block - 1);
        let first = last_retired.unwrap_or(0) + 1;
        // A mended journal begins in its own slot, with a snapshot; a retired block has one behind its end.
        for slot in first..=survey.last().0 {
            let at = Sequence(slot);
            let needed = at > self.newest;
            let means = match needed {
                true => self.loss(),
                false => format!(
                    "the snapshot of entry {} stands for it: nothing needs to be done, but should that snapshot be damaged too, \
                     decisions are lost",
                    self.newest
                ),
            };
            match survey.entries.get(&at) {
                None => self.say(
                    entry_name(at),
                    format!("it is missing, though there is an entry {}", survey.last()),
                    means,
                    needed,
                ),
                Some(Err(error)) => self.say_error(error, means, needed),
                Some(Ok(entry)) => {
                    if let Some(why) = self.break_before(at, entry) {
                        self.say(entry_name(at), why, means, needed);
                    }
                }
            }
        }
    }

    /// Why an entry does not continue what is before it, if that is whole.
    fn break_before(&self, at: Sequence, entry: &Entry) -> Option<String> {
        let before = Sequence(at.0.checked_sub(1)?);
        let snapshot = self
            .survey
            .snapshots
            .get(&before)
            .and_then(|piece| piece.as_ref().ok());
        let parent = self
            .survey
            .good_entry(before)
            .filter(|_| !self.survey.is_retired(before));
        let (journal, checksum) = match (parent, snapshot) {
            (Some(parent), _) => (Some(parent.journal), parent.checksum),
            (None, Some(snapshot)) => (snapshot.state.journal, snapshot.entry),
            (None, None) if before == Sequence(0) => (None, Checksum::default()),
            (None, None) => return None,
        };
        let position = Position {
            journal,
            sequence: before,
            checksum,
            modified: None,
        };
        match position.check_next(entry) {
            Err(JournalError::Damaged { why, .. }) => Some(why),
            _ => None,
        }
    }

    /// A snapshot that is whole may still say something else than the entries before it.
    fn replay(&mut self) {
        let survey = self.survey;
        let good = |at: &Sequence| survey.snapshots.get(at).and_then(|piece| piece.as_ref().ok());
        let places: Vec<Sequence> = survey.snapshots.keys().copied().collect();
        let starts = [None].into_iter().chain(places.iter().copied().map(Some));
        for (start, end) in starts.zip(&places) {
            let Some(wanted) = good(end) else { continue };
            let base = match start {
                None if !survey.is_retired(Sequence(1)) => (Sequence(0), Default::default()),
                None => continue,
                Some(start) => match good(&start) {
                    Some(snapshot) => (start, snapshot.state.clone()),
                    None => continue,
                },
            };
            let (from, mut state): (Sequence, baler_core::State) = base;
            if state
                .journal
                .is_some_and(|journal| Some(journal) != wanted.state.journal)
            {
                continue;
            }
            let slots = from.0 + 1..=end.0;
            let entries: Option<Vec<&Entry>> = slots.map(|slot| survey.good_entry(Sequence(slot))).collect();
            let unbroken =
                |entries: &[&Entry]| entries.windows(2).all(|pair| pair[1].parent == pair[0].checksum);
            let Some(entries) = entries.filter(|entries| unbroken(entries)) else {
                continue;
            };
            for entry in entries {
                baler_core::apply(&mut state, &entry.batch);
            }
            if state != wanted.state {
                let means = match *end == self.newest {
                    true => {
                        "whoever begins there goes on from another state than its entries say: stop everybody, and run `baler \
                             journal repair`"
                    }
                    false => "nobody reads it any more",
                };
                let why = "it does not agree with the entries before it";
                self.say(snapshot_name(*end), why, means, *end == self.newest);
            }
        }
    }
}
