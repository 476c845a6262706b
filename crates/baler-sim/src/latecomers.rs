//! Somebody who looks at files of the table and tells of them long after. By then they may be merged, overwritten or gone,
//! and the news are older than what the table knows.

use std::sync::atomic::Ordering;
use std::time::Duration;

use anyhow::Result;
use baler::root::Root;
use baler_core::file::FilePath;
use tokio::time::sleep;

use crate::dice::Dice;
use crate::nodes::{Birth, opening};
use crate::work::{Written, tell};

/// Comes late again and again.
pub(crate) async fn latecomer(birth: Birth) -> Result<()> {
    let root = opening::root(&birth).await?;
    let mut dice = Dice::new(birth.world.seed, &format!("looks of {}", birth.life.name));
    while !birth.drain.load(Ordering::Relaxed) {
        sleep(dice.about(birth.plan.pace)).await;
        if birth.closing.load(Ordering::Relaxed) {
            sleep(Duration::from_secs(60)).await;
            continue;
        }
        look_and_tell(&birth, &root, &mut dice).await?;
    }
    root.replica.clone().close().await;
    Ok(())
}

async fn look_and_tell(birth: &Birth, root: &Root, dice: &mut Dice) -> Result<()> {
    let inputs: Vec<String> = birth.world.look(|oracle, _| {
        let live = oracle.model.live.keys();
        live.filter(|path| oracle.model.is_input(path)).cloned().collect()
    });
    if inputs.is_empty() {
        return Ok(());
    }
    let path = &inputs[dice.below(inputs.len() as u64) as usize];
    let evidence = root.replica.catch_up().await?.sequence;
    let Some(identity) = root
        .site
        .root
        .identity_now(&FilePath::in_root(path.as_str()))
        .await?
    else {
        return Ok(());
    };
    let Some(written) = Written::known(birth, path, &identity.tag) else {
        return Ok(());
    };
    sleep(dice.about(birth.plan.grace)).await;
    let who = &birth.life.name;
    match tell(root, evidence, &written, identity).await {
        Ok(told) => birth.world.note(format_args!("{who} tells of {path}: {told:?}")),
        Err(error) => birth.world.note(format_args!("{who} tells of {path}: {error:#}")),
    }
    Ok(())
}
