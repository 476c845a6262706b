//! Every row group lands in one stretch, stretches are in order, and nothing that shares a key is torn apart.

use super::*;
use proptest::prelude::*;

fn group(keys: (u8, u8), rows: u64) -> GroupFacts {
    GroupFacts {
        rows,
        keys: Some(KeyRange {
            min: vec![keys.0],
            max: vec![keys.1],
        }),
        copies: true,
        stitches: true,
        fits: true,
        inside: true,
        told: true,
        settled: None,
    }
}

fn sorted(groups: Vec<GroupFacts>) -> InputFacts {
    InputFacts {
        sorted: true,
        unique: false,
        groups,
    }
}

fn by(order: WantedOrder) -> Wanted {
    Wanted {
        group_rows: 1000,
        rows_max: 2000,
        order,
        looks_at_rows: false,
    }
}

fn shown(inputs: &[InputFacts], wanted: Wanted) -> Vec<String> {
    choose_paths(inputs, wanted)
        .0
        .iter()
        .map(Stretch::to_string)
        .collect()
}

#[test]
fn small_ones_are_stitched_large_ones_copied_overlapping_ones_merged() {
    let inputs = [
        sorted(vec![
            group((0, 9), 300),
            group((10, 19), 300),
            group((20, 29), 900),
        ]),
        sorted(vec![
            group((30, 40), 200),
            group((50, 60), 300),
            group((61, 70), 300),
        ]),
        sorted(vec![group((35, 45), 200)]),
    ];
    assert_eq!(
        shown(&inputs, by(WantedOrder::Key)),
        [
            "stitch 600 rows, 2 row groups of input 0: overlap nothing and are too small each",
            "copy 900 rows, row group 2 of input 0: overlaps nothing and is large enough",
            "merge 400 rows, 2 row groups of 2 inputs: share keys",
            "stitch 600 rows, 2 row groups of input 1: overlap nothing and are too small each",
        ]
    );
}

#[test]
fn equal_keys_of_two_inputs_are_merged_those_of_one_input_are_in_order_already() {
    let one = [sorted(vec![group((0, 5), 10), group((5, 9), 10)])];
    assert_eq!(choose_paths(&one, by(WantedOrder::Key)).0[0].path, Path::Stitch);
    let two = [sorted(vec![group((5, 9), 10)]), sorted(vec![group((0, 5), 10)])];
    assert_eq!(choose_paths(&two, by(WantedOrder::Key)).0[0].path, Path::Merge);
}

/// Versions of one key may lie in one file, even in one row group.
#[test]
fn under_a_keyed_rule_nothing_goes_unmerged_unless_keys_are_known_to_be_unique() {
    let mut inputs = [sorted(vec![group((0, 4), 900), group((5, 9), 900)])];
    assert!(shown(&inputs, by(WantedOrder::UniqueKey))[0].starts_with("merge 1800 rows"));
    inputs[0].unique = true;
    let paths = choose_paths(&inputs, by(WantedOrder::UniqueKey)).0;
    assert!(paths.iter().all(|stretch| stretch.path == Path::Copy));
    inputs[0].groups[1] = group((4, 9), 900);
    let paths = choose_paths(&inputs, by(WantedOrder::UniqueKey)).0;
    assert_eq!(
        paths[0].path,
        Path::Merge,
        "a key may lie on both sides of the edge"
    );
}

#[test]
fn what_is_not_known_for_certain_is_merged() {
    let mut inputs = [sorted(vec![group((0, 4), 900)]), sorted(vec![group((5, 9), 900)])];
    inputs[1].sorted = false;
    let found = shown(&inputs, by(WantedOrder::Key));
    assert!(found[0].starts_with("copy"), "it shares no keys with the other");
    assert!(found[1].ends_with("their keys or their order are not known"));
    inputs[1].sorted = true;
    inputs[1].groups[0].keys = None;
    assert_eq!(shown(&inputs, by(WantedOrder::Key)).len(), 1);
    assert_eq!(
        shown(&inputs, by(WantedOrder::Inputs)).len(),
        2,
        "without a key none is needed"
    );
    inputs[1].groups[0] = group((5, 9), 900);
    inputs[0].groups[0].told = false;
    assert!(shown(&inputs, by(WantedOrder::Key))[0].contains("a rule must look at every row"));
    let wanted = Wanted {
        looks_at_rows: true,
        ..by(WantedOrder::Key)
    };
    assert_eq!(shown(&inputs, wanted).len(), 1);
}

#[test]
fn a_crumb_before_a_large_row_group_goes_with_it() {
    let inputs = [sorted(vec![group((0, 4), 20), group((5, 9), 900)])];
    assert_eq!(shown(&inputs, by(WantedOrder::Key)).len(), 1);
}

#[test]
fn crumbs_beside_a_merge_are_merged_with_it() {
    let inputs = [
        sorted(vec![group((0, 4), 20), group((5, 9), 300), group((20, 29), 20)]),
        sorted(vec![group((7, 12), 300)]),
    ];
    assert_eq!(
        shown(&inputs, by(WantedOrder::Key)),
        ["merge 640 rows, 4 row groups of 2 inputs: share keys"]
    );
}

#[test]
fn a_row_group_far_above_the_target_is_cut_by_a_merge() {
    let inputs = [sorted(vec![group((0, 4), 2001)])];
    assert!(shown(&inputs, by(WantedOrder::Key))[0].starts_with("merge"));
}

proptest! {
    #[test]
    fn every_row_group_lands_in_exactly_one_stretch_and_stretches_share_no_keys(
        inputs in proptest::collection::vec(
            (proptest::collection::vec((0u8..200, 0u8..40, 0u64..1500, any::<bool>()), 0..6), any::<bool>(), any::<bool>()),
            0..5,
        ),
        order in prop_oneof![Just(WantedOrder::Inputs), Just(WantedOrder::Key), Just(WantedOrder::UniqueKey)],
    ) {
        let inputs: Vec<InputFacts> = inputs
            .into_iter()
            .map(|(mut groups, unique, sorted)| {
                // A sorted input: each group begins where the one before ended, or later.
                groups.sort_unstable();
                let mut edge = 0u8;
                let groups = groups.into_iter().map(|(start, width, rows, copies)| {
                    let min = start.max(edge);
                    edge = min.saturating_add(width);
                    GroupFacts { copies, ..group((min, edge), rows) }
                });
                InputFacts { sorted, unique, groups: groups.collect() }
            })
            .collect();
        let paths = choose_paths(&inputs, by(order)).0;
        let mut found: Vec<GroupId> = paths.iter().flat_map(|stretch| stretch.groups.clone()).collect();
        found.sort_unstable();
        let mut due = Vec::new();
        for (input, facts) in inputs.iter().enumerate() {
            let with_rows = facts.groups.iter().enumerate().filter(|(_, group)| group.rows > 0);
            due.extend(with_rows.map(|(group, _)| GroupId { input, group }));
        }
        prop_assert_eq!(found, due);
        let facts = |id: &GroupId| &inputs[id.input].groups[id.group];
        for stretch in &paths {
            prop_assert_eq!(stretch.rows, stretch.groups.iter().map(|id| facts(id).rows).sum::<u64>());
            prop_assert!(stretch.path != Path::Copy || stretch.groups.len() == 1);
            prop_assert!(stretch.path == Path::Merge || stretch.rows <= 2000);
        }
        let units: Vec<(usize, &GroupId)> =
            paths.iter().enumerate().flat_map(|(at, stretch)| stretch.groups.iter().map(move |id| (at, id))).collect();
        let keys = |id: &GroupId| facts(id).keys.clone().unwrap();
        for pair in units.windows(2) {
            let ((at, a), (next, b)) = (pair[0], pair[1]);
            let in_order = match order {
                WantedOrder::Inputs => a < b,
                _ if at == next && paths[at].path == Path::Merge => true,
                WantedOrder::Key => keys(a).max < keys(b).min || (a.input == b.input && a < b),
                WantedOrder::UniqueKey => keys(a).max < keys(b).min,
            };
            prop_assert!(in_order || (at != next && paths[at].path == Path::Merge), "{a:?} {b:?}");
        }
        // Whatever lies in an earlier stretch comes before whatever lies in a later one.
        for (at, a) in &units {
            for (next, b) in units.iter().filter(|(next, _)| next > at) {
                let apart = keys(a).max < keys(b).min || (a.input == b.input && a < b && order == WantedOrder::Key);
                prop_assert!(order == WantedOrder::Inputs || apart, "{at} {a:?} {next} {b:?}");
            }
        }
    }
}
