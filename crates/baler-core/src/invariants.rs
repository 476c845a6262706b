//! What must hold in every state, numbered. The same predicates serve tests, the simulator, the model checker and
//! `baler status`.

use std::collections::{BTreeMap, BTreeSet};

use crate::file::{File, FilePath};
use crate::garbage::{Garbage, Stage};
use crate::ids::{Sequence, WatcherId};
use crate::job::{Job, JobStatus};
use crate::limits;
use crate::range::Span;
use crate::state::{State, Table};

/// A predicate over states, with its number and its meaning.
pub struct Invariant {
    /// Its number, for good.
    pub number: u32,
    /// What it says.
    pub says: &'static str,
    holds: fn(&State) -> bool,
}

/// All of them.
pub const INVARIANTS: &[Invariant] = &[
    Invariant {
        number: 1,
        says: "a held file is live, and its holder is an open job that names it",
        holds: held,
    },
    Invariant {
        number: 2,
        says: "no file is the input of two jobs",
        holds: inputs_are_disjoint,
    },
    Invariant {
        number: 3,
        says: "the inputs of a job that has replaced nothing yet are live in the same identity",
        holds: inputs_are_live,
    },
    Invariant {
        number: 4,
        says: "the outputs of a job that is being published are live, its inputs consumed",
        holds: swapped,
    },
    Invariant {
        number: 5,
        says: "the partitions hold exactly the live files",
        holds: partitions_agree,
    },
    Invariant {
        number: 6,
        says: "no two leases have one token, and watchers' counts are right",
        holds: leases,
    },
    Invariant {
        number: 7,
        says: "what is due for deletion is live in no table, and no pinned version shows it",
        holds: due_is_not_shown,
    },
    Invariant {
        number: 8,
        says: "a job in the table of jobs is not in a final state",
        holds: jobs_are_open,
    },
    Invariant {
        number: 9,
        says: "what is remembered is remembered in both orders",
        holds: removed_agree,
    },
    Invariant {
        number: 10,
        says: "queues and histories stay within their bounds",
        holds: bounded,
    },
    Invariant {
        number: 11,
        says: "a leftover's attempt neither works nor has made what an open job counts on",
        holds: leftovers_have_ended,
    },
    Invariant {
        number: 12,
        says: "what is due for deletion is shown by no version that can be read",
        holds: due_is_beyond_reading,
    },
    Invariant {
        number: 13,
        says: "what is remembered of older versions left after it came, and is shown by one that can be read",
        holds: history_is_shown,
    },
    Invariant {
        number: 14,
        says: "the planner's agenda names every partition with files, and what shards have in common, once",
        holds: agenda_agrees,
    },
    Invariant {
        number: 15,
        says: "what is put off is live and held by nobody",
        holds: put_off_is_free,
    },
    Invariant {
        number: 16,
        says: "every key lies in exactly one range of a job",
        holds: ranges_are_whole,
    },
    Invariant {
        number: 17,
        says: "only what is compacted is tried in an external catalog, and one job of a table at a time",
        holds: commits_are_single,
    },
    Invariant {
        number: 18,
        says: "what an undo is bringing back is live, held by the undone job, and waits where it was set aside",
        holds: returning_waits,
    },
];

/// The invariants that this state breaks.
pub fn broken(state: &State) -> Vec<&'static Invariant> {
    INVARIANTS
        .iter()
        .filter(|invariant| !(invariant.holds)(state))
        .collect()
}

fn held(state: &State) -> bool {
    state.tables.values().all(|table| {
        table.held.iter().all(|(path, job)| {
            let named = |job: &Job| match state.holds_inputs(job) {
                true => job.inputs.iter().any(|input| input.path == *path),
                false => job.outputs().any(|output| output.path == *path),
            };
            let undoing = state.undoing.contains_key(job);
            let holds = undoing || state.jobs.get(job).is_some_and(|job| named(job));
            table.files.contains_key(path) && holds
        })
    })
}

fn inputs_are_disjoint(state: &State) -> bool {
    let mut seen = BTreeSet::new();
    holding_inputs(state).all(|(job, _)| {
        job.inputs
            .iter()
            .all(|input| seen.insert((&job.table, &input.path)))
    })
}

fn inputs_are_live(state: &State) -> bool {
    holding_inputs(state).all(|(job, table)| {
        job.inputs.iter().all(|input| {
            let live = table.files.get(&input.path);
            live.is_some_and(|live| live.identity == input.identity) && table.held.contains_key(&input.path)
        })
    })
}

fn holding_inputs(state: &State) -> impl Iterator<Item = (&Job, &Table)> {
    let open = state.jobs.values().filter(|job| state.holds_inputs(job));
    open.map(|job| (job.as_ref(), &state.tables[&job.table]))
}

fn swapped(state: &State) -> bool {
    let compacted = state.jobs.values().filter(|job| !state.holds_inputs(job));
    compacted
        .map(|job| (job, &state.tables[&job.table]))
        .all(|(job, table)| {
            job.outputs()
                .all(|output| table.held.get(&output.path) == Some(&job.id))
                && job.inputs.iter().all(|input| {
                    let live = table.files.get(&input.path);
                    live.is_none_or(|live| live.identity != input.identity)
                })
        })
}

fn partitions_agree(state: &State) -> bool {
    state.tables.values().all(|table| {
        let indexed = table
            .partitions
            .iter()
            .flat_map(|(name, paths)| paths.iter().map(move |path| (name, path)));
        let count = table.partitions.values().map(|paths| paths.len()).sum::<usize>();
        count == table.files.len()
            && table.partitions.values().all(|paths| !paths.is_empty())
            && indexed
                .into_iter()
                .all(|(name, path)| table.files.get(path).is_some_and(|f| f.partition == *name))
    })
}

fn leases(state: &State) -> bool {
    let mut tokens = BTreeSet::new();
    let mut counts: BTreeMap<WatcherId, u32> = BTreeMap::new();
    for (_, lease) in state.jobs.values().flat_map(|job| job.leases()) {
        if !tokens.insert((lease.token.sequence, lease.token.index)) {
            return false;
        }
        *counts.entry(lease.watcher).or_default() += 1;
    }
    let recorded = state
        .watchers
        .iter()
        .map(|(id, watcher)| (*id, watcher.leases))
        .collect();
    counts == recorded
}

fn due_is_not_shown(state: &State) -> bool {
    let is_live = |path: &FilePath| state.tables.values().any(|table| table.files.contains_key(path));
    let mut garbage = state.garbage.iter();
    garbage.all(|(path, garbage)| {
        garbage.stage != Stage::Due || !(is_live(path) || state.is_pinned(path, garbage))
    })
}

fn due_is_beyond_reading(state: &State) -> bool {
    state.garbage.values().all(|garbage| {
        let table = state.tables.get(&garbage.table);
        let native = table.filter(|table| !table.spec.catalog.publishes());
        garbage.stage != Stage::Due
            || garbage.original.is_none()
            || native.is_none_or(|table| garbage.replaced <= table.readable_from)
    })
}

fn history_is_shown(state: &State) -> bool {
    state.tables.iter().all(|(name, table)| {
        let pinned = state.pinned_versions(name);
        table.history.iter().all(|(left, files)| {
            let shown = |file: &File| {
                let in_reach = *left > table.readable_from;
                in_reach
                    || pinned
                        .iter()
                        .any(|version| file.added <= *version && version < left)
            };
            !files.is_empty() && files.values().all(|file| file.added < *left && shown(file))
        })
    })
}

fn leftovers_have_ended(state: &State) -> bool {
    state.leftovers.values().all(|leftover| {
        let attempt = &leftover.attempt;
        let range = state
            .jobs
            .get(&attempt.job)
            .and_then(|job| job.range(attempt.range));
        let present = range.and_then(|range| {
            let leased = range.lease().map(|lease| lease.token);
            leased.or(range.finished().map(|finished| finished.token))
        });
        present != Some(attempt.token)
    })
}

fn jobs_are_open(state: &State) -> bool {
    let open = |job: &Job| matches!(job.status, JobStatus::Open | JobStatus::Compacted);
    state
        .jobs
        .values()
        .all(|job| open(job) && job.id < state.next_job)
}

fn removed_agree(state: &State) -> bool {
    state.tables.values().all(|table| {
        let ordered: BTreeMap<&FilePath, Sequence> = table
            .removed_order
            .iter()
            .flat_map(|(at, paths)| paths.iter().map(move |path| (path, *at)))
            .collect();
        let removed = table.removed.iter().map(|(path, removed)| (path, removed.at));
        ordered == removed.collect()
    })
}

fn agenda_agrees(state: &State) -> bool {
    let mut tables = state.tables.values();
    tables.all(|table| table.agenda.agrees(&table.spec, table.partitions.keys()))
}

fn put_off_is_free(state: &State) -> bool {
    state.tables.values().all(|table| {
        let mut put_off = table.put_off.keys();
        put_off.all(|path| table.files.contains_key(path) && !table.held.contains_key(path))
    })
}

fn ranges_are_whole(state: &State) -> bool {
    state.jobs.values().all(|job| {
        let spans: Vec<&Span> = job.ranges.iter().map(|range| &range.span).collect();
        let ends = spans.first().is_some_and(|first| first.from.is_none())
            && spans.last().is_some_and(|last| last.until.is_none());
        let met = |pair: &[&Span]| pair[0].until.is_some() && pair[0].until == pair[1].from;
        let rises = |span: &&Span| match (&span.from, &span.until) {
            (Some(from), Some(until)) => from < until,
            _ => true,
        };
        ends && spans.windows(2).all(met) && spans.iter().all(rises)
    })
}

fn commits_are_single(state: &State) -> bool {
    let mut tables = BTreeSet::new();
    state.jobs.values().all(|job| {
        let external = state.has_external_catalog(&job.table);
        let tried = job.tries.is_none() || (external && job.status == JobStatus::Compacted);
        let leased = external && job.publish.lease().is_some();
        tried && (!leased || tables.insert(&job.table))
    })
}

fn returning_waits(state: &State) -> bool {
    let returning = state.garbage.values();
    let returning = returning.filter(|garbage| garbage.stage == Stage::Returning);
    let promised: u32 = state.undoing.values().map(|undoing| undoing.waiting).sum();
    let held = |garbage: &Garbage| {
        let table = state.tables.get(&garbage.table);
        let path = garbage.original.as_ref().map(|original| &original.path);
        let holder = table.zip(path).and_then(|(table, path)| table.held.get(path));
        holder.is_some_and(|job| state.undoing.contains_key(job))
    };
    let mut waiting = 0;
    returning.into_iter().all(|garbage| {
        waiting += 1;
        held(garbage)
    }) && waiting == promised
}

fn bounded(state: &State) -> bool {
    state.jobs.len() <= limits::OPEN_JOBS_AND_HALVES_MAX
        && state.recent.len() <= limits::RECENT_JOBS_MAX
        && state.marks.len() <= limits::TIME_MARKS_MAX
        && state.pins.len() <= limits::PINS_MAX
        && state.tables.len() <= limits::TABLES_MAX
        && state.committed.len() <= limits::RECEIPTS_DUE_MAX
        && state.jobs.values().all(|job| {
            let mut ranges = job.ranges.iter();
            job.ranges.len() <= limits::RANGES_MAX
                && ranges.all(|range| {
                    range.lost.len() <= limits::LOSSES_MAX && range.tried.len() <= limits::TRIED_MAX
                })
        })
}
