//! Asks the policies of tables' owners, and proposes what they want.

use std::sync::Arc;
use std::time::Duration;

use anyhow::Result;
use baler_core::ids::TableName;
use baler_core::planner::PartitionView;
use baler_core::request::{Propose, Reply, Request};
use baler_core::state::State;
use baler_core::table::Policy as PolicySpec;

use super::{Owners, Policy, Wanted};
use crate::root::Root;
use crate::station::Station;
use crate::watch::jittered;

/// Between two looks, at least: a policy looks at every file.
const PACE: Duration = Duration::from_millis(100);

/// Proposes jobs for as long as it is polled.
pub(crate) struct Proposer {
    root: Arc<Root>,
    owners: Owners,
}

impl Proposer {
    pub(crate) fn of(station: &Station) -> Self {
        Self {
            root: station.root.clone(),
            owners: station.owners.clone(),
        }
    }

    pub(crate) async fn run(&self) {
        if self.owners.policies.is_empty() {
            return std::future::pending().await;
        }
        let states = self.root.replica.watch();
        loop {
            let state = states.now();
            for (table, policy) in &self.owners.policies {
                for wanted in wanted(&state, table, &**policy) {
                    if let Err(error) = self.propose(&state, table, wanted).await {
                        tracing::warn!("a job could not be proposed: {error:#}");
                    }
                }
            }
            tokio::time::sleep(jittered(PACE)).await;
            if states.after(state.sequence).await.is_none() {
                return std::future::pending().await;
            }
        }
    }

    async fn propose(&self, state: &State, table: &TableName, wanted: Wanted) -> Result<()> {
        let request = Request::Propose(Propose {
            table: table.clone(),
            evidence: state.sequence,
            inputs: wanted.inputs,
            output_level: wanted.output_level,
            reason: wanted.reason,
        });
        // Somebody else was first, or it is paused: seen again with the next state.
        if self.root.would_decide(&request).is_empty() {
            return Ok(());
        }
        if let Reply::Refused(refusal) = self.root.replica.submit(request).await? {
            tracing::debug!("{refusal}");
        }
        Ok(())
    }
}

fn wanted(state: &State, name: &TableName, policy: &dyn Policy) -> Vec<Wanted> {
    let Some(table) = state.tables.get(name) else {
        return Vec::new();
    };
    if table.spec.policy != PolicySpec::Owner || state.is_paused(name) {
        return Vec::new();
    }
    let views = table.agenda.all().map(|partition| state.view(table, partition));
    views
        .flat_map(|view: PartitionView<'_>| policy.choose(&view))
        .collect()
}
