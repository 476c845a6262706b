//! A root without a coordinator: this process answers for its own leases there, and looks for new files itself.

use std::sync::Arc;

use anyhow::Result;
use tokio::sync::oneshot;

use super::{Crew, Drain};
use crate::desk::OwnDesk;
use crate::root::Root;
use crate::station::Station;
use crate::store::{Location, OutputSettings};

impl Crew {
    /// The same as `on_bucket`, but a root that is no more is nobody's fault.
    pub(super) async fn on_bucket_while_it_is_there(self: Arc<Self>, location: &Location) -> Result<()> {
        match self.on_bucket(location).await {
            Err(error) if matches!(Root::is_there(location).await, Ok(false)) => {
                tracing::warn!(root = %location, "there is no root here now: {error:#}");
                Ok(())
            }
            ended => ended,
        }
    }

    /// Works until it is asked to stop.
    pub(super) async fn on_bucket(self: Arc<Self>, location: &Location) -> Result<()> {
        let root = Arc::new(Root::open_to_write(location).await?);
        let drain = Drain::follow(&self.drain);
        let station = Station::new(root, self.lease, self.rescan.clone(), drain.flag.clone());
        let station = Arc::new(station);
        let (name, site) = (location.to_string(), &station.root.site);
        self.board.put_up(&name, station.clone());
        self.board.put_up(&name, Arc::new(site.clone()));
        let desk = OwnDesk::new(station.root.clone(), station.watch.clone(), self.offer())?;
        let outputs = OutputSettings::default();
        let worker = self.worker(&name, Arc::new(desk), site.clone(), outputs, &drain)?;
        eprintln!("working on {}", site.root);
        // There is nobody to answer.
        let (close, closed) = oneshot::channel::<()>();
        let front = async move {
            let _ = closed.await;
            Ok(())
        };
        station.run(Some(worker), front, move || drop(close)).await
    }
}
