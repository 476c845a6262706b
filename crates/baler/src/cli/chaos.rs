//! `baler chaos`

use clap::Args;

use crate::store::Location;

/// `baler chaos`
#[derive(Debug, Args)]
pub struct ChaosArgs {
    /// A folder or bucket to make a scratch folder in; nothing else in it is touched
    pub root: Location,
    /// How long processes die and requests fail
    #[arg(long, value_name = "N", default_value_t = 2.0)]
    pub minutes: f64,
    /// How many worker processes are killed meanwhile
    #[arg(long, value_name = "N", default_value_t = 20)]
    pub kills: u32,
    /// Print the result as JSON
    #[arg(long)]
    pub json: bool,
}
