//! What all processes share: the store, the chance of its faults, the trace, and those who look on.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::Notify;
use tokio::time::Instant;

use crate::checkers::{self, clocks::only_clocks};
use crate::coverage::Coverage;
use crate::dice::Dice;
use crate::faults::{Fault, Mix};
use crate::life::Life;
use crate::oracle::Oracle;
use crate::store::objects::{Change, Done, Op};
use crate::store::{Objects, PREFIX};
use crate::trace::Trace;

/// When the simulated store's clock begins, in Unix milliseconds.
pub(crate) const EPOCH_MS: u64 = 1_800_000_000_000;

/// What the store's clock shows after so long, in Unix milliseconds.
pub(crate) fn store_ms(elapsed: Duration) -> u64 {
    EPOCH_MS + elapsed.as_millis() as u64
}

/// The world of one run.
pub(crate) struct World {
    pub(crate) seed: u64,
    pub(crate) mix: Mix,
    /// Whether data takes as long as a lease may, in a world in which nothing fails.
    slow_data: bool,
    began: Instant,
    /// Told whenever files are put on a deletion list.
    due: Notify,
    /// Told whenever a range is leased.
    leased: Notify,
    /// Told whenever outputs take their inputs' place, and are to be published.
    compacted: Notify,
    inside: Mutex<Inside>,
}

struct Inside {
    objects: Objects,
    dice: Dice,
    trace: Trace,
    coverage: Coverage,
    oracle: Oracle,
    /// Whether faults happen: not while the root is made, and not after all is healed.
    faulty: bool,
    storm_until: Option<Instant>,
    /// In worlds in which uploads may begin long after they were asked for.
    late_uploads: Option<Dice>,
    cuts: BTreeMap<String, Cut>,
}

/// How a process is cut off from the store.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Cut {
    pub(crate) requests: bool,
    pub(crate) answers: bool,
}

impl fmt::Debug for World {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("World")
    }
}

impl World {
    pub(crate) fn new(seed: u64, mix: Mix, readable: bool) -> Arc<Self> {
        let slow_data = only_clocks(&mix) && Dice::new(seed, "slow data").permille(500);
        let mut late_uploads = Dice::new(seed, "late uploads");
        let inside = Inside {
            objects: Objects::default(),
            dice: Dice::new(seed, "world"),
            trace: Trace::new(readable),
            coverage: Coverage::default(),
            oracle: Oracle::default(),
            faulty: false,
            storm_until: None,
            late_uploads: (mix.has(Fault::ApplyLate) && late_uploads.permille(400)).then_some(late_uploads),
            cuts: BTreeMap::new(),
        };
        Arc::new(Self {
            seed,
            mix,
            slow_data,
            began: Instant::now(),
            due: Notify::new(),
            leased: Notify::new(),
            compacted: Notify::new(),
            inside: Mutex::new(inside),
        })
    }

    fn inside(&self) -> MutexGuard<'_, Inside> {
        self.inside.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// How long it has gone on.
    pub(crate) fn elapsed(&self) -> Duration {
        self.began.elapsed()
    }

    /// The store's clock, in Unix milliseconds.
    pub(crate) fn now_ms(&self) -> u64 {
        store_ms(self.elapsed())
    }

    pub(crate) fn note(&self, what: fmt::Arguments<'_>) {
        let at = self.elapsed();
        self.inside().trace.note(at, what);
    }

    pub(crate) fn set_faulty(&self, faulty: bool) {
        self.inside().faulty = faulty;
    }

    pub(crate) fn is_faulty(&self) -> bool {
        self.inside().faulty
    }

    /// Waits until files are put on a deletion list.
    pub(crate) async fn something_is_due(&self) {
        self.due.notified().await;
    }

    /// Waits until a range is leased.
    pub(crate) async fn something_is_leased(&self) {
        self.leased.notified().await;
    }

    /// Waits until outputs are to be published.
    pub(crate) async fn something_is_compacted(&self) {
        self.compacted.notified().await;
    }

    /// A request of this process came to nothing.
    pub(crate) fn failed(&self, who: &str) {
        let minute = self.elapsed().as_secs() / 60;
        self.inside().oracle.failed(who, minute);
    }

    /// Looks at what those who look on have seen.
    pub(crate) fn look<T>(&self, look: impl FnOnce(&mut Oracle, &Objects) -> T) -> T {
        let inside = &mut *self.inside();
        look(&mut inside.oracle, &inside.objects)
    }

    pub(crate) fn count(&self, count: impl FnOnce(&mut Coverage)) {
        count(&mut self.inside().coverage);
    }

    /// What the run came to.
    pub(crate) fn end(&self, elapsed: Duration) -> (u64, Vec<String>, Coverage, Vec<crate::Violation>) {
        let inside = &mut *self.inside();
        let trace = std::mem::replace(&mut inside.trace, Trace::new(false));
        let mut coverage = std::mem::take(&mut inside.coverage);
        coverage.simulated += elapsed;
        let (hash, lines) = trace.end();
        (
            hash,
            lines,
            coverage,
            std::mem::take(&mut inside.oracle.violations),
        )
    }

    pub(crate) fn below(&self, end: u64) -> u64 {
        self.inside().dice.below(end)
    }

    pub(crate) fn coin(&self) -> bool {
        self.below(2) == 0
    }

    /// Whether a fault of this kind happens here and now. It is counted.
    pub(crate) fn strikes(&self, fault: Fault) -> bool {
        self.strikes_with(fault, self.mix.of(fault))
    }

    /// The same where there are few occasions for it.
    pub(crate) fn strikes_often(&self, fault: Fault) -> bool {
        self.strikes_with(fault, (self.mix.of(fault) * 10).min(500))
    }

    fn strikes_with(&self, fault: Fault, often: u64) -> bool {
        let inside = &mut *self.inside();
        let strikes = often > 0 && inside.faulty && inside.dice.permille(often);
        if strikes {
            inside.coverage.struck(fault);
        }
        strikes
    }

    /// How long after it was asked for an upload in parts begins, where that is so late that its attempt may be forgotten by
    /// then.
    pub(crate) fn upload_begins_late(&self) -> Option<Duration> {
        let inside = &mut *self.inside();
        let dice = inside.late_uploads.as_mut().filter(|_| inside.faulty)?;
        let late = dice.permille(300).then(|| dice.about(Duration::from_secs(300)))?;
        inside.coverage.struck(Fault::ApplyLate);
        Some(late)
    }

    /// A fault that the simulator itself brought about.
    pub(crate) fn struck(&self, fault: Fault) {
        self.inside().coverage.struck(fault);
    }

    pub(crate) fn begin_storm(&self, length: Duration) {
        self.inside().storm_until = Some(Instant::now() + length);
    }

    pub(crate) fn is_stormy(&self) -> bool {
        let inside = self.inside();
        inside.faulty && inside.storm_until.is_some_and(|until| Instant::now() < until)
    }

    /// Most requests are refused in a storm.
    pub(crate) fn strikes_in_storm(&self) -> bool {
        self.strikes_with(Fault::Storm, 500 + self.mix.of(Fault::Storm) * 12)
    }

    /// What half of a request takes.
    pub(crate) fn latency(&self) -> Duration {
        let inside = &mut *self.inside();
        Duration::from_millis(2) + inside.dice.about(Duration::from_millis(8))
    }

    /// How long a file takes on its way, beside what each request takes.
    pub(crate) fn data_latency(&self) -> Duration {
        let inside = &mut *self.inside();
        match self.slow_data && inside.faulty {
            true => inside.dice.about(Duration::from_secs(10)),
            false => Duration::ZERO,
        }
    }

    /// Seconds, sometimes minutes.
    pub(crate) fn long_latency(&self) -> Duration {
        let inside = &mut *self.inside();
        let mean = inside.dice.one_of(&[500, 2_000, 8_000, 30_000, 120_000]);
        inside.dice.about(Duration::from_millis(mean))
    }

    pub(crate) fn cut(&self, who: &str, cut: Cut) {
        self.inside().cuts.insert(who.to_owned(), cut);
    }

    pub(crate) fn cut_off(&self, who: &str) -> Cut {
        let inside = self.inside();
        let cut = inside.cuts.get(who).copied().unwrap_or_default();
        if inside.faulty { cut } else { Cut::default() }
    }

    /// Whether what a conditional write would create is there.
    pub(crate) fn is_there(&self, op: &Op) -> bool {
        match op {
            Op::Put { key, .. } => self.inside().objects.get(key).is_some(),
            _ => false,
        }
    }

    pub(crate) fn list_stale(&self, prefix: &str, after: &str) -> Done {
        let now = self.now_ms();
        let Inside { objects, dice, .. } = &mut *self.inside();
        objects.list_stale(now, prefix, after, || dice.below(2) == 0)
    }

    /// A request reaches the store, for a process. Those who look on see what it does.
    pub(crate) fn carry_out(&self, by: &Life, op: &Op, remark: &str) -> Done {
        self.carry_out_for(Some(&by.name), op, remark)
    }

    /// Somebody who is no process of Baler's does something.
    pub(crate) fn carry_out_for(&self, by: Option<&str>, op: &Op, remark: &str) -> Done {
        let (now, at) = (self.now_ms(), self.elapsed());
        let inside = &mut *self.inside();
        let mut changes = Vec::new();
        let done = inside.objects.apply(now, op, &mut changes);
        let due_before = inside.oracle.model.due.len();
        let leased_before = inside.coverage.seen("RangeLeased");
        let compacted_before = inside.coverage.seen("JobCompacted");
        inside.coverage.requests += 1;
        let who = by.unwrap_or("outside");
        let outcome = match &done {
            Done::Missing => "404",
            Done::Changed => "412",
            Done::NoSuchUpload => "no such upload",
            _ => "",
        };
        inside
            .trace
            .note(at, format_args!("{who} {op} {outcome} {remark}"));
        for change in changes {
            let (key, version, wrote) = match change {
                Change::Wrote { key, version } => (key, version, true),
                Change::Removed { key, version } => (key, version, false),
            };
            let Some(path) = key.strip_prefix(PREFIX).and_then(|rest| rest.strip_prefix('/')) else {
                continue;
            };
            let Inside {
                objects,
                oracle,
                trace,
                coverage,
                ..
            } = inside;
            if !wrote && by.is_some() {
                let wrong = checkers::readers::in_sight(&oracle.model, objects, path, &version.tag);
                wrong.into_iter().for_each(|what| oracle.found(1, what));
            }
            oracle.sees(now, at, by, path, &version, wrote, trace, coverage);
        }
        if inside.oracle.model.due.len() > due_before {
            self.due.notify_waiters();
        }
        if inside.coverage.seen("RangeLeased") > leased_before {
            self.leased.notify_waiters();
        }
        if inside.coverage.seen("JobCompacted") > compacted_before {
            self.compacted.notify_waiters();
        }
        done
    }
}
