//! Baler as a library: what the binary does, for programs. The modules are in reading order.

pub mod cli;
pub mod commands;
pub mod settings;

#[cfg(feature = "http")]
pub mod api;

pub mod adding;
pub mod adoption;
pub mod collector;
pub mod depot;
pub mod desk;
pub mod discovery;
pub mod estimate;
pub mod folder;
pub mod root;
pub mod run;
pub mod site;
pub mod station;
pub mod store;
pub mod upkeep;
pub mod watch;
pub mod worker;

pub mod demo_data;
pub mod report;
pub mod spec;
