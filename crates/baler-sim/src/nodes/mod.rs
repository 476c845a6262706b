//! The processes of the fleet: how each is put together from Baler's own parts, and what befalls it.
//!
//! | file | what |
//! |---|---|
//! | `opening` | a root, over a process's own way to the store |
//! | `working` | bucket-only workers, coordinators, and workers behind them |
//! | `network` | messages between the two |
//! | `collecting` | one-shot collections |
//! | `fates` | crashes, pauses, partitions, restarts |

mod collecting;
pub(crate) mod fates;
pub(crate) mod network;
pub(crate) mod opening;
mod working;

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use crate::life::Life;
use crate::plan::Plan;
use crate::world::World;
use crate::{impostors, latecomers, listers, operators, outsiders, readers, spoilers, work};
use network::Network;

/// What a process does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Worker,
    Coordinator(usize),
    Remote,
    Collector,
    Writer,
    Reader,
    Operator,
    Outsider,
    Latecomer,
    Lister,
    Impostor,
    Spoiler,
}

/// What a process needs to know.
#[derive(Clone, Debug)]
pub(crate) struct Birth {
    pub(crate) world: Arc<World>,
    pub(crate) plan: Arc<Plan>,
    pub(crate) network: Arc<Network>,
    pub(crate) life: Arc<Life>,
    /// Who it is, whichever start of it this is.
    pub(crate) name: Arc<str>,
    /// Once set, it ends by itself.
    pub(crate) drain: Arc<AtomicBool>,
    /// Once set, nothing new is written.
    pub(crate) closing: Arc<AtomicBool>,
    pub(crate) progress: Arc<work::Progress>,
}

impl Kind {
    /// Runs until it ends by itself, or with an error that ends a process.
    pub(crate) async fn run(self, birth: Birth) -> anyhow::Result<()> {
        match self {
            Self::Worker => working::bucket_only(birth).await,
            Self::Coordinator(number) => working::coordinator(birth, number).await,
            Self::Remote => working::remote(birth).await,
            Self::Collector => collecting::collector(birth).await,
            Self::Writer => work::writer(birth).await,
            Self::Reader => readers::reader(birth).await,
            Self::Operator => operators::operator(birth).await,
            Self::Outsider => outsiders::outsider(birth).await,
            Self::Latecomer => latecomers::latecomer(birth).await,
            Self::Lister => listers::lister(birth).await,
            Self::Impostor => impostors::impostor(birth).await,
            Self::Spoiler => spoilers::spoiler(birth).await,
        }
    }
}
