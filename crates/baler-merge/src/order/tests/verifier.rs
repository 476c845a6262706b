//! The verifier believes no order that is wrong.

use super::super::*;
use super::merges::{Job, Shape};

/// Rows of a lane, kept or dropped.
type Runs = [(u32, usize, bool)];

fn job(keyed: bool) -> Job {
    let inputs = [
        vec![(1, 0, Some(1)), (2, 0, Some(1)), (3, 0, Some(3))],
        vec![(2, 0, Some(2)), (3, 0, Some(2))],
    ];
    Job::new(Shape::Short, &inputs, keyed, 2)
}

fn order(runs: &Runs) -> Order {
    let mut order = Order::default();
    runs.iter()
        .for_each(|(lane, rows, kept)| order.push(*lane, *rows, *kept));
    order
}

/// What the verifier says to some windows, whether or not rows say where they stood.
fn verdict(keyed: bool, windows: &[&Runs]) -> String {
    let said = verdict_on(&job(keyed), windows);
    assert_eq!(said, verdict_on(&job(keyed).left_as_they_stood(), windows));
    said
}

fn verdict_on(job: &Job, windows: &[&Runs]) -> String {
    let mut verifier = Verifier::new(&job.layout, job.lanes());
    let checked = windows.iter().try_for_each(|runs| verifier.check(&order(runs)));
    match checked.and_then(|()| verifier.finish()) {
        Ok(()) => "proved".into(),
        Err(why) => why.to_string(),
    }
}

const RIGHT: &Runs = &[
    (0, 1, true),
    (0, 1, false),
    (1, 1, true),
    (0, 1, true),
    (1, 1, false),
];

#[test]
fn the_right_order_is_proved_in_one_window_or_cut_between_keys() {
    assert_eq!(verdict(true, &[RIGHT]), "proved");
    assert_eq!(verdict(true, &[&RIGHT[..3], &[], &RIGHT[3..]]), "proved");
    assert_eq!(
        verdict(
            false,
            &[&[(0, 2, true), (1, 1, true), (0, 1, true), (1, 1, true)]]
        ),
        "proved"
    );
}

#[test]
fn every_wrong_order_is_refused_and_says_why() {
    let wrong: [(bool, &[&Runs], &str); 9] = [
        (
            true,
            &[&[
                (0, 1, true),
                (0, 1, true),
                (1, 1, false),
                (0, 1, true),
                (1, 1, false),
            ]],
            "not the newest",
        ),
        (
            true,
            &[&[
                (0, 1, true),
                (0, 1, true),
                (1, 1, true),
                (0, 1, true),
                (1, 1, false),
            ]],
            "two rows",
        ),
        (
            true,
            &[&[
                (0, 1, false),
                (0, 1, false),
                (1, 1, true),
                (0, 1, true),
                (1, 1, false),
            ]],
            "not the newest",
        ),
        (true, &[&RIGHT[..4]], "not merged to its end"),
        (
            true,
            &[&RIGHT[..3], &[(0, 1, true)], &[(1, 1, true)]],
            "before all of its rows",
        ),
        (
            true,
            &[&[
                (0, 1, true),
                (1, 1, true),
                (0, 1, false),
                (0, 1, true),
                (1, 1, false),
            ]],
            "wrong order",
        ),
        (false, &[&[(0, 3, true), (1, 2, true)]], "wrong order"),
        (
            false,
            &[&[(0, 2, true), (1, 1, true), (0, 1, true), (1, 2, true)]],
            "more rows",
        ),
        (
            false,
            &[&[(0, 2, true), (1, 1, true), (0, 1, true), (1, 1, false)]],
            "every row is kept",
        ),
    ];
    for (keyed, windows, why) in wrong {
        let verdict = verdict(keyed, windows);
        assert!(verdict.contains(why), "{verdict:?} should say {why:?}");
    }
}
