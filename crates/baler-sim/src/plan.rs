//! What a seed's world is like, apart from its faults: the fleet, the table, how long it goes on.

use std::ops::RangeInclusive;
use std::sync::Arc;
use std::time::Duration;

use baler_core::ids::TableName;
use baler_core::request::Request;
use baler_core::table::{
    Catalog, Leveled, MergeSpec, Policy, Replaced, Rule, SizeTiered, SortColumn, TableSpec, Verify,
};
use baler_core::time::Millis;

use crate::checkers::clocks::only_clocks;
use crate::checkers::watchers::only_deaths;
use crate::dice::Dice;
use crate::faults::Mix;
use crate::rows;
use crate::tiny::Manner;
use crate::work::INBOX;
use crate::world::World;

/// The one table.
pub(crate) const TABLE: &str = "events";

/// So many pieces a slow worker reads in a lease time.
const PIECES_A_LEASE: u32 = 8;

/// The leases where a worker is slow: others read a piece in a hundredth of the time, and what it has begun is waited for.
const SLOW_LEASES: RangeInclusive<Duration> = Duration::from_secs(16)..=Duration::from_secs(24);

/// The least that it reads at once.
const SLOW_PIECE_MIN: usize = 100;

/// So many workers are a crowd.
pub(crate) const CROWD: usize = 100;

/// One seed in so many has one.
const CROWD_EVERY: u64 = 300;

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
    /// When the whole fleet is switched off, and for how long.
    pub(crate) night: Option<Night>,
    /// Whether the table is a folder: readers list it, and outputs replace inputs where they lie.
    pub(crate) in_place: bool,
    /// Whether faults happen while the root is made, too.
    pub(crate) rough_start: bool,
    /// Whether somebody tells of files long after having looked at them.
    pub(crate) latecomer: bool,
    /// Whether somebody shows tokens that nobody was given.
    pub(crate) impostor: bool,
    /// Whether whoever lists the folder does so whenever outputs are about to be published.
    pub(crate) hasty_lister: bool,
    /// Whether jobs are taken back all the time, and readers are never heard of again.
    pub(crate) regrets: bool,
    /// Between two files of a writer.
    pub(crate) pace: Duration,
    pub(crate) lease: Duration,
    pub(crate) slots: usize,
    pub(crate) range_bytes: u64,
    /// Files are read in pieces of so many bytes.
    piece: Option<usize>,
    /// From then on rows have a column more.
    pub(crate) grows_at: Option<Duration>,
    /// Outputs are read back before they count.
    pub(crate) rereads: bool,
    /// One worker takes a good part of a lease over each piece, so that a job takes it many.
    pub(crate) slow_worker: bool,
    /// A hundred workers claim and renew.
    crowd: bool,
    pub(crate) snapshot_every: u64,
    pub(crate) partitions: u64,
    /// Keys are used again, so that the newest must win; otherwise each row has a key of its own.
    pub(crate) keys: Option<u64>,
    /// Some rows take their key away. Such a table promises how late rows may come.
    pub(crate) lateness: Option<Duration>,
    /// Rows have their version from a clock that ticks so seldom that two of one key may have the same.
    pub(crate) tick: Option<Duration>,
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

/// A time in which nobody is there, counted from the beginning of the run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Night {
    pub(crate) from: Duration,
    pub(crate) until: Duration,
}

/// How much goes on: between two files of a writer, and how long in all.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Tempo {
    Brisk,
    Steady,
    Slow,
}

impl Tempo {
    fn pace_secs(self) -> (u64, u64) {
        match self {
            Self::Brisk => (3, 20),
            Self::Steady => (10, 60),
            Self::Slow => (60, 240),
        }
    }

    fn active_secs(self) -> (u64, u64) {
        match self {
            Self::Brisk => (60, 200),
            Self::Steady => (150, 400),
            Self::Slow => (400, 1_000),
        }
    }
}

impl Plan {
    pub(crate) fn draw(seed: u64, mix: &Mix) -> Self {
        let mut dice = Dice::new(seed, "plan");
        let seconds = |dice: &mut Dice, from, until| Duration::from_secs(dice.between(from, until));
        let coordinators = dice.one_of(&[0, 1, 2]);
        // Where processes die and nothing else fails, each coordinator has another to stand in for it.
        let coordinators = if only_deaths(mix) { 2 } else { coordinators };
        let workers = dice.between(u64::from(coordinators == 0), 4);
        let keys = dice.permille(400).then(|| dice.between(5, 60));
        let in_place = Dice::new(seed, "catalog").permille(350);
        let mut upserts = Dice::new(seed, "upserts");
        let tick = seconds(&mut upserts, 10, 60);
        let tick = (keys.is_some() && upserts.permille(500)).then_some(tick);
        let lateness = seconds(&mut upserts, 10, 60) + tick.unwrap_or_default();
        let lateness = (keys.is_some() && upserts.permille(500)).then_some(lateness);
        let expires = keys.is_none() && dice.permille(300) && !in_place;
        let retention = expires.then(|| seconds(&mut dice, 40, 300));
        let tempo = dice.one_of(&[
            Tempo::Brisk,
            Tempo::Brisk,
            Tempo::Brisk,
            Tempo::Steady,
            Tempo::Steady,
            Tempo::Slow,
        ]);
        let (pace, active) = (tempo.pace_secs(), tempo.active_secs());
        // What a run costs is what all processes with a replica do together, so where there are many it is short.
        let busy = (coordinators + workers).max(2) as u32;
        let active = seconds(&mut dice, active.0, active.1) * 5 / (2 * busy + 2);
        // Whoever comes back in the morning finds no lease as it was.
        let night = (dice.permille(250) && !only_clocks(mix)).then(|| {
            let from = active.mul_f64(dice.fraction());
            let until = from + seconds(&mut dice, 120, 3_600);
            Night { from, until }
        });
        // Where nothing fails, nothing but its slowness could cost a worker its lease.
        let slow_often = if only_clocks(mix) || only_deaths(mix) {
            400
        } else {
            40
        };
        let slow_worker = Dice::new(seed, "slow worker").permille(slow_often);
        let regrets = !in_place && Dice::new(seed, "regrets").permille(120);
        let mut schema = Dice::new(seed, "schema");
        let grows_at = active.mul_f64(schema.fraction());
        let grows_at = schema.permille(400).then_some(grows_at);
        let plan = Self {
            grows_at,
            workers,
            coordinators,
            regrets,
            hasty_lister: Dice::new(seed, "hasty lister").permille(400),
            in_place,
            remote_workers: if coordinators > 0 { dice.between(1, 4) } else { 0 },
            night,
            rough_start: dice.permille(150) && !only_clocks(mix),
            latecomer: dice.permille(300),
            impostor: Dice::new(seed, "impostor").permille(150),
            collectors: dice.below(3),
            writers: dice.between(1, 3),
            readers: dice.below(2).max(u64::from(regrets)),
            operator: dice.permille(300) || regrets,
            active: active + night.map_or(Duration::ZERO, |night| night.until - night.from),
            pace: seconds(&mut dice, pace.0, pace.1),
            lease: match dice.below(3) {
                0 => seconds(&mut dice, 30, 120),
                _ => seconds(&mut dice, 6, 30),
            },
            slots: dice.between(1, 3) as usize,
            range_bytes: dice.one_of(&[200, 400, 1 << 20]),
            piece: Dice::new(seed, "pieces").one_of(&[None, None, None, Some(24), Some(100), Some(250)]),
            snapshot_every: dice.one_of(&[3, 5, 10]),
            partitions: dice.between(1, 4),
            keys,
            lateness,
            tick,
            grace: seconds(&mut dice, 20, 200),
            retention,
            age: seconds(&mut dice, 20, 120),
            target_bytes: dice.one_of(&[300, 800, 2_000]),
            size_tiered: dice.permille(300),
            calm: seconds(&mut dice, 20, 200),
            sorted: dice.permille(400),
            rereads: Dice::new(seed, "reread").permille(250),
            slow_worker,
            crowd: false,
        };
        let crowd = Dice::new(seed, "crowd").below(CROWD_EVERY) == 0 && !only_clocks(mix);
        match (crowd, slow_worker) {
            (true, _) => plan.with_a_crowd(),
            (false, true) => plan.with_huge_jobs(),
            (false, false) => plan,
        }
    }

    /// A hundred workers have something to do at once, for long enough to renew what they claimed. Behind coordinators: a replica
    /// for each of them would cost as much as a hundred worlds.
    fn with_a_crowd(self) -> Self {
        Self {
            crowd: true,
            slow_worker: false,
            workers: 0,
            coordinators: 2,
            remote_workers: CROWD as u64,
            writers: 6,
            readers: 0,
            night: None,
            regrets: false,
            partitions: CROWD as u64,
            keys: None,
            lateness: None,
            tick: None,
            slots: 1,
            range_bytes: 1 << 20,
            pace: Duration::from_secs(1),
            lease: self.lease.clamp(*SLOW_LEASES.start(), *SLOW_LEASES.end()),
            piece: Some(self.piece.unwrap_or_default().max(SLOW_PIECE_MIN)),
            active: Duration::from_secs(120),
            ..self
        }
    }

    /// What is written goes to one partition and is merged at once, by nobody else beside the slow one if it comes first.
    fn with_huge_jobs(self) -> Self {
        Self {
            partitions: 1,
            range_bytes: 1 << 20,
            pace: self.pace / 2,
            lease: self.lease.clamp(*SLOW_LEASES.start(), *SLOW_LEASES.end()),
            piece: Some(self.piece.unwrap_or_default().max(SLOW_PIECE_MIN)),
            ..self
        }
    }

    /// What its files' names end in.
    pub(crate) fn format(&self) -> &'static str {
        match self.in_place {
            true => MergeSpec::PARQUET,
            false => rows::FORMAT,
        }
    }

    /// How the process of this name merges.
    pub(crate) fn manner_of(&self, name: &str, world: &Arc<World>) -> Manner {
        let slow = self.crowd || (self.slow_worker && ["worker-0", "remote-0"].contains(&name));
        Manner {
            format: self.format(),
            piece: self.piece,
            rest: if slow {
                self.lease / PIECES_A_LEASE
            } else {
                Duration::ZERO
            },
            bad_encoder: self.rereads.then(|| world.clone()),
        }
    }

    /// The partition of a file that a writer named. In place, folders are partitions.
    pub(crate) fn partition_of<'a>(&self, path: &'a str) -> &'a str {
        let folder = path.rsplit_once('/').map_or("", |(folder, _)| folder);
        match self.in_place {
            true => folder,
            false => folder.strip_prefix(INBOX).unwrap_or_default(),
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
        let newest_of_key = Rule::LastWriteWins {
            key: vec![by_key.name.clone()],
            version: "version".into(),
        };
        let deletes = self.lateness.is_some();
        let merge = MergeSpec {
            sort: (self.sorted || deletes).then_some(by_key).into_iter().collect(),
            rule: if deletes { newest_of_key } else { Rule::KeepAll },
            deleted: deletes.then(|| "deleted".into()),
            lateness: self.lateness.map(|length| Millis::from_secs(length.as_secs())),
            target_bytes: self.target_bytes,
            format: (!self.in_place).then(|| rows::FORMAT.into()),
            verify: if self.rereads {
                Verify::Reread
            } else {
                Verify::None
            },
            own_rules: vec![rows::NEWEST.into()],
            row_time: (self.retention.is_some() || deletes).then(|| "time".into()),
            ..MergeSpec::default()
        };
        let spec = TableSpec {
            policy,
            merge: Arc::new(merge),
            grace: Millis::from_secs(self.grace.as_secs()),
            replaced: Replaced::Delete,
            retention: self.retention.map(|length| Millis::from_secs(length.as_secs())),
            ..TableSpec::of(if self.in_place {
                Catalog::InPlace
            } else {
                Catalog::Native
            })
        };
        Request::CreateTable {
            table: TableName::from(TABLE),
            spec: Arc::new(spec),
        }
    }
}
