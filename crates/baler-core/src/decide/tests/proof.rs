//! Guarantee 1: a result whose figures do not add up is refused.

use super::fixtures::*;
use super::story::{Story, Told, given};
use crate::event::Event;
use crate::file::Digest;
use crate::ids::{JobId, RangeId};
use crate::job::{Copied, Dropped, Finished, InputRead};
use crate::limits::{REASON_CHARS_MAX, STRETCHES_MAX};
use crate::request::{Finish, Request};
use crate::stretch::{Stretch, Way};
use crate::table::{Catalog, MergeSpec, Rule, TableSpec};

fn merging(table: &str) -> Story {
    given([added(table, ["a", "b"]), planned(table, 0, ["a", "b"]), leased(0)])
}

/// The right result with something wrong about it.
fn offered(table: &str, twist: impl FnOnce(&mut Finished)) -> Told {
    let story = merging(table);
    let mut finish = finish(story.job(0), &story.attempt(0));
    twist(&mut finish.finished);
    story.when(Request::Finish(finish))
}

#[track_caller]
fn refused(twist: impl FnOnce(&mut Finished), because: &str) {
    let told = offered(NATIVE, twist).not_proved(because);
    let story = told.go_on();
    assert_eq!(story.live(NATIVE), paths(["a", "b"]));
}

#[test]
fn proof_refuses_a_lost_doubled_or_changed_row() {
    refused(|f| f.outputs[0].rows -= 1, "rows read");
    refused(|f| f.outputs[0].rows += 1, "rows read");
    refused(|f| f.outputs[0].digest = Digest(7), "digest");
    refused(|f| f.outputs.clear(), "rows read");
}

#[test]
fn rows_that_a_rule_of_the_owners_drops_or_changes_are_declared_under_its_name() {
    let told = |rules: &[&str], drops: Dropped| {
        let spec = spec(Catalog::Native, Rule::KeepAll);
        let merge = MergeSpec {
            own_rules: rules.iter().map(|rule| (*rule).into()).collect(),
            ..MergeSpec::clone(&spec.merge)
        };
        let spec = TableSpec {
            merge: merge.into(),
            ..TableSpec::clone(&spec)
        };
        let created = Event::TableCreated {
            table: "owned".into(),
            spec: spec.into(),
        };
        let events = [
            added("owned", ["a", "b"]),
            planned("owned", 0, ["a", "b"]),
            leased(0),
        ];
        let story = given([created].into_iter().chain(events));
        let mut finish = finish(story.job(0), &story.attempt(0));
        let output = &mut finish.finished.outputs[0];
        output.rows -= drops.rows;
        output.digest = Digest(output.digest.0.wrapping_sub(drops.digest.0));
        finish.finished.drops = vec![drops];
        story.when(Request::Finish(finish))
    };
    let dropped = |rows, digest| Dropped {
        rule: "hide".into(),
        rows,
        digest: Digest(digest),
    };
    told(&[], dropped(2, 5)).not_proved("which the job does not have");
    told(&["other"], dropped(2, 5)).not_proved("which the job does not have");
    let committed = |told: Told| told.go_on().live("owned").len() == 1;
    assert!(committed(told(&["hide"], dropped(2, 5))));
    assert!(
        committed(told(&["hide"], dropped(0, u128::MAX - 4))),
        "a changed row"
    );
}

/// All rows of the first input, copied as bytes.
fn copying(f: &mut Finished) {
    let rows = f.reads[0].rows;
    let digest = f.reads[0].digest;
    f.reads[0] = InputRead {
        rows,
        copied: rows,
        digest: Digest(0),
        positions: None,
    };
    f.outputs[0].copied = rows;
    f.outputs[0].digest = Digest(f.outputs[0].digest.0.wrapping_sub(digest.0));
    f.copied = Some(Copied {
        rows,
        read: Digest(11),
        written: Digest(11),
    });
}

#[test]
fn proof_takes_pages_copied_as_bytes_and_claims_no_digest_of_their_rows() {
    let story = offered(NATIVE, copying).go_on();
    let table = story.table(NATIVE);
    let output = table.files.values().next().unwrap();
    assert_eq!((table.files.len(), output.digest), (1, None));
    assert!(output.checksum.is_some());
}

#[test]
fn proof_refuses_copied_rows_that_are_lost_doubled_or_other_pages() {
    let twisted = |twist: fn(&mut Copied)| {
        move |f: &mut Finished| {
            copying(f);
            f.copied.iter_mut().for_each(twist);
        }
    };
    refused(twisted(|copied| copied.written = Digest(12)), "pages");
    refused(twisted(|copied| copied.rows += 1), "declared");
    let both = |twist: fn(&mut Finished)| {
        move |f: &mut Finished| {
            copying(f);
            twist(f);
        }
    };
    refused(both(|f| f.outputs[0].copied -= 1), "declared");
    refused(both(|f| f.reads[0].copied += 1), "declared");
    refused(both(|f| f.copied = None), "declared");
    refused(
        both(|f| {
            f.outputs[0].rows -= 1;
            f.reads[0].rows -= 1;
        }),
        "declared",
    );
}

/// The first input copied, the others merged, and both said so.
fn in_stretches(f: &mut Finished) {
    copying(f);
    let merged = f.reads[1..].iter();
    let digest = f.outputs[0].digest;
    f.stretches = vec![
        stretch(Way::Copied, f.reads[0].rows, Digest(11)),
        stretch(Way::Merged, merged.map(|read| read.rows).sum(), digest),
    ];
}

fn stretch(way: Way, rows: u64, sum: Digest) -> Stretch {
    Stretch {
        way,
        why: "because".into(),
        stretches: 1,
        rows,
        read: sum,
        written: sum,
        dropped: Digest(0),
    }
}

/// Trap: a receipt that says of stretches what is true of their sum only.
#[test]
fn proof_refuses_stretches_that_do_not_balance_or_are_not_the_range() {
    let story = offered(NATIVE, in_stretches).go_on();
    assert_eq!(story.table(NATIVE).files.len(), 1);
    let twisted = |twist: fn(&mut Vec<Stretch>)| {
        move |f: &mut Finished| {
            in_stretches(f);
            twist(&mut f.stretches);
        }
    };
    let unbalanced = twisted(|of| {
        let written = of[0].written;
        of[0].written = of[1].written;
        of[1].written = written;
    });
    refused(unbalanced, "is not what was read of it");
    refused(twisted(|of| of[1].rows += 1), "not all of its rows");
    refused(twisted(|of| drop(of.pop())), "not all of its rows");
    let other = twisted(|of| {
        of[0].read = Digest(12);
        of[0].written = Digest(12);
    });
    refused(other, "are not what was read of it");
}

/// What is kept of a job for its receipt is bounded, however a merge went.
#[test]
fn more_stretches_than_are_told_apart_become_a_sum_for_each_way() {
    let many = |f: &mut Finished| {
        in_stretches(f);
        let nothing = stretch(Way::Merged, 0, Digest(0));
        let merged = Stretch {
            why: "w".repeat(2 * REASON_CHARS_MAX).into(),
            ..nothing
        };
        for _ in 0..STRETCHES_MAX {
            f.stretches.push(merged.clone());
        }
    };
    let story = offered(NATIVE, many).go_on();
    let kept = &story.state.committed[&JobId(0)].job;
    let (_, finished) = kept.finished().next().unwrap();
    let [copied, merged] = &finished.stretches[..] else {
        panic!("{:?}", finished.stretches)
    };
    assert_eq!((copied.way, copied.stretches), (Way::Copied, 1));
    assert_eq!(merged.stretches, 1 + STRETCHES_MAX as u64);
    assert_eq!(merged.read, finished.outputs[0].digest);
    assert_eq!(&*merged.why, "for several reasons");
}

#[test]
fn proof_refuses_a_key_that_fell_into_no_range_or_into_two() {
    refused(
        |f| {
            f.reads[0].rows -= 1;
            f.outputs[0].rows -= 1;
        },
        "in its footer",
    );
    refused(
        |f| {
            f.reads[1].rows += 1;
            f.outputs[0].rows += 1;
        },
        "in its footer",
    );
}

#[test]
fn proof_refuses_rows_that_are_not_those_once_written() {
    let story = merging(NATIVE);
    let first = finish(story.job(0), &story.attempt(0));
    let output = first.finished.outputs[0].path.to_string();
    let story = story
        .after(Request::Finish(first))
        .and([planned(NATIVE, 1, [output.as_str()]), leased(1)]);
    let mut second = finish(story.job(1), &story.attempt(1));
    second.finished.reads[0].digest = Digest(7);
    second.finished.outputs[0].digest = Digest(7);
    story
        .when(Request::Finish(second))
        .not_proved("not those that were written");
}

#[test]
fn proof_refuses_figures_for_other_inputs() {
    refused(|f| f.reads.truncate(1), "figures for 1");
}

#[test]
fn proof_refuses_a_name_that_the_attempt_may_not_write() {
    refused(|f| f.outputs[0].path = path("elsewhere.parquet"), "not a name");
    refused(|f| f.outputs[0].part = 9, "not a name");
}

#[test]
fn proof_refuses_one_output_under_two_figures() {
    refused(
        |f| {
            let mut half = f.outputs[0].clone();
            f.outputs[0].rows = ROWS;
            half.rows = ROWS;
            half.digest = Digest(0);
            f.outputs.push(half);
        },
        "written twice",
    );
}

#[test]
fn proof_refuses_figures_that_wrap_around() {
    refused(
        |f| {
            f.reads[0].rows = u64::MAX;
            f.reads[1].rows = 2 * ROWS + 1;
        },
        "rows read",
    );
}

#[test]
fn a_drop_is_declared_counted_and_allowed_by_a_rule() {
    let drop_b = |f: &mut Finished| {
        let read = f.reads[1];
        f.outputs[0].rows -= read.rows;
        f.outputs[0].digest = f.reads[0].digest;
        f.drops
            .push(dropped(Dropped::LAST_WRITE_WINS, read.rows, read.digest));
    };
    refused(drop_b, "which the job does not have");
    let story = offered(KEYED, drop_b).go_on();
    assert_eq!(story.state.recent[0].rows_dropped, ROWS);
    let uncounted = |f: &mut Finished| {
        drop_b(f);
        f.drops[0].rows -= 1;
    };
    offered(KEYED, uncounted).not_proved("rows read");
    let twice = |f: &mut Finished| {
        drop_b(f);
        f.drops.push(dropped(Dropped::LAST_WRITE_WINS, 0, Digest(0)));
    };
    offered(KEYED, twice).not_proved("declared twice");
    for unknown in ["whim", Dropped::DELETED, Dropped::EXPIRED] {
        let by_whim = |f: &mut Finished| {
            drop_b(f);
            f.drops[0].rule = unknown.into();
        };
        offered(KEYED, by_whim).not_proved("which the job does not have");
    }
}

#[test]
fn an_unproved_result_is_no_success_when_it_is_sent_again() {
    let story = merging(NATIVE);
    let mut wrong = finish(story.job(0), &story.attempt(0));
    wrong.finished.outputs[0].rows -= 1;
    let request = Request::Finish(wrong);
    let told = story.when(request.clone()).not_proved("rows read");
    let refusal = crate::request::Refusal::NoSuchLease {
        job: JobId(0),
        range: RangeId::Keys(0),
    };
    told.go_on().when(request).refused(refusal);
}

#[test]
fn publishing_cannot_be_finished_like_a_range() {
    let story = merging(PLACE);
    let request = Request::Finish(finish(story.job(0), &story.attempt(0)));
    let story = story.after(request);
    let attempt = story.attempt_at(0, RangeId::Publish);
    let mut finished = finished(story.job(0), &attempt);
    finished.outputs.clear();
    finished.reads.iter_mut().for_each(|read| {
        read.rows = 0;
        read.digest = Digest(0);
    });
    let request = Finish {
        finished,
        ..finish(story.job(0), &attempt)
    };
    let refusal = crate::request::Refusal::NoSuchLease {
        job: JobId(0),
        range: RangeId::Publish,
    };
    story.when(Request::Finish(request)).refused(refusal);
}
