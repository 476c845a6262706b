//! Stories of the binary, told through its front door: a folder goes in, a command runs, a folder comes out.

mod support;

mod command_line;
mod compaction;
mod keys;
mod kills;
mod memory;
mod odd_files;
mod refusals;
mod takeover;
