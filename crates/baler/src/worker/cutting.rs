//! A large job is cut by whoever was granted it first: that one looks at the inputs, and others help from then on. What
//! each of them finished stays finished, whoever dies.

use std::sync::Arc;

use baler_core::limits::{EDGE_BYTES_MAX, RANGES_MAX};
use baler_core::request::Grant;
use baler_merge::{Input, KeySpan, MergeError};

use super::engine::{self, MergeEnd, Order};
use crate::spec;

/// How many ranges a job should have that was just granted. A range makes at least one whole file: smaller ones would
/// only have to be merged again. What may kill whoever looks at it is not looked at here.
pub(super) fn ranges_wanted(grant: &Grant, range_bytes: u64) -> usize {
    let job = &grant.job;
    if job.ranges.len() != 1 || job.ranges[0].alone {
        return 1;
    }
    let each = range_bytes.max(job.merge.target_bytes).max(1);
    let ranges = usize::try_from(job.bytes() / each).unwrap_or(RANGES_MAX);
    ranges.clamp(1, RANGES_MAX)
}

/// The edges between so many ranges, from the inputs' footers and page indexes; none where the job cannot be cut. `step`
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
        tokio::task::spawn_blocking(move || cut(&order, &inputs, ranges))
    };
    match looking.await {
        Ok(Ok(spans)) => Ok(between(spans)),
        Ok(Err(error)) => Err(engine::blame(&order, error).await),
        Err(panic) => Err(engine::panicked(&panic)),
    }
}

fn cut(order: &Order, inputs: &[Arc<dyn Input>], ranges: usize) -> Result<Vec<KeySpan>, MergeError> {
    baler_merge::cut_job(inputs, &spec::for_engine(&order.grant.job), ranges)
}

/// Any byte string is an edge as good as a key: a long one is cut short, unless that makes it the one before.
fn between(spans: Vec<KeySpan>) -> Vec<Vec<u8>> {
    let mut edges: Vec<Vec<u8>> = spans.into_iter().filter_map(|span| span.until).collect();
    edges.iter_mut().for_each(|edge| edge.truncate(EDGE_BYTES_MAX));
    edges.dedup();
    edges
}

#[cfg(test)]
mod tests {
    use super::*;

    fn until(edge: &[u8]) -> KeySpan {
        KeySpan {
            from: None,
            until: Some(edge.to_vec()),
        }
    }

    #[test]
    fn long_edges_are_cut_short_and_stay_in_order() {
        let long = |last: u8| [&[7; EDGE_BYTES_MAX][..], &[last]].concat();
        let spans = vec![until(&[1]), until(&long(1)), until(&long(2)), KeySpan::ALL];
        assert_eq!(between(spans), [vec![1], vec![7; EDGE_BYTES_MAX]]);
    }
}
