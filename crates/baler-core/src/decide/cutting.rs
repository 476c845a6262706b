//! A large job becomes several ranges, so that others can help. Nobody knows its keys when it is planned: whoever was
//! granted it reads the footers, and proposes where to cut.

use super::{Answer, Draft};
use crate::admission::memory_estimate;
use crate::event::Event;
use crate::ids::RangeId;
use crate::job::Job;
use crate::limits::{EDGE_BYTES_MAX, RANGES_MAX};
use crate::names::Attempt;
use crate::range::{Edge, Span};
use crate::request::{Grant, Refusal, Reply};

impl Draft {
    pub(super) fn cut_job(&mut self, attempt: &Attempt, edges: &[Vec<u8>]) -> Answer {
        let job = self.leased(attempt)?;
        let edges: Vec<Edge> = edges.iter().map(|edge| Edge(edge.as_slice().into())).collect();
        if !is_cut_so(&job, attempt, &edges) {
            if let Err(why) = can_be_cut(&job, attempt).and_then(|()| check_edges(&edges)) {
                return Err(Refusal::CannotCut { job: job.id, why });
            }
            self.emit(Event::JobCut { job: job.id, edges });
        }
        let job = self.state.jobs[&job.id].clone();
        Ok(Reply::Cut(Grant {
            memory_bytes: memory_estimate(&job),
            job,
            range: attempt.range,
            token: attempt.token,
        }))
    }
}

/// A message that came twice is no reason to say no to who was told yes.
fn is_cut_so(job: &Job, attempt: &Attempt, edges: &[Edge]) -> bool {
    let spans = job.ranges.iter().map(|range| &range.span);
    attempt.range == RangeId::Keys(0) && !edges.is_empty() && spans.eq(&Span::cut(edges))
}

fn can_be_cut(job: &Job, attempt: &Attempt) -> Result<(), String> {
    match attempt.range {
        RangeId::Publish => Err("it is merged already".to_owned()),
        RangeId::Keys(_) if job.ranges.len() > 1 => Err("it is cut already".to_owned()),
        RangeId::Keys(_) => Ok(()),
    }
}

/// Edges come from outside and stay in the state.
fn check_edges(edges: &[Edge]) -> Result<(), String> {
    match () {
        () if edges.is_empty() => Err("no edge was named".to_owned()),
        () if edges.len() >= RANGES_MAX => Err(format!(
            "{} edges make more than {RANGES_MAX} ranges",
            edges.len()
        )),
        () if edges.iter().any(|edge| edge.0.len() > EDGE_BYTES_MAX) => {
            Err(format!("an edge has more than {EDGE_BYTES_MAX} bytes"))
        }
        () if edges[0].0.is_empty() => Err("no key is below an empty edge".to_owned()),
        () if !edges.is_sorted_by(|one, next| one < next) => {
            Err("its edges are not in strictly ascending order".to_owned())
        }
        () => Ok(()),
    }
}
