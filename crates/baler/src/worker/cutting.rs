//! A large job is cut by whoever was granted it first: that one looks at the inputs, and others help from then on. What
//! each of them finished stays finished, whoever dies.

use std::sync::Arc;

use baler_core::job::Job;
use baler_core::limits::{EDGE_BYTES_MAX, RANGES_MAX};
use baler_journal::host;

use super::engine::{self, MergeEnd, Order};

/// How many ranges a job should have. A range makes at least one whole file: smaller ones would
/// only have to be merged again. What may kill whoever looks at it is not looked at here.
pub(crate) fn ranges_wanted(job: &Job, range_bytes: u64) -> usize {
    if job.ranges.len() != 1 || job.ranges[0].alone {
        return 1;
    }
    let each = range_bytes.max(job.merge.target_bytes).max(1);
    let ranges = usize::try_from(job.bytes() / each).unwrap_or(RANGES_MAX);
    ranges.clamp(1, RANGES_MAX)
}

/// The edges between so many ranges, as the format finds them; none where the job cannot be cut. `step`
/// is called for each input.
pub(super) async fn edges(
    order: Order,
    ranges: usize,
    step: &(dyn Fn() + Sync),
) -> Result<Vec<Vec<u8>>, MergeEnd> {
    let inputs = engine::open_inputs(&order, step).await?;
    let order = Arc::new(order);
    let looking = {
        let order = order.clone();
        host::blocking(move || order.merge.edges(&order.grant.job, &inputs, ranges))
    };
    match looking.await {
        Ok(Ok(edges)) => Ok(short(edges)),
        Ok(Err(error)) => Err(engine::blame(&order, error).await),
        Err(panic) => Err(engine::panicked(&panic)),
    }
}

/// Any byte string is an edge as good as a key: a long one is cut short, unless that makes it the one before.
fn short(mut edges: Vec<Vec<u8>>) -> Vec<Vec<u8>> {
    edges.iter_mut().for_each(|edge| edge.truncate(EDGE_BYTES_MAX));
    edges.dedup();
    edges
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_edges_are_cut_short_and_stay_in_order() {
        let long = |last: u8| [&[7; EDGE_BYTES_MAX][..], &[last]].concat();
        let edges = vec![vec![1], long(1), long(2)];
        assert_eq!(short(edges), [vec![1], vec![7; EDGE_BYTES_MAX]]);
    }
}
