//! Finds where a condition ends in few steps, if it ends soon.

/// How many of `length` steps hold, where all that hold come first: by doubling, then by halving.
pub(super) fn gallop(length: usize, holds: impl Fn(usize) -> bool) -> usize {
    let mut reach = 1;
    while reach <= length && holds(reach - 1) {
        reach *= 2;
    }
    let (mut low, mut high) = (reach / 2, length.min(reach - 1));
    while low < high {
        let middle = low + (high - low) / 2;
        match holds(middle) {
            true => low = middle + 1,
            false => high = middle,
        }
    }
    low
}

#[cfg(test)]
mod tests {
    use super::gallop;

    #[test]
    fn galloping_finds_the_first_step_that_fails() {
        for length in 0..40 {
            for holding in 0..=length {
                assert_eq!(
                    gallop(length, |step| step < holding),
                    holding,
                    "{holding} of {length}"
                );
            }
        }
    }
}
