//! Who lists the folder of a table that is kept in place: it lets go what the table names and is not there.

use std::collections::BTreeSet;
use std::sync::atomic::Ordering;

use anyhow::Result;
use baler::depot::Found;
use baler::root::Root;
use baler_core::file::FilePath;
use baler_core::ids::TableName;
use baler_core::request::Request;
use futures::StreamExt;
use tokio::time::sleep;

use crate::dice::Dice;
use crate::nodes::{Birth, opening};
use crate::plan::TABLE;

/// Lists again and again, to the end: in a folder nobody else says what is gone.
pub(crate) async fn lister(birth: Birth) -> Result<()> {
    let root = opening::root(&birth).await?;
    let mut dice = Dice::new(birth.world.seed, &format!("lists of {}", birth.life.name));
    while !birth.drain.load(Ordering::Relaxed) {
        let pause = sleep(dice.about(birth.plan.pace * 3));
        tokio::select! {
            biased;
            () = birth.world.something_is_compacted(), if birth.plan.hasty_lister => {}
            () = pause => {}
        }
        if let Err(error) = let_go_what_is_missing(&root).await {
            birth
                .world
                .note(format_args!("{} lists later: {error:#}", birth.life.name));
            root.replica.catch_up().await?;
        }
    }
    root.replica.clone().close().await;
    Ok(())
}

/// What a listing does not show is asked for by name, whoever holds it: the state knows what must not be let go.
async fn let_go_what_is_missing(root: &Root) -> Result<()> {
    let table = TableName::from(TABLE);
    let state = root.replica.catch_up().await?;
    let mut met = BTreeSet::new();
    let mut listing = root.site.root.walk(state.journal);
    while let Some(found) = listing.next().await {
        if let Found::Data(file) = found? {
            met.insert(file.path);
        }
    }
    let named = state.tables.get(&table).into_iter();
    let named = named.flat_map(|table| table.files.keys());
    let unmet: Vec<&FilePath> = named.filter(|path| !met.contains(path)).collect();
    let mut paths = Vec::new();
    for path in unmet {
        if root.site.root.identity_now(path).await?.is_none() {
            paths.push(path.clone());
        }
    }
    if !paths.is_empty() {
        let evidence = state.sequence;
        let request = Request::LoseFiles {
            table,
            evidence,
            paths,
        };
        root.replica.submit(request).await?;
    }
    Ok(())
}
