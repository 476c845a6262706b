//! A store of keys and values in which rows take keys away: a tombstone goes by the table's word, and not before.

use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use baler::depot::Input;
use baler::embed::{Baler, Builder, NewFile};
use baler::merge::Merge;
use baler::merge::rows::{CompactionFilter, Judgement, Row, RowFormat, RowMerge};
use baler::settings::Merging;
use baler_core::file::{KeyRange, Level};
use baler_core::ids::{Partition, TableName};
use baler_core::job::{Dropped, Job, Span};
use baler_core::table::{MergeSpec, Rule, TableSpec};
use baler_core::time::Millis;
use object_store::ObjectStoreExt;
use object_store::memory::InMemory;
use object_store::path::Path;

use super::format::Kv;
use super::resume::Held;
use super::shapes;

const TABLE: &str = "rows";
const HOUR_MS: u64 = 60 * 60 * 1_000;
const GONE: &str = "!";
const PATIENCE: Duration = Duration::from_secs(60);

/// Tombstones go by what the job says of them. Versions are times here.
#[derive(Clone, Copy, Debug)]
struct LetGo;

impl CompactionFilter for LetGo {
    fn rule(&self) -> &str {
        Dropped::DELETED
    }

    fn judge(&self, job: &Job, row: &Row) -> Judgement {
        let cut = job.drops.as_ref().and_then(|drops| drops.deleted.as_ref());
        let written_ms = i64::try_from(row.version).unwrap();
        match cut {
            Some(cut) if row.value == GONE && written_ms < cut.before.unix_ms => Judgement::Drop,
            _ => Judgement::Keep,
        }
    }
}

fn merge() -> RowMerge {
    RowMerge::new(Kv).with_filter(LetGo)
}

fn table() -> TableSpec {
    let known = shapes::spec();
    let rule = Rule::LastWriteWins {
        key: vec!["key".into()],
        version: "version".into(),
    };
    let merge = MergeSpec {
        rule,
        format: Some("kv".into()),
        own_rules: merge().rules(),
        row_time: Some("version".into()),
        deleted: Some("gone".into()),
        lateness: Some(Millis(HOUR_MS)),
        ..MergeSpec::clone(&known.merge)
    };
    TableSpec {
        merge: merge.into(),
        names_once: true,
        ..known
    }
}

fn part(store: &Arc<InMemory>) -> Builder {
    Baler::builder("db").store(store.clone()).table(TABLE, table())
}

fn ago(length_ms: u64) -> u64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
    u64::try_from(now.as_millis()).unwrap() - length_ms
}

async fn write(store: &InMemory, writer: &Baler, name: &str, rows: &[(&'static str, u64, &'static str)]) {
    let (mut bytes, mut file) = (Vec::new(), Kv.write());
    for (key, version, value) in rows {
        let (key, value) = ((*key).into(), (*value).into());
        let version = *version;
        file.push(&Row { key, version, value }, &mut bytes).unwrap();
    }
    file.end(&mut bytes).unwrap();
    let path = format!("in/{name}.kv");
    let at = Path::from(format!("db/{path}"));
    store.put(&at, bytes.into()).await.unwrap();
    let bound = |row: Option<&(&str, u64, &str)>| row.unwrap().0.as_bytes().into();
    let file = NewFile {
        path,
        partition: Partition::from("in"),
        level: Level(0),
        rows: rows.len() as u64,
        keys: Some(KeyRange {
            min: bound(rows.first()),
            max: bound(rows.last()),
        }),
    };
    writer.add_files(TABLE, &[file]).await.unwrap();
}

/// What lies in the live files, once all is merged.
async fn merged(store: &InMemory, baler: &Baler) -> Vec<(String, String)> {
    let begun = Instant::now();
    let files = loop {
        baler.root().replica.catch_up().await.unwrap();
        let state = baler.state();
        let files = &state.tables[&TableName::from(TABLE)].files;
        if state.jobs.is_empty() && files.values().all(|file| file.level > Level(0)) {
            break files.keys().cloned().collect::<Vec<_>>();
        }
        assert!(begun.elapsed() < PATIENCE, "{:?}", state.jobs);
        tokio::time::sleep(Duration::from_millis(20)).await;
    };
    let mut rows = Vec::new();
    for path in files {
        let at = Path::from(format!("db/{path}"));
        let bytes = store.get(&at).await.unwrap().bytes().await.unwrap();
        let (input, span): (Arc<dyn Input>, _) = (Arc::new(Held(bytes)), Span::default());
        let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
        let read = Kv.read(&input, &span).unwrap().map(|row| row.unwrap().1);
        rows.extend(read.map(|row| (text(&row.key), text(&row.value))));
    }
    rows
}

#[test]
fn a_tombstone_goes_with_what_it_hides_and_not_before_the_lateness() {
    shapes::run(async {
        let store = Arc::new(InMemory::new());
        let writer = part(&store).start().await.unwrap();
        let old = [
            ("a", ago(9 * HOUR_MS), "hidden"),
            ("b", ago(9 * HOUR_MS), "stays"),
        ];
        write(&store, &writer, "old", &old).await;
        let gone = [("a", ago(8 * HOUR_MS), GONE), ("c", ago(HOUR_MS / 2), GONE)];
        write(&store, &writer, "gone", &gone).await;
        let merging = Merging::new(Some(1), Some(1), 128 << 20, 1 << 30).unwrap();
        let worker = part(&store).format(merge()).worker(merging);
        let worker = worker.start().await.unwrap();

        let rows = merged(&store, &worker).await;
        let texts: Vec<(&str, &str)> = rows.iter().map(|(key, value)| (&**key, &**value)).collect();
        assert_eq!(
            texts,
            [("b", "stays"), ("c", GONE)],
            "rows older than c's may still come"
        );
    });
}
