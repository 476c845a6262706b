//! Columns: window by window, each column is gathered by itself, hashed, and encoded; windows and columns on all threads.

mod bytes_pages;
mod choose;
mod cutting;
mod dictionaries;
mod encode;
mod gather;
mod judged;
mod onlooker;
mod own_pages;
mod picks;
mod strings;
mod sums;
mod watch;
mod window;

pub(crate) use cutting::{Cutter, Source};
pub(crate) use encode::{Chunk, Encoder};
pub(crate) use gather::Gather;
pub(crate) use onlooker::Onlooker;
#[cfg(debug_assertions)]
pub(crate) use picks::Run;
pub(crate) use picks::{Picks, Span};
pub(crate) use watch::{Ends, Watch};
pub(crate) use window::{Done, InWork};
