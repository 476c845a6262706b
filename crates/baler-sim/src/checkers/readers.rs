//! Guarantee 5: nothing that a live or pinned version shows is put on the deletion list, and whoever reads one meets no
//! missing file.

use std::collections::{BTreeMap, BTreeSet};

use super::Wrong;
use crate::model::{Live, Model, paths_of};
use crate::oracle::At;
use crate::rows;
use crate::store::{Objects, PREFIX};
use crate::work::INBOX;
use crate::world::store_ms;

pub(super) fn event(model: &Model, at: At<'_>, wrong: &mut Wrong) {
    match at.kind {
        "DeletionDue" => due(model, at, wrong),
        "Pinned" => wrong.extend(
            at.body["version"]
                .as_u64()
                .and_then(|version| granted(model, version)),
        ),
        _ => {}
    }
}

/// Who may read a version finds all of it.
fn granted(model: &Model, version: u64) -> Option<(u8, String)> {
    let shown = model.versions.at(version);
    let is_gone = |path: &str, file: &Live| match &file.tag {
        Some(tag) => model.gone_since(path, tag).is_some(),
        None => model.is_missing(path),
    };
    let mut shown = shown.iter();
    let (path, _) = shown.find(|(path, file)| {
        let leaves = is_gone(path, file) || model.due.contains(*path);
        leaves && model.meddled_at(path, Some(file)).is_none()
    })?;
    Some((
        5,
        format!("version {version} is pinned, and shows {path}, which is due or gone"),
    ))
}

fn due(model: &Model, at: At<'_>, wrong: &mut Wrong) {
    // The pin's time begins at the store's, so it cannot be over before this.
    for path in paths_of(&at.body["paths"]) {
        for (id, pin) in &model.pins {
            if pin.shows.contains_key(&path) && model.is_held(pin, model.last_ms) {
                wrong.push((5, format!("{path} is due, but pin {id:?} shows it")));
            }
        }
    }
}

/// Whoever lists a folder meets each row at least once at any moment: Baler takes a file away only when others that are in
/// sight hold its rows, or newer ones.
pub(crate) fn in_sight(model: &Model, objects: &Objects, path: &str, tag: &str) -> Option<String> {
    let rows = model
        .rows(path, Some(tag))
        .filter(|_| model.in_place && !path.starts_with('_'))?;
    let below = format!("{PREFIX}/{INBOX}");
    let mut shown: BTreeMap<String, u64> = BTreeMap::new();
    for (_, version) in objects.below(&below) {
        for (key, version, _) in rows::parse(&version.bytes).unwrap_or_default() {
            let newest = shown.entry(key).or_insert(version);
            *newest = version.max(*newest);
        }
    }
    let shows = |key: &String, version: u64| shown.get(key).is_some_and(|shown| *shown >= version);
    // What was deleted is in sight no more, and neither is the tombstone once it was let go.
    let let_go = |key: &String, version: u64| model.let_go.get(key).is_some_and(|gone| *gone >= version);
    // What somebody outside took away or wrote over is not held against Baler, also where an undo had brought it back in sight.
    let taken: BTreeSet<(String, u64)> = model
        .taken_outside()
        .map(|(key, version, _)| (key, version))
        .collect();
    let excused =
        |key: &String, version: u64| let_go(key, version) || taken.contains(&(key.clone(), version));
    let hidden = rows
        .iter()
        .find(|(key, version, _)| !shows(key, *version) && !excused(key, *version));
    hidden.map(|(key, _, _)| format!("{path} was deleted, and its row {key} is nowhere in sight"))
}

/// A reader is told which files its version shows.
pub(crate) fn shown<'a>(
    model: &Model,
    pin: (u64, u32),
    paths: impl Iterator<Item = &'a str>,
) -> Option<String> {
    let told: BTreeSet<&str> = paths.collect();
    let shows = &model.pins.get(&pin)?.shows;
    let other = shows.len() != told.len() || shows.keys().any(|path| !told.contains(path.as_str()));
    other.then(|| {
        format!(
            "pin {pin:?} shows {told:?}, and its version is {:?}",
            shows.keys()
        )
    })
}

/// A reader was told that a version cannot be read. It was written before the reader asked for it.
pub(crate) fn refused(model: &Model, version: u64, now_ms: u64) -> Option<String> {
    let kept = model.versions.is_kept(version, now_ms);
    kept.then(|| format!("version {version} is refused, which was there before it was asked for"))
}

/// A reader met nothing where a file should be. A request may be under way for longer than the pin held, so what counts is
/// when the file went; of one that was never there, when the reader asked.
pub(crate) fn missing(model: &Model, pin: (u64, u32), path: &str, asked_ms: u64) -> Option<String> {
    let held = model.pins.get(&pin)?;
    let file = held.shows.get(path);
    let went_ms = model.went_at(path, file).map(store_ms);
    let outside = model.meddled_at(path, file).is_some();
    (!outside && model.is_held(held, went_ms.unwrap_or(asked_ms)))
        .then(|| format!("{path} is missing, and pin {pin:?} shows it"))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::time::Duration;

    use bytes::Bytes;
    use serde_json::json;

    use super::*;
    use crate::store::Version;

    const PIN: (u64, u32) = (7, 0);
    const PATH: &str = "in/a.rows";

    fn after(seconds: u64) -> Duration {
        Duration::from_secs(seconds)
    }

    /// From the beginning on, for a minute, a pin shows a file. It went after so many seconds, or it was never there.
    fn pinned(went: Option<u64>) -> Model {
        let mut model = Model::default();
        model.apply(At {
            sequence: PIN.0,
            index: PIN.1,
            now_ms: store_ms(after(0)),
            when: after(0),
            kind: "Pinned",
            body: &json!({ "lifetime": 60_000 }),
        });
        let file = Live {
            tag: Some("tag".to_owned()),
            bytes: 1,
            partition: String::new(),
            newest_ms: None,
            came: 1,
        };
        let pin = model.pins.get_mut(&PIN).expect("it was pinned");
        pin.shows = Arc::new([(PATH.to_owned(), file)].into());
        if let Some(went) = went {
            let version = Version {
                tag: "tag".to_owned(),
                bytes: Bytes::from_static(b"a"),
                modified_ms: store_ms(after(0)),
            };
            model.wrote(after(0), None, PATH, &version);
            model.is_gone(after(went), PATH, "tag");
        }
        model
    }

    fn is_held_against(went: Option<u64>, asked: u64) -> bool {
        missing(&pinned(went), PIN, PATH, store_ms(after(asked))).is_some()
    }

    #[test]
    fn what_went_while_it_was_pinned_is_missing_whenever_that_is_seen() {
        assert!(is_held_against(Some(30), 40));
        assert!(is_held_against(Some(30), 90));
    }

    #[test]
    fn a_request_that_takes_longer_than_its_pin_may_meet_nothing() {
        assert!(!is_held_against(Some(61), 50));
    }

    #[test]
    fn what_was_never_there_is_missing_while_it_is_pinned() {
        assert!(is_held_against(None, 30));
        assert!(!is_held_against(None, 61));
    }
}
