//! Jobs under an operator's eyes.

use super::{Halted, arrive_many, compact, create, files, read};
use crate::support::Scene;

/// A cancelled job must not be planned again by the next poll: its files wait until somebody says so.
#[test]
fn a_cancelled_job_commits_nothing_and_stays_cancelled_until_retry() {
    let scene = Scene::new();
    create(&scene, &["--sort-by", "key"]);
    arrive_many(&scene, 1);
    let halted = Halted::begin(&scene);
    let open = scene.baler(&["jobs", "lake", "--json"]).json();
    let cancelled = scene.baler(&["cancel", "lake", &open["id"].to_string()]);
    let merged = halted.go_on();

    assert_eq!(
        (open["files"].as_u64(), open["attempts"].as_u64()),
        (Some(40), Some(1)),
        "{open}"
    );
    assert!(open["workers"][0].is_string(), "{open}");
    assert_eq!(cancelled.code, 0, "{cancelled:?}");
    assert_eq!(merged.number("jobs"), 0, "{merged:?}");
    assert_eq!(compact(&scene).number("jobs"), 0, "it was planned again");
    let ended = scene.baler(&["jobs", "lake", "--json"]).json();
    assert_eq!(
        (ended["status"].as_str(), ended["reason"].as_str()),
        (Some("cancelled"), Some("somebody asked for it"))
    );
    let status = scene.baler(&["status", "lake", "--json"]).json();
    assert_eq!(
        status["tables"][0]["put_off"].as_array().map(Vec::len),
        Some(40),
        "{status}"
    );
    let plan = scene.baler(&["plan", "lake", "--json"]);
    assert_eq!(plan.json()["files_left_alone"], 40, "{plan:?}");

    let retried = scene.baler(&["retry", "lake", "--json"]);
    assert_eq!(retried.number("lifted"), 40, "{retried:?}");
    assert_eq!(compact(&scene).number("jobs"), 1);
    assert_eq!(files(&scene, &[]).len(), 1);
    assert_eq!(read(&scene, &[]).values().sum::<u64>(), 800_000);
}
