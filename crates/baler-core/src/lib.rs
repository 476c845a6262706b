//! The state machine that everything in Baler stands on. It is pure: no clock, no randomness, no I/O, no logs.
//!
//! ```text
//!  Request ──▶ decide(&State, &Request) ──▶ Decision { events, reply }
//!                     ▲                          │
//!                     │                     the journal appends the events as one batch, if nobody was first
//!                     │                          │
//!                   State ◀── apply(&mut State, &Batch)
//! ```
//!
//! The journal carries decisions, never requests: a newer planner may decide otherwise, but replaying old events
//! gives the old state. Whoever wants the present, an id or a random number passes it in with the request.
//!
//! The modules below are in reading order.

pub mod mutants;

pub mod ids;
pub mod limits;
pub mod time;

pub mod agenda;
pub mod external;
pub mod file;
pub mod garbage;
pub mod job;
pub mod lease;
pub mod names;
pub mod positions;
pub mod range;
pub mod receipt;
pub mod stretch;
pub mod table;

pub mod apply;
pub mod decide;
pub mod event;
pub mod refusal;
pub mod request;
pub mod state;
pub mod versions;

pub mod admission;
pub mod invariants;
pub mod planner;
pub mod pressure;
pub mod scheduler;

pub use apply::apply;
pub use decide::{Decision, decide};
pub use event::{Batch, Event};
pub use request::{Reply, Request};
pub use state::State;
