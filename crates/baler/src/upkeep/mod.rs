//! What somebody must do now and then for a root that is worked on: tell the state the time where something has grown old
//! enough, and drop what is past its retention.

mod ageing;
mod retention;

pub use ageing::{ask_for_the_present, tell_the_time};
pub use retention::apply_retention;
