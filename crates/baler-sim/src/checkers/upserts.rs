//! Guarantee 1 where rows take keys away: no key that was deleted comes back, and none that is there vanishes.

use std::collections::BTreeSet;

use crate::model::upserts::{Newest, Upserts};
use crate::model::{Job, Model};
use crate::rows::written_ms;

/// A job let these tombstones go. They must be older than all that may still come, and hide nothing that is left.
pub(super) fn let_go(model: &Model, id: u64, job: &Job, gone: &[(&String, &Newest)]) -> Vec<String> {
    let mut wrong = Vec::new();
    let (lateness_ms, before_ms) = (model.lateness_ms.unwrap_or(0), job.lets_go_before_ms.unwrap_or(0));
    if before_ms + lateness_ms > job.planned_ms {
        let planned_ms = job.planned_ms;
        wrong.push(format!(
            "job {id}, planned at {planned_ms} ms, lets tombstones go of before {before_ms} ms: rows of then may still come"
        ));
    }
    for (key, newest) in gone {
        let written_ms = written_ms(newest.version);
        if written_ms >= before_ms {
            wrong.push(format!(
                "job {id} let the tombstone of {key} go, which is of {written_ms} ms: its limit is {before_ms} ms"
            ));
        }
    }
    let outputs = model.outputs(id);
    let mut replaced: BTreeSet<&String> = outputs.iter().map(|(path, _)| path).collect();
    replaced.extend(&job.inputs);
    let others = model.live.iter().filter(|(path, _)| !replaced.contains(path));
    for (path, file) in others.filter(|_| !gone.is_empty()) {
        for (key, version, _) in model.rows(path, file.tag.as_deref()).unwrap_or_default() {
            let hid = |newest: &Newest| (version, file.came) < (newest.version, newest.came);
            let found = gone.iter().find(|(gone, newest)| **gone == key && hid(newest));
            if found.is_some() && !model.late.contains(&key) {
                wrong.push(format!(
                    "job {id} let the tombstone of {key} go, and {path} holds an older row of it"
                ));
            }
        }
    }
    wrong
}

/// A key that does not look as it should.
pub(super) fn odd_one(model: &Model, found: &Upserts) -> Option<String> {
    let expected = &model.expected;
    let keys: BTreeSet<&String> = expected.0.keys().chain(found.0.keys()).collect();
    let mut odd = keys.into_iter().filter(|key| !model.late.contains(*key));
    let odd = odd.find(|key| !agree(expected.0.get(*key), found.0.get(*key)))?;
    Some(format!(
        "{} keys handed over, {} there: of {odd} {:?} is expected, {:?} is there",
        expected.0.len(),
        found.0.len(),
        expected.0.get(odd),
        found.0.get(odd)
    ))
}

/// Where a key may be deleted, nothing or a tombstone may stand for it.
fn agree(expected: Option<&Newest>, found: Option<&Newest>) -> bool {
    let gone = expected.is_none_or(Newest::may_be_deleted) && found.is_none_or(Newest::may_be_deleted);
    let same = expected
        .zip(found)
        .is_some_and(|(expected, found)| expected.may_be(found));
    gone || same
}
