//! Coordinators and workers, checked.

use std::net::SocketAddr;
use std::time::Duration;

use super::{Merging, Usage, check_lease, routing};
use baler_core::request::Scope;

use crate::cli::{RescanArgs, ServeArgs, WorkerArgs};
use crate::crew::{Roots, settled_name};
use crate::station::RescanSettings;
use crate::store::{Location, LocationError};

/// A worker that has no coordinator answers for itself, in the journal: that costs an entry every third of this.
const LEASE_OF_WORKERS: Duration = Duration::from_secs(60);

/// How a coordinator works.
#[derive(Clone, Debug)]
pub struct ServeSettings {
    /// How it merges, if it does.
    pub merging: Option<Merging>,
    /// What its worker is willing to work on.
    pub scope: Scope,
    /// How it looks for new files.
    pub rescan: RescanSettings,
    /// How long a silent worker keeps its leases.
    pub lease: Duration,
    /// Where it answers.
    pub listen: SocketAddr,
}

impl ServeSettings {
    /// Checks what was typed.
    pub fn check(args: &ServeArgs) -> Result<Self, Usage> {
        check_lease(args.lease)?;
        check_listen(
            args.listen,
            args.token_file.is_some(),
            "could have files replaced",
        )?;
        let merging = Merging::check(&args.merging)?;
        if args.no_worker && args.routing.is_given() {
            return Err(Usage(
                "--levels, --max-job-bytes and --tables are about the worker of this process: leave out --no-worker, or give \
                 them to `baler worker`"
                    .to_owned(),
            ));
        }
        Ok(Self {
            scope: routing::scope(&args.routing)?,
            merging: (!args.no_worker).then_some(merging),
            rescan: rescan(&args.rescan, args.plain.adopt_foreign)?,
            lease: args.lease,
            listen: args.listen,
        })
    }
}

fn check_listen(listen: SocketAddr, guarded: bool, danger: &str) -> Result<(), Usage> {
    match listen.ip().is_loopback() || guarded {
        true => Ok(()),
        false => Err(Usage(format!(
            "--listen {listen}: whoever reaches this address {danger}. Give --token-file, with a token that everybody \
             who asks must show; or listen on 127.0.0.1"
        ))),
    }
}

/// Where a worker gets its work.
#[derive(Clone, Debug)]
pub enum Place {
    /// From the journals of these roots.
    Roots {
        /// The roots.
        roots: Roots,
        /// How long a silent process keeps its leases.
        lease: Duration,
    },
    /// From coordinators.
    Coordinators {
        /// Their URLs.
        urls: Vec<String>,
        /// Where this machine finds the root, if not where they do.
        root: Option<Location>,
    },
}

/// How a worker works.
#[derive(Clone, Debug)]
pub struct WorkerSettings {
    /// Where it gets its work.
    pub place: Place,
    /// How it merges.
    pub merging: Merging,
    /// What it is willing to work on.
    pub scope: Scope,
    /// How it looks for new files, where nobody else does.
    pub rescan: RescanSettings,
    /// Places that one root may have at once.
    pub workers_per_root: usize,
    /// Where it tells of itself, if it does.
    pub listen: Option<SocketAddr>,
}

impl WorkerSettings {
    /// Checks what was typed.
    pub fn check(args: &WorkerArgs) -> Result<Self, Usage> {
        if let Some(listen) = args.listen {
            check_listen(listen, args.token_file.is_some(), "learns what is in the root")?;
        }
        let merging = Merging::check(&args.merging)?;
        let workers_per_root = args.workers_per_root.unwrap_or(merging.workers);
        if workers_per_root == 0 {
            return Err(Usage("--workers-per-root must be at least 1".to_owned()));
        }
        Ok(Self {
            place: place(args)?,
            merging,
            scope: routing::scope(&args.routing)?,
            workers_per_root,
            rescan: rescan(&args.rescan, false)?,
            listen: args.listen,
        })
    }
}

fn place(args: &WorkerArgs) -> Result<Place, Usage> {
    let is_url = |text: &&String| text.starts_with("http://") || text.starts_with("https://");
    let urls: Vec<String> = args.places.iter().filter(is_url).cloned().collect();
    if urls.is_empty() {
        return roots(args);
    }
    if urls.len() < args.places.len() || !args.roots_under.is_empty() {
        return Err(Usage(
            "give roots, or coordinators like http://host:7070, and not both: start a process for each"
                .to_owned(),
        ));
    }
    if args.lease.is_some() {
        return Err(Usage(
            "--lease is the coordinator's to say: leave it out, or give it to `baler serve`".to_owned(),
        ));
    }
    Ok(Place::Coordinators {
        urls,
        root: args.root.clone(),
    })
}

fn roots(args: &WorkerArgs) -> Result<Place, Usage> {
    if args.root.is_some() {
        return Err(Usage(
            "--root is for workers of a coordinator, named like http://host:7070".to_owned(),
        ));
    }
    if args.token_file.is_some() && args.listen.is_none() {
        return Err(Usage(
            "--token-file is to be shown to a coordinator, or asked for where --listen is given".to_owned(),
        ));
    }
    let lease = args.lease.unwrap_or(LEASE_OF_WORKERS);
    check_lease(lease)?;
    let wrong = |error: String| Usage(error);
    let mut named = Vec::new();
    for text in &args.places {
        let root: Location = text
            .parse()
            .map_err(|error: LocationError| wrong(error.to_string()))?;
        let root = settled_name(&root).map_err(|error| wrong(format!("{error:#}")))?;
        if named.contains(&root) {
            return Err(Usage(format!("{root} is named twice")));
        }
        named.push(root);
    }
    Ok(Place::Roots {
        roots: Roots {
            named,
            under: args.roots_under.clone(),
        },
        lease,
    })
}

fn rescan(args: &RescanArgs, adopt_foreign: bool) -> Result<RescanSettings, Usage> {
    let every = match args.rescan.as_str() {
        "never" => None,
        text => {
            let every = humantime::parse_duration(text);
            Some(every.map_err(|error| Usage(format!("--rescan {text}: {error}; like 5m, or never")))?)
        }
    };
    if every.is_some_and(|every| every < Duration::from_millis(100)) {
        return Err(Usage("--rescan must be at least 100ms, or never".to_owned()));
    }
    Ok(RescanSettings {
        every,
        settle: args.settle,
        adopt_foreign,
    })
}
