//! The simulator on itself: a seed is the same each time, and the checkers see what is wrong.

use baler_sim::{Options, run};

#[test]
fn a_seed_is_the_same_each_time() {
    for seed in 0..4 {
        let (first, second) = (run(seed, &Options::default()), run(seed, &Options::default()));
        assert_eq!(first.trace_hash, second.trace_hash, "seed {seed}");
    }
}
