//! The state that a mended journal begins with: what can be believed of the old one, and what the data says of the rest.

use std::collections::BTreeMap;
use std::sync::Arc;

use anyhow::{Result, bail};
use baler_core::apply::{History, apply_event, renew};
use baler_core::event::{Event, Quarantined};
use baler_core::file::File;
use baler_core::garbage::{Leftover, Stage};
use baler_core::ids::{JobId, JournalId, Sequence, TableName};
use baler_core::job::JobStatus;
use baler_core::names::{TABLES_FOLDER, folder_partition};
use baler_core::request::{Reply, Request};
use baler_core::state::State;
use baler_core::table::{Catalog, Replaced, RowHash};
use baler_journal::mending::{Diagnosis, Recovery};

use super::evidence::Evidence;
use super::outcome::{Mended, Named};
use super::reconcile::{Ruling, Verdict, reconcile};
use super::{Wreck, copied, sites};
use crate::depot::Namer;
use crate::root::{Root, plain_table, pretend};
use crate::settings::TableSettings;
use crate::site::Site;
use crate::spec::{self, Asked};

/// A state to begin with, and what is to be said of it.
pub(super) struct Rebuilt {
    pub(super) state: State,
    pub(super) mended: Mended,
}

/// Builds it. Without a new journal's id and first entry it is only for show.
pub(super) async fn rebuild(
    wreck: &Wreck,
    diagnosis: &Diagnosis<'_>,
    table: &TableSettings,
    anew: Option<(JournalId, Sequence)>,
) -> Result<Rebuilt> {
    let recovery = &diagnosis.recovery;
    let mut state = recovery.state.clone();
    if recovery.is_cut {
        take_specs(recovery, &mut state);
    }
    if recovery.is_cut && state.tables.is_empty() {
        begin_plain_table(wreck, &mut state, table, anew.is_some()).await?;
    }
    let site = sites::site(wreck.depot.clone(), &state)?;
    // A copy is not made at one moment: what is in its journal may be older or newer than its files.
    let doubted = recovery.is_cut || wreck.copied;
    let mut data = match doubted {
        true => sites::all_data(&site, &wreck.data).await?,
        false => Vec::new(),
    };
    if wreck.copied {
        copied::add_unlisted(&site, &state, &mut data).await?;
        copied::recognise(&site, &mut state, &data).await?;
    }
    let evidence = Evidence::of(&state, recovery);
    let mut verdict = match doubted {
        true => reconcile(&state, &evidence, &data),
        false => Verdict::default(),
    };
    if wreck.copied {
        copied::judge(&mut state, &data, &mut verdict);
    }
    let in_sight = match recovery.is_cut && !wreck.copied {
        true => replaced_in_sight(&state, wreck),
        false => Vec::new(),
    };
    let open = state.jobs.values().filter(|job| job.status == JobStatus::Open);
    let (jobs_ended, garbage) = (open.count() as u64, state.garbage.len());
    let (journal, begins) = anew.unwrap_or((JournalId(0), recovery.until.next()));
    let history = match doubted {
        true => History::Cut,
        false => History::Whole,
    };
    renew(&mut state, journal, begins, history);
    if doubted {
        pass_lost_jobs(wreck, &evidence, &mut state).await?;
    }
    let adopted = carry_out(&site, &mut state, &verdict).await?;
    let gone = verdict.ended.iter().map(|(_, path)| path);
    let gone = gone.filter(|path| !wreck.data.iter().any(|file| file.path == **path));
    let mended = Mended {
        before: diagnosis.journal(),
        journal: anew.map(|(journal, _)| journal),
        begins: anew.map(|(_, begins)| begins),
        snapshot: recovery.snapshot,
        until: recovery.until,
        cut: recovery.is_cut,
        is_copy: wreck.copied,
        jobs_ended,
        kept: (garbage - state.garbage.len()) as u64,
        adopted,
        second_copies: verdict.second.iter().map(named).chain(in_sight).collect(),
        uncertain: verdict.uncertain.iter().map(named).collect(),
        gone: gone.map(ToString::to_string).collect(),
        backup: None,
        copied: 0,
    };
    Ok(Rebuilt { state, mended })
}

/// Replaced files of a plain table that were to be taken out of the readers' sight, and are still there.
fn replaced_in_sight(state: &State, wreck: &Wreck) -> Vec<Named> {
    let waiting = state.garbage.values().filter(|garbage| {
        let table = state.tables.get(&garbage.table);
        let plain = table.is_some_and(|table| table.spec.catalog.publishes());
        plain && matches!(garbage.stage, Stage::ToSetAside | Stage::Ripe)
    });
    let originals = waiting.filter_map(|garbage| garbage.original.as_ref());
    let there = originals.filter(|original| {
        let mut data = wreck.data.iter();
        data.any(|file| file.path == original.path && file.identity == original.identity)
    });
    let named = there.map(|original| Named {
        path: original.path.to_string(),
        reason: "its rows are in the outputs that replaced it".to_owned(),
    });
    named.collect()
}

fn named(ruling: &Ruling) -> Named {
    Named {
        path: ruling.path.to_string(),
        reason: ruling.reason.clone(),
    }
}

/// What tables are is in few entries, which may be whole though they cannot be applied in their place.
fn take_specs(recovery: &Recovery<'_>, state: &mut State) {
    for event in recovery.stranded.iter().flat_map(|entry| &entry.batch.events) {
        let (Event::TableCreated { table, spec } | Event::TableAltered { table, spec }) = event else {
            continue;
        };
        let (table, spec) = (table.clone(), spec.clone());
        let request = match state.tables.contains_key(&table) {
            true => Request::AlterTable { table, spec },
            false => Request::CreateTable { table, spec },
        };
        if let Reply::Refused(refusal) = pretend(state, &request) {
            tracing::warn!(%refusal, "what a table was changed to is not taken over");
        }
    }
}

/// Nothing is known of any table. A root whose outputs lie where those of native tables do had such; what they were is lost.
async fn begin_plain_table(
    wreck: &Wreck,
    state: &mut State,
    table: &TableSettings,
    for_good: bool,
) -> Result<()> {
    let native = wreck.data.iter().any(|file| {
        let below = file.path.path.starts_with(&format!("{TABLES_FOLDER}/"));
        below && file.namer != Namer::Other
    });
    if native {
        return Ok(());
    }
    let spec = match for_good {
        true => Root::fresh_plain_spec(&wreck.depot, table).await?,
        false => table.fresh(Catalog::InPlace, Replaced::SetAside),
    };
    let level = wreck.survey.levels.last().copied().unwrap_or(1);
    state.open_batch(None);
    ask(
        state,
        &Request::CreateTable {
            table: plain_table(),
            spec: Arc::new(spec.with_hash(RowHash::at_level(level))),
        },
    )
}

/// Numbers of jobs are part of names: those that were given away are not given again. What lost attempts wrote and did not
/// publish is garbage for certain, because what they were to replace is still there.
async fn pass_lost_jobs(wreck: &Wreck, evidence: &Evidence, state: &mut State) -> Result<()> {
    let staged = sites::staged(&wreck.store).await?;
    let aside = sites::set_aside(&wreck.store).await?;
    let named = wreck.data.iter().filter_map(|file| match file.namer {
        Namer::AnotherJournal(name) => Some(name.attempt.job),
        _ => None,
    });
    let seen = named
        .chain(aside)
        .chain(staged.iter().map(|attempt| attempt.job))
        .chain(evidence.last_job());
    let first = seen.max().map_or(JobId(0), |last| JobId(last.0 + 1));
    state.next_job = state.next_job.max(first);
    let plain = state
        .tables
        .iter()
        .find(|(_, table)| table.spec.catalog.publishes());
    let Some(table) = plain.map(|(name, _)| name.clone()) else {
        return Ok(());
    };
    for attempt in staged {
        let needed = state.jobs.values().any(|job| {
            let mut finished = job.finished();
            finished.any(|(_, finished)| finished.token == attempt.token)
        });
        let key = (attempt.token.sequence, attempt.token.index);
        if !needed && !state.leftovers.contains_key(&key) {
            let leftover = Leftover {
                attempt,
                table: table.clone(),
                since: state.sequence,
                swept: false,
            };
            state.leftovers.insert(key, leftover);
        }
    }
    Ok(())
}

/// Answers with the files that were adopted. One that cannot be read is held with the rest.
async fn carry_out(site: &Site, state: &mut State, verdict: &Verdict) -> Result<Vec<Named>> {
    let evidence = Sequence(state.sequence.0.saturating_sub(1));
    for (table, path, identity) in &verdict.consumed {
        if let Some(table) = state.tables.get_mut(table) {
            table.consumed.insert(path.clone(), identity.clone());
        }
    }
    for (table, paths) in by_table(verdict.ended.iter().map(|(table, path)| (table, path.clone()))) {
        ask(
            state,
            &Request::LoseFiles {
                table,
                evidence,
                paths,
            },
        )?;
    }
    let mut adopted = Vec::new();
    let mut marks: Vec<(TableName, Quarantined)> = Vec::new();
    for ruling in &verdict.adopted {
        match add(site, state, ruling, evidence).await? {
            None => adopted.push(named(ruling)),
            Some(reason) => marks.push((ruling.table.clone(), mark(ruling, reason))),
        }
    }
    for ruling in &verdict.uncertain {
        // An output is known by its name for what it is; once it is let go, it must not be taken for another root's.
        let table = state.tables.get(&ruling.table);
        let output = Namer::of(ruling.path.name(), None) != Namer::Other;
        let plain = table.is_some_and(|table| table.spec.catalog.publishes());
        if output && plain && table.is_some_and(|table| !table.files.contains_key(&ruling.path)) {
            add(site, state, ruling, evidence).await?;
        }
    }
    for ruling in verdict.second.iter().chain(&verdict.uncertain) {
        marks.push((
            ruling.table.clone(),
            mark(ruling, format!("repair: {}", ruling.reason)),
        ));
    }
    let known = marks.into_iter().filter(|(table, mark)| {
        let table = state.tables.get(table);
        table.is_some_and(|table| table.spec.catalog.publishes() || table.files.contains_key(&mark.path))
    });
    let known: Vec<_> = known.collect();
    for (table, files) in by_table(known.iter().map(|(table, mark)| (table, mark.clone()))) {
        // Not asked for: of a file that was added a moment ago, older evidence says nothing.
        apply_event(state, &Event::FilesQuarantined { table, files });
    }
    Ok(adopted)
}

fn mark(ruling: &Ruling, reason: String) -> Quarantined {
    Quarantined {
        path: ruling.path.clone(),
        identity: ruling.identity.clone(),
        reason: reason.into(),
    }
}

/// Makes a file live, by what its footer says. Answers why it could not be.
async fn add(site: &Site, state: &mut State, ruling: &Ruling, evidence: Sequence) -> Result<Option<String>> {
    let table = &state.tables[&ruling.table];
    let asked = Arc::new(Asked::for_table(&table.spec));
    let depot = site.depot_of(&ruling.path);
    let facts = match depot.inspect(&ruling.path, &ruling.identity, &asked).await {
        Ok(Ok(facts)) => facts,
        Ok(Err(error)) => return Ok(Some(error.to_string())),
        Err(error) => return Ok(Some(error.to_string())),
    };
    let partition = match table.spec.catalog.publishes() {
        true => folder_partition(&ruling.path),
        false => ruling.partition.clone(),
    };
    let file: File = spec::foreign_file(ruling.path.clone(), ruling.identity.clone(), partition, &facts);
    ask(
        state,
        &Request::AddFiles {
            table: ruling.table.clone(),
            evidence,
            files: vec![Arc::new(file)],
        },
    )?;
    Ok(None)
}

fn by_table<'a, T>(items: impl Iterator<Item = (&'a TableName, T)>) -> BTreeMap<TableName, Vec<T>> {
    let mut sorted: BTreeMap<TableName, Vec<T>> = BTreeMap::new();
    for (table, item) in items {
        sorted.entry(table.clone()).or_default().push(item);
    }
    sorted
}

fn ask(state: &mut State, request: &Request) -> Result<()> {
    match pretend(state, request) {
        Reply::Refused(refusal) => bail!("{refusal}"),
        _ => Ok(()),
    }
}
