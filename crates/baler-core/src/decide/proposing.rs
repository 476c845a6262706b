//! Jobs that a policy of a table's owner wants. The policy runs outside and may say anything, on a state that may be old;
//! what it says is checked here on the state as it is, and only the decision is written. So two processes with two
//! policies disturb each other no more than two polls do.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::files::cut;
use super::{Answer, Draft, drops};
use crate::event::Event;
use crate::file::File;
use crate::job::Why;
use crate::limits::{JOB_INPUTS_MAX, LEVEL_MAX};
use crate::request::{Propose, Refusal, Reply};
use crate::state::{State, Table};
use crate::table::Policy;

impl Draft {
    pub(super) fn propose(&mut self, wanted: &Propose) -> Answer {
        let cannot = |why: String| Refusal::CannotPlan {
            table: wanted.table.clone(),
            why,
        };
        let table = self.table_at(&wanted.table, wanted.evidence)?;
        check(&self.state, table, wanted).map_err(cannot)?;
        let (first, spec) = (&table.files[&wanted.inputs[0]], table.spec.clone());
        let partition = spec.output_partition(&first.partition, wanted.output_level);
        if !self.make_room(&spec.tenant_of(&partition)) {
            return Err(cannot("the queue is full".to_owned()));
        }
        let job = self.state.next_job;
        let drops = drops::frozen(&self.state, &wanted.table, &partition, &wanted.inputs);
        self.emit(Event::JobPlanned {
            job,
            table: wanted.table.clone(),
            partition,
            inputs: wanted.inputs.clone(),
            output_level: wanted.output_level,
            why: Why::Proposed {
                reason: cut(&wanted.reason),
            },
            drops,
            alone: false,
            receipt: true,
        });
        Ok(Reply::Planned(job))
    }
}

fn check(state: &State, table: &Table, wanted: &Propose) -> Result<(), String> {
    let (inputs, level) = (&wanted.inputs, wanted.output_level);
    match () {
        () if table.spec.policy != Policy::Owner => {
            return Err("it plans by a policy of Baler's: alter it to policy owner first".to_owned());
        }
        () if state.is_paused(&wanted.table) => return Err("it is paused".to_owned()),
        () if inputs.is_empty() => return Err("no file is named".to_owned()),
        () if inputs.len() > JOB_INPUTS_MAX => {
            return Err(format!("{} files are more than {JOB_INPUTS_MAX}", inputs.len()));
        }
        () if level.0 > LEVEL_MAX => return Err(format!("there is no level above {LEVEL_MAX}")),
        () => {}
    }
    let (mut paths, mut partitions, mut apart) = (BTreeSet::new(), BTreeSet::new(), BTreeSet::new());
    for path in inputs {
        let file = table
            .files
            .get(path)
            .ok_or_else(|| format!("{path} is not live"))?;
        check_file(state, table, file, wanted)?;
        partitions.insert(table.spec.output_partition(&file.partition, level));
        if !paths.insert(path) {
            return Err(format!("{path} is named twice"));
        }
        if file.apart.is_some_and(|mark| !apart.insert(mark)) {
            return Err(format!("{path} failed together with another of these files"));
        }
    }
    match partitions.len() {
        1 => Ok(()),
        _ => Err("its files lie in several partitions".to_owned()),
    }
}

fn check_file(state: &State, table: &Table, file: &Arc<File>, wanted: &Propose) -> Result<(), String> {
    let path = &file.path;
    let put_off = table.put_off.get(path);
    match () {
        () if table.is_touched_since(wanted.evidence, path) => {
            Err(format!("{path} came after the policy looked"))
        }
        () if table.held.contains_key(path) => Err(format!("{path} is in a job already")),
        () if table.is_quarantined(path, &file.identity) => Err(format!("{path} is quarantined")),
        () if put_off.is_some_and(|put_off| state.is_put_off(put_off)) => Err(format!("{path} is put off")),
        () => Ok(()),
    }
}
