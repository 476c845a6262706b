//! Baler as a library: what the binary does, for programs. The modules are in reading order.

#[macro_use]
mod printing;

#[cfg(feature = "cli")]
pub mod cli;
#[cfg(feature = "cli")]
pub mod commands;
pub mod settings;

pub mod embed;

#[cfg(feature = "http")]
pub mod api;

#[cfg(feature = "parquet")]
pub mod adding;
#[cfg(feature = "parquet")]
pub mod adoption;
pub mod audit;
pub mod cache;
#[cfg(all(feature = "cli", feature = "http"))]
pub mod chaos;
pub mod collector;
#[cfg(all(feature = "http", feature = "parquet"))]
pub mod crew;
pub mod depot;
pub mod desk;
#[cfg(feature = "parquet")]
pub mod discovery;
pub mod estimate;
pub mod folder;
#[cfg(feature = "cli")]
pub mod mending;
pub mod merge;
pub mod metrics;
pub mod owner;
pub mod receipts;
pub mod root;
#[cfg(feature = "parquet")]
pub mod run;
pub mod site;
pub mod station;
pub mod store;
pub mod undoing;
pub mod upkeep;
pub mod watch;
pub mod worker;

#[cfg(feature = "cli")]
pub mod demo_data;
pub mod report;
#[cfg(feature = "parquet")]
pub mod spec;
