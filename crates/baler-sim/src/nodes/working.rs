//! Those who merge, and those who grant them work.

use std::sync::Arc;

use anyhow::Result;
use baler::api::Api;
use baler::desk::{Coordinator, Desk, Offer, OwnDesk, RemoteDesk};
use baler::merge::Merges;
use baler::report::ProgressView;
use baler::site::Site;
use baler::station::{RescanSettings, Station};
use baler::store::OutputSettings;
use baler::worker::{Endless, Hands};
use baler_core::ids::WorkerId;
use baler_journal::host;
use tokio::sync::oneshot;

use super::network::Link;
use super::{Birth, opening};
use crate::tiny;

fn merges(birth: &Birth) -> Merges {
    Merges::none().with(Arc::new(tiny::merge(
        birth.plan.manner_of(&birth.name, &birth.world),
    )))
}

/// Merges that may kill whoever does them are done all the same: nothing here kills a process but the simulator.
fn offer(birth: &Birth) -> Offer {
    Offer {
        isolates: true,
        ..merges(birth).offer()
    }
}

fn endless(birth: &Birth, desk: Arc<dyn Desk>, site: Site) -> Endless {
    let hands = Hands {
        reread: false,
        desk,
        site,
        merges: merges(birth),
        threads: 1,
        range_bytes: birth.plan.range_bytes,
        isolation: None,
        progress: ProgressView::silent(),
        drain: birth.drain.clone(),
        wasted: Arc::default(),
        next: None,
        cut: Arc::default(),
    };
    Endless::new(hands, birth.plan.slots, 1 << 30, Arc::default())
}

async fn station(birth: &Birth) -> Result<Arc<Station>> {
    let root = opening::root(birth).await?;
    let rescan = RescanSettings::never();
    Ok(Arc::new(Station::new(
        root,
        birth.plan.lease,
        rescan,
        birth.drain.clone(),
    )))
}

/// `baler worker ROOT`.
pub(super) async fn bucket_only(birth: Birth) -> Result<()> {
    let station = station(&birth).await?;
    let desk = OwnDesk::new(station.root.clone(), station.watch.clone(), offer(&birth))?;
    let worker = endless(&birth, Arc::new(desk), station.root.site.clone());
    // Nobody asks it anything; what would answer ends when the station closes it, or a worker that failed would never leave.
    let (close, closed) = oneshot::channel::<()>();
    let front = async move {
        let _closed = closed.await;
        Ok(())
    };
    station.run(Some(worker), front, move || drop(close)).await
}

/// `baler serve ROOT --no-worker`.
pub(super) async fn coordinator(birth: Birth, number: usize) -> Result<()> {
    let station = station(&birth).await?;
    let api = Api::new(station.clone(), OutputSettings::default(), None, Arc::default());
    birth
        .network
        .listen(number, birth.life.clone(), Arc::new(api).router());
    let now_ms = birth.world.now_ms();
    birth
        .world
        .look(|oracle, _| oracle.model.listens(&birth.life.name, now_ms));
    let close = {
        let birth = birth.clone();
        move || {
            birth.network.close(number);
            birth
                .world
                .look(|oracle, _| oracle.model.listens_no_more(&birth.life.name));
        }
    };
    let drain = birth.drain.clone();
    let front = async move {
        while !drain.load(std::sync::atomic::Ordering::Relaxed) {
            tokio::time::sleep(host::look_every(std::time::Duration::from_millis(50))).await;
        }
        Ok(())
    };
    station.run(None::<Endless>, front, close).await
}

/// `baler worker http://…`.
pub(super) async fn remote(birth: Birth) -> Result<()> {
    let links = (0..birth.plan.coordinators as usize).map(|to| {
        let link: Arc<dyn Coordinator> = Arc::new(Link::new(&birth, to));
        link
    });
    let name = WorkerId(birth.life.name.as_str().into());
    let desk = Arc::new(RemoteDesk::connect_to(links.collect(), name, offer(&birth)).await?);
    let site = Site::new(opening::depot(&birth)?, None);
    desk.works_in(site.clone());
    let alive = desk.clone();
    let mut life = tokio::task::JoinSet::new();
    life.spawn(host::own(async move { alive.keep_alive().await }));
    endless(&birth, desk, site).run().await
}
