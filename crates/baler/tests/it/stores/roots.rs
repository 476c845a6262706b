//! Many roots below one place, wherever that is.

use std::time::{Duration, Instant};

use super::attrition::Mortal;
use super::place::Place;

on_every_place!(roots_at_any_depth_below_a_place_are_worked_for);

const PATIENCE: Duration = Duration::from_secs(60);

async fn roots_at_any_depth_below_a_place_are_worked_for(place: Place) {
    let names = ["dbs/near", "dbs/team/project/far"];
    let mut rows = Vec::new();
    for name in names {
        let first = format!("{name}/first.parquet");
        place.write(&first, &[(1, 1, "first")]).await;
        let made = place.compact(name, &["--sort-by", "key"]);
        assert_eq!(made.code, 0, "{}: {made:?}", place.name);
        place.write_many(name, 2, 3, 20).await;
        rows.push(place.rows(name).await);
    }
    let under = place.at("dbs");
    let worker = [
        "worker",
        "--roots-under",
        &under,
        "--settle",
        "0s",
        "--rescan",
        "1s",
    ];
    let mut worker = Mortal::start(&place, &worker);
    let begun = Instant::now();
    for (name, rows) in names.iter().zip(&rows) {
        // What was written, in one file a folder, and the first one.
        while place.data_files(name).await.len() != 3 {
            assert!(
                begun.elapsed() < PATIENCE,
                "{}: {name} is not worked for: {}",
                place.name,
                worker.said()
            );
            tokio::time::sleep(Duration::from_millis(200)).await;
        }
        assert!(
            place.rows(name).await == *rows,
            "{}: rows of {name} were lost or doubled",
            place.name
        );
    }
    assert_eq!(worker.leave(), Some(0), "{}", worker.said());
}
