//! When to close an output and begin the next. Pure.

/// Where the current output stands.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Standing {
    /// Bytes of the current output, those not yet compressed included.
    pub(crate) bytes: u64,
    /// Rows in the current output.
    pub(crate) rows: u64,
    /// Rows still to come, at most.
    pub(crate) rows_due: u64,
}

/// Whether the current output is full.
///
/// What is left is shared out evenly over the fewest outputs that hold it, so that no tiny one remains at the end.
pub(crate) fn is_full(standing: Standing, target_bytes: u64) -> bool {
    if standing.rows == 0 || standing.rows_due == 0 {
        return false;
    }
    if standing.bytes >= roomy(target_bytes) {
        return true;
    }
    let bytes = u128::from(standing.bytes);
    let due = bytes * u128::from(standing.rows_due) / u128::from(standing.rows);
    let outputs = (bytes + due).div_ceil(roomy(target_bytes).max(1).into());
    let share = (bytes + due).div_ceil(outputs.max(1));
    outputs > 1 && bytes + u128::from(little(standing.bytes)) >= share
}

/// How many more rows of `row_bytes` go into the current output; nothing if all that is left does.
pub(crate) fn rows_left(standing: Standing, row_bytes: f64, target_bytes: u64) -> Option<u64> {
    let due = (standing.rows_due as f64 * row_bytes) as u64;
    let whole = standing.bytes + due;
    let outputs = whole.div_ceil(roomy(target_bytes).max(1)).max(1);
    if outputs == 1 {
        return None;
    }
    let left = (whole.div_ceil(outputs)).saturating_sub(standing.bytes);
    if left <= little(standing.bytes) {
        return Some(0);
    }
    Some((left as f64 / row_bytes.max(f64::MIN_POSITIVE)) as u64)
}

/// A row more or less is no reason for another row group: an output that lacks so little is full.
fn little(bytes: u64) -> u64 {
    bytes / 256
}

/// A little over the target in each output is better than one more output.
fn roomy(target_bytes: u64) -> u64 {
    target_bytes + target_bytes / 100 * 7
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Sizes of the outputs for `rows` rows of ten bytes, looked at every hundred rows.
    fn rolled(rows: u64, target: u64) -> Vec<u64> {
        let (mut outputs, mut current) = (Vec::new(), 0);
        for done in (0..=rows).step_by(100).skip(1) {
            current += 100;
            if is_full(
                Standing {
                    bytes: current * 10,
                    rows: current,
                    rows_due: rows - done,
                },
                target,
            ) {
                outputs.push(current * 10);
                current = 0;
            }
        }
        outputs.extend((current > 0).then_some(current * 10));
        outputs
    }

    #[test]
    fn what_fits_goes_into_one_output() {
        assert_eq!(rolled(10_000, 100_000), [100_000]);
        assert_eq!(rolled(10_400, 100_000), [104_000]);
    }

    #[test]
    fn no_tiny_output_is_left_at_the_end() {
        let outputs = rolled(21_500, 100_000);
        assert_eq!(outputs.len(), 3);
        assert!(
            outputs.iter().all(|bytes| (70_000..=74_000).contains(bytes)),
            "{outputs:?}"
        );
    }

    /// Trap: the output was called full while its last few rows were on their way; they began the next one, and as many were left for a
    /// third.
    #[test]
    fn what_makes_an_output_full_is_not_asked_for_again() {
        let standing = Standing {
            bytes: 319_000,
            rows: 31_900,
            rows_due: 32_100,
        };
        assert!(is_full(standing, 500_000));
        assert_eq!(rows_left(standing, 10.0, 500_000), Some(0));
        let last = Standing {
            rows_due: 100,
            ..standing
        };
        assert!(!is_full(last, 500_000), "the rest goes into it");
        assert_eq!(rows_left(last, 10.0, 500_000), None);
    }

    #[test]
    fn none_is_much_larger_than_the_target() {
        for rows in (1_000..60_000).step_by(700) {
            let outputs = rolled(rows / 100 * 100, 100_000);
            assert!(
                outputs.iter().all(|bytes| *bytes <= 107_000),
                "{rows}: {outputs:?}"
            );
        }
    }
}
