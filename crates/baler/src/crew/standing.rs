//! Whether a root can be worked for. It is told apart from what a worker there does: a root that cannot be opened has no worker.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use crate::metrics::{Figures, Page};

/// How it stands with one root.
#[derive(Debug)]
pub(super) struct Standing {
    root: String,
    fails: AtomicBool,
    failures: AtomicU64,
}

impl Standing {
    pub(super) fn of(root: &str) -> Self {
        Self {
            root: root.to_owned(),
            fails: AtomicBool::new(false),
            failures: AtomicU64::new(0),
        }
    }

    pub(super) fn begins(&self) {
        self.fails.store(false, Ordering::Relaxed);
    }

    pub(super) fn failed(&self) {
        self.fails.store(true, Ordering::Relaxed);
        self.failures.fetch_add(1, Ordering::Relaxed);
    }
}

impl Figures for Standing {
    fn write(&self, page: &mut Page) {
        let mut page = page.about(&[("root", &self.root)]);
        page.gauge(
            "baler_root_failing",
            "1 while a root is left alone because it failed; it is tried again.",
            u8::from(self.fails.load(Ordering::Relaxed)),
        );
        page.counter(
            "baler_root_failures_total",
            "How often working for a root ended in an error.",
            self.failures.load(Ordering::Relaxed),
        );
    }
}
