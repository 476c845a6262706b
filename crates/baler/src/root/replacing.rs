//! What becomes of replaced files: in a directory they are set aside, in a bucket they are deleted by condition. Decided
//! once, when the table begins, because some stores cannot do it.

use anyhow::Result;
use baler_core::table::{Catalog, Replaced};

use crate::depot::Depot;
use crate::settings::{ReplacedSettings, Usage};

pub(super) async fn choose(root: &Depot, catalog: &Catalog, settings: &ReplacedSettings) -> Result<Replaced> {
    let Depot::Bucket(bucket) = root else {
        return in_a_folder(settings);
    };
    // With `--output` only what Baler named itself is ever replaced: its name is enough to delete it.
    let other_way = match catalog {
        Catalog::Output { .. } => return Ok(Replaced::Delete),
        Catalog::InPlace => "--output DST leaves the bucket as it is; ",
        Catalog::Native | Catalog::External => "",
    };
    let wanted = settings.wanted.clone().unwrap_or(Replaced::Delete);
    let deletes = wanted != Replaced::Remember;
    if deletes && !settings.names_once && !bucket.bucket().can_delete_if().await? {
        return Err(Usage(format!(
            "{root}: this store cannot delete an object only if it is still the version that was merged, so an object that \
             somebody overwrites at the wrong moment would be lost. Choose one: {other_way}\
             --names-never-reused promises that nobody overwrites; --leave-inputs keeps replaced files beside their \
             replacements"
        ))
        .into());
    }
    Ok(wanted)
}

fn in_a_folder(settings: &ReplacedSettings) -> Result<Replaced> {
    match settings.wanted {
        None => Ok(Replaced::SetAside),
        Some(_) => Err(Usage(
            "--keep-inputs and --leave-inputs are for buckets: in a folder replaced files are set aside for --grace, \
             then deleted"
                .to_owned(),
        )
        .into()),
    }
}
