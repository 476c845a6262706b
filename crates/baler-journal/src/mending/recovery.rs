//! The last state that can be believed: the snapshot, or the empty state before the first entry, from which an unbroken
//! chain of entries leads furthest.

use baler_core::ids::Sequence;
use baler_core::state::State;

use super::survey::Survey;
use crate::checksum::Checksum;
use crate::entry::Entry;
use crate::journal::Position;

/// What can be believed of a journal, and what is left over.
#[derive(Debug)]
pub struct Recovery<'a> {
    /// The state after the last entry of the chain.
    pub state: State,
    /// The snapshot it is built on; 0 if it is built on none.
    pub snapshot: Sequence,
    /// The last entry of the chain, or the snapshot's if there is none.
    pub until: Sequence,
    /// Whole entries behind a piece that is missing or damaged. They cannot be applied, but say what was done.
    pub stranded: Vec<&'a Entry>,
    /// Whether something was decided after `state` that is not in it.
    pub is_cut: bool,
}

/// Finds it.
pub fn recover(survey: &Survey) -> Recovery<'_> {
    let good = survey.snapshots.iter().filter_map(|(at, piece)| {
        let snapshot = piece.as_ref().ok()?;
        Some((*at, snapshot.state.clone(), snapshot.entry))
    });
    let empty = (Sequence(0), State::default(), Checksum::default());
    let bases = [empty].into_iter().chain(good);
    let best = bases.map(|base| follow(survey, base)).max_by_key(|chain| {
        // Of two that lead equally far, the one that stands on less.
        (chain.until, chain.snapshot)
    });
    let Chain {
        state,
        snapshot,
        until,
    } = best.expect("there is always the empty state");
    let behind = || {
        let entries = survey.entries.iter();
        entries.filter(move |(at, _)| **at > until && survey.is_trusted(**at))
    };
    let beginning = |entry: &Entry| entry.parent == Checksum::default() && entry.batch.sequence > Sequence(1);
    // A repair that was cut short has claimed the slot where the new journal would have begun, and decided nothing.
    let lost = behind().any(|(_, piece)| piece.as_ref().map_or(true, |entry| !beginning(entry)));
    let unread_snapshot = survey
        .snapshots
        .iter()
        .any(|(at, piece)| *at > until && piece.is_err());
    let stranded = behind().filter_map(|(_, piece)| piece.as_ref().ok());
    Recovery {
        stranded: stranded.filter(|entry| !beginning(entry)).collect(),
        is_cut: lost || unread_snapshot || state.journal.is_none(),
        state,
        snapshot,
        until,
    }
}

struct Chain {
    state: State,
    snapshot: Sequence,
    until: Sequence,
}

fn follow(survey: &Survey, (snapshot, mut state, checksum): (Sequence, State, Checksum)) -> Chain {
    let mut position = Position {
        journal: state.journal,
        sequence: snapshot,
        checksum,
        modified: None,
    };
    loop {
        let next = position.sequence.next();
        let entry = survey.good_entry(next).filter(|_| survey.is_trusted(next));
        match entry {
            Some(entry) if position.check_next(entry).is_ok() => {
                baler_core::apply(&mut state, &entry.batch);
                position = Position::after(entry);
            }
            _ => {
                return Chain {
                    state,
                    snapshot,
                    until: position.sequence,
                };
            }
        }
    }
}
