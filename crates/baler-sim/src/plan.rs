//! What a seed's world is like, apart from its faults: the fleet, the table, how long it goes on.

use std::sync::Arc;
use std::time::Duration;

use baler_core::ids::TableName;
use baler_core::request::Request;
use baler_core::table::{Catalog, Leveled, MergeSpec, Policy, Replaced, SizeTiered, SortColumn, TableSpec};
use baler_core::time::Millis;

use crate::dice::Dice;
use crate::rows;

/// The one table.
pub(crate) const TABLE: &str = "events";

/// What a seed's world is like.
#[derive(Clone, Debug)]
pub(crate) struct Plan {
    pub(crate) workers: u64,
    pub(crate) coordinators: u64,
    pub(crate) remote_workers: u64,
    pub(crate) collectors: u64,
    pub(crate) writers: u64,
    pub(crate) readers: u64,
    pub(crate) operator: bool,
    /// How long files are written and faults happen.
    pub(crate) active: Duration,
    /// Between two files of a writer.
    pub(crate) pace: Duration,
    pub(crate) lease: Duration,
    pub(crate) slots: usize,
    pub(crate) range_bytes: u64,
    pub(crate) snapshot_every: u64,
    pub(crate) partitions: u64,
    /// Keys are used again, so that the newest must win; otherwise each row has a key of its own.
    pub(crate) keys: Option<u64>,
    pub(crate) grace: Duration,
    /// Files whose rows are older than this are dropped.
    pub(crate) retention: Option<Duration>,
    age: Duration,
    target_bytes: u64,
    size_tiered: bool,
    /// Between two misfortunes of a process.
    pub(crate) calm: Duration,
    /// Files are planned by their keys: jobs over all that overlaps, large enough to be cut.
    sorted: bool,
}

impl Plan {
    pub(crate) fn draw(seed: u64) -> Self {
        let mut dice = Dice::new(seed, "plan");
        let seconds = |dice: &mut Dice, from, until| Duration::from_secs(dice.between(from, until));
        let coordinators = dice.one_of(&[0, 1, 2]);
        let keys = dice.permille(400).then(|| dice.between(5, 60));
        let expires = keys.is_none() && dice.permille(300);
        let retention = expires.then(|| seconds(&mut dice, 40, 300));
        Self {
            workers: dice.between(u64::from(coordinators == 0), 4),
            coordinators,
            remote_workers: if coordinators > 0 { dice.between(1, 4) } else { 0 },
            collectors: dice.below(3),
            writers: dice.between(1, 3),
            readers: dice.below(2),
            operator: dice.permille(300),
            active: seconds(&mut dice, 60, 420),
            pace: seconds(&mut dice, 4, 30),
            lease: seconds(&mut dice, 6, 40),
            slots: dice.between(1, 3) as usize,
            range_bytes: dice.one_of(&[200, 400, 1 << 20]),
            snapshot_every: dice.one_of(&[3, 5, 10]),
            partitions: dice.between(1, 4),
            keys,
            grace: seconds(&mut dice, 20, 200),
            retention,
            age: seconds(&mut dice, 20, 120),
            target_bytes: dice.one_of(&[300, 800, 2_000]),
            size_tiered: dice.permille(300),
            calm: seconds(&mut dice, 20, 200),
            sorted: dice.permille(400),
        }
    }

    pub(crate) fn create_table(&self) -> Request {
        let age = Millis::from_secs(self.age.as_secs());
        let policy = match self.size_tiered {
            true => Policy::SizeTiered(SizeTiered {
                age,
                ..SizeTiered::default()
            }),
            false => Policy::Leveled(Leveled {
                age,
                ..Leveled::default()
            }),
        };
        let by_key = SortColumn {
            name: "key".into(),
            descending: false,
            nulls_first: false,
        };
        let merge = MergeSpec {
            sort: self.sorted.then_some(by_key).into_iter().collect(),
            target_bytes: self.target_bytes,
            format: Some(rows::FORMAT.into()),
            own_rules: vec![rows::NEWEST.into()],
            row_time: self.retention.map(|_| "time".into()),
            ..MergeSpec::default()
        };
        let spec = TableSpec {
            policy,
            merge: Arc::new(merge),
            grace: Millis::from_secs(self.grace.as_secs()),
            replaced: Replaced::Delete,
            retention: self.retention.map(|length| Millis::from_secs(length.as_secs())),
            ..TableSpec::of(Catalog::Native)
        };
        Request::CreateTable {
            table: TableName::from(TABLE),
            spec: Arc::new(spec),
        }
    }
}
