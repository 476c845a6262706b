//! Coordinators, of one root or of several: which root each is about they say themselves. One that does not answer is asked again, and
//! joins the others of its root when it does.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Result, bail};
use baler_core::ids::JournalId;
use futures::future::join_all;
use tokio::task::JoinSet;

use super::{Crew, Drain, Work};
use crate::desk::{Client, Coordinator, Coordinators, DeskError, RemoteDesk, worker_name};
use crate::settings::Usage;
use crate::store::Location;
use crate::watch::jittered;

/// How long it is waited for the first coordinator.
const PATIENCE: Duration = Duration::from_secs(30);

/// How long the others are waited for when one has answered.
const PATIENCE_FOR_OTHERS: Duration = Duration::from_secs(2);

const AGAIN: Duration = Duration::from_millis(500);

/// How often those that did not answer are asked again.
const ASK_SILENT: Duration = Duration::from_secs(5);

/// The coordinators that were named, and how they are reached.
#[derive(Clone, Debug)]
pub struct Urls {
    /// Their URLs.
    pub urls: Vec<String>,
    /// The token to show.
    pub token: Option<String>,
    /// Where this machine finds the root, if not where they do.
    pub root: Option<Location>,
}

/// Coordinators that have not answered yet.
type Silent = Vec<Arc<dyn Coordinator>>;

/// Those that have, by the root that they are about.
type Groups = BTreeMap<JournalId, Arc<Coordinators>>;

impl Crew {
    /// Works through these coordinators until it is asked to stop.
    pub async fn work_through(self: &Arc<Self>, urls: &Urls) -> Result<()> {
        let clients = urls
            .urls
            .iter()
            .map(|url| Client::new(url, urls.token.as_deref()));
        let mut silent = clients
            .map(|client| Ok(Arc::new(client?) as Arc<dyn Coordinator>))
            .collect::<Result<Silent>>()?;
        let mut groups = Groups::new();
        self.greet_first(&mut groups, &mut silent).await?;
        if urls.root.is_some() && groups.len() > 1 {
            return Err(
                Usage("--root is one root's place: these coordinators are of several".to_owned()).into(),
            );
        }
        let alone = groups.len() == 1 && silent.is_empty();
        if let (true, Some(group)) = (alone, groups.values().next()) {
            return self
                .clone()
                .for_coordinators(group.clone(), urls.root.as_ref())
                .await;
        }
        let mut members = JoinSet::new();
        for group in groups.values() {
            members.spawn(self.clone().tend_group(group.clone(), urls.root.clone()));
        }
        while !self.is_draining() {
            self.pause(jittered(ASK_SILENT)).await;
            for group in greet(&mut groups, &mut silent).await {
                members.spawn(self.clone().tend_group(group, urls.root.clone()));
            }
        }
        while members.join_next().await.is_some() {}
        Ok(())
    }

    /// Waits until somebody answers, and a little for the others.
    async fn greet_first(&self, groups: &mut Groups, silent: &mut Silent) -> Result<()> {
        let mut begun = Instant::now();
        let mut patience = PATIENCE;
        while !silent.is_empty() && begun.elapsed() < patience && !self.is_draining() {
            let before = groups.len();
            let refusal = greet_all(groups, silent).await.err();
            if let (Some(error), true) = (refusal, groups.is_empty()) {
                match error {
                    DeskError::Lasting(error) => return Err(error),
                    DeskError::Passing(error) => tracing::warn!("no coordinator answers yet: {error:#}"),
                }
            }
            if before == 0 && !groups.is_empty() {
                (begun, patience) = (Instant::now(), PATIENCE_FOR_OTHERS);
            }
            if !silent.is_empty() {
                self.pause(AGAIN).await;
            }
        }
        if groups.is_empty() && !self.is_draining() {
            let names: Vec<&str> = silent.iter().map(|client| client.name()).collect();
            bail!("no coordinator answers: {}", names.join(", "));
        }
        Ok(())
    }

    async fn tend_group(self: Arc<Self>, group: Arc<Coordinators>, root: Option<Location>) {
        let (crew, name) = (self.clone(), group.names());
        let work: Work = Box::new(move || {
            let (crew, group, root) = (crew.clone(), group.clone(), root.clone());
            Box::pin(async move { crew.for_coordinators(group, root.as_ref()).await })
        });
        self.tend(name, work).await;
    }

    /// Works for the coordinators of one root until it is asked to stop.
    async fn for_coordinators(
        self: Arc<Self>,
        group: Arc<Coordinators>,
        root: Option<&Location>,
    ) -> Result<()> {
        let names = group.names();
        let desk = RemoteDesk::connect_among(group, worker_name(), self.offer()).await?;
        let desk = Arc::new(desk);
        let site = desk.find_site(root).await?;
        desk.works_in(site.clone());
        self.board.put_up(&names, Arc::new(site.clone()));
        eprintln!("working on {} for {names}", site.root);
        let drain = Drain::follow(&self.drain);
        let outputs = desk.hello().outputs.clone();
        let worker = self.worker(&names, desk.clone(), site, outputs, &drain)?;
        let mut signs_of_life = JoinSet::new();
        signs_of_life.spawn(async move { desk.keep_alive().await });
        worker.run().await
    }
}

/// Asks those that have not answered which root they are about. Answers with the roots that were not known before.
async fn greet(groups: &mut Groups, silent: &mut Silent) -> Vec<Arc<Coordinators>> {
    let before: Vec<JournalId> = groups.keys().copied().collect();
    if let Err(error) = greet_all(groups, silent).await {
        tracing::warn!("a coordinator cannot be worked for: {error:#}");
    }
    let new = groups.iter().filter(|(journal, _)| !before.contains(journal));
    new.map(|(_, group)| group.clone()).collect()
}

/// The last refusal is told, if there was one.
async fn greet_all(groups: &mut Groups, silent: &mut Silent) -> Result<(), DeskError> {
    let asked = join_all(silent.iter().map(|client| client.hello())).await;
    let mut refused = Ok(());
    let mut left = Silent::new();
    for (client, answer) in silent.drain(..).zip(asked) {
        match answer {
            Ok(hello) => groups.entry(hello.journal).or_default().join(client),
            Err(error) => {
                refused = Err(error);
                left.push(client);
            }
        }
    }
    *silent = left;
    refused
}
