//! A root over a process's own way to the simulated store, with Baler's own client stack above it.

use std::sync::Arc;

use anyhow::{Context, Result, bail};
use baler::depot::{BucketDepot, Depot};
use baler::root::Root;
use baler::site::Site;
use baler::store::{Bucket, Location, OutputSettings, Variables};
use baler_core::file::Place;
use baler_journal::replica::Settings;
use baler_journal::{Access, ObjectLog, Replica};
use object_store::client::HttpConnector;

use super::Birth;
use crate::checkers::journal::BLOCK;
use crate::clock;
use crate::store::{BUCKET, PREFIX, Wire};

/// The files of the root, as this process reaches them.
pub(crate) fn depot(birth: &Birth) -> Result<Depot> {
    let Location::Bucket(url) = format!("s3://{BUCKET}/{PREFIX}").parse()? else {
        bail!("the simulated root is in a bucket");
    };
    let variables = [
        ("AWS_ENDPOINT_URL", "http://127.0.0.1:1"),
        ("AWS_ACCESS_KEY_ID", "simulated"),
        ("AWS_SECRET_ACCESS_KEY", "simulated"),
        ("AWS_SKIP_SIGNATURE", "true"),
    ];
    let variables: Variables = variables
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .into();
    let wire: Arc<dyn HttpConnector> = Arc::new(Wire::new(birth.world.clone(), birth.life.clone()));
    let bucket = Bucket::open_through(&url, &variables, OutputSettings::default(), &wire)?;
    Ok(Depot::Bucket(Arc::new(BucketDepot::new(bucket, Place::Root))))
}

/// The root, with a replica of this process's own.
pub(crate) async fn root(birth: &Birth) -> Result<Arc<Root>> {
    let depot = depot(birth)?;
    let log = ObjectLog::open(depot.journal_store()?, Access::ReadWrite).await;
    let log = log.context("the journal cannot be opened")?.with_block(BLOCK);
    let settings = Settings {
        snapshot_every: birth.plan.snapshot_every,
        ..Settings::default()
    };
    let replica = Replica::open(Arc::new(log), settings).await;
    let replica = replica.context("the journal cannot be read")?;
    let clock = clock::of(&birth.world, &birth.life);
    Ok(Arc::new(
        Root::new(Site::new(depot, None), replica).with_clock(clock),
    ))
}
